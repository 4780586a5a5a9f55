/* SPDX-License-Identifier: Apache-2.0 */
/* Without SQLite there is no catalogue: all tapes are read each time. */
#include "base/error.h"
#include "programs/baro-log/catalogue.h"

struct catalogue *catalogue_open(struct baro_error *why)
{
    error_set(why, 0, "this baro was built without SQLite: no catalogue is kept");
    return NULL;
}

void catalogue_close(struct catalogue *c)
{
    (void)c;
}

void catalogue_heads(struct catalogue *c, struct tape_row *rows, size_t n)
{
    (void)c, (void)rows, (void)n;
}

void catalogue_keep_head(struct catalogue *c, const struct tape_row *row)
{
    (void)c, (void)row;
}

struct figures *catalogue_figures(struct catalogue *c, const struct tape_row *row)
{
    (void)c, (void)row;
    return NULL;
}

bool catalogue_figure(struct catalogue *c, const struct tape_row *row, const char *name, struct figure *ret)
{
    (void)c, (void)row, (void)name, (void)ret;
    return false;
}

void catalogue_keep_figure(struct catalogue *c, const struct tape_row *row, const char *name, const struct figure *f)
{
    (void)c, (void)row, (void)name, (void)f;
}

void catalogue_keep_figures(struct catalogue *c, const struct tape_row *row, const struct figures *f)
{
    (void)c, (void)row, (void)f;
}
