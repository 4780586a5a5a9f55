/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of columns whose metrics only the tape has: of a collector program, of a newer version, of a tape that somebody
 * made up. Each output can take them: they are UTF-8 without control characters, and no two columns of a kind have the
 * same name, also for those who ignore case (SQLite, DuckDB). Example: the metrics Foo, foo and time of a collector are
 * the columns Foo, foo_2 and time_2. The names do not depend on which columns were selected.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "baro/text.h"
#include "libbaro/columns/columns.h"

enum { SUFFIX_SIZE = 16 };

/* Is it the name of a column of this library, of rows of this kind? */
static bool is_ours(int rows, const char *name)
{
    for (int id = 0; id < baro_metric_count(rows); id++) {
        if (strcasecmp(baro_metric_get(rows, id)->name, name) == 0)
            return true;
    }
    for (int i = 0; i < baro_derived_count(rows); i++) {
        if (strcasecmp(baro_derived_get(rows, i)->name, name) == 0)
            return true;
    }
    for (int id = 0; rows == BARO_KIND_JOB && id < baro_metric_count(BARO_KIND_PROCESS); id++) {
        if (baro_metric_adds_up(id) && strcasecmp(baro_metric_get(BARO_KIND_PROCESS, id)->name, name) == 0)
            return true;
    }
    return columns_identity(rows, name);
}

/* Is it the name of another one of the metrics [0, n)? */
static bool is_of_another(const struct baro_columns *c, int n, int self, const char *name)
{
    for (int i = 0; i < n; i++) {
        if (i != self && strcasecmp(c->made[i], name) == 0)
            return true;
    }
    return false;
}

static char *clean_name(const char *name)
{
    size_t len = strlen(name), size = baro_text_escape(name, len, NULL, 0) + SUFFIX_SIZE;
    char *ret = malloc(size);
    if (ret && len)
        baro_text_escape(name, len, ret, size);
    else if (ret)
        memcpy(ret, "_", 2);
    return ret;
}

/* Metrics before it have their names; those after it keep theirs if they can. */
static void make_unique(struct baro_columns *c, int i)
{
    char *name = c->made[i], *end = name + strlen(name);
    bool taken = is_ours(c->rows, name) || is_of_another(c, i, i, name);
    for (int number = 2; taken; number++) {
        snprintf(end, SUFFIX_SIZE, "_%d", number);
        taken = is_ours(c->rows, name) || is_of_another(c, c->n_made, i, name);
    }
}

int columns_make_names(struct baro_columns *c, const struct baro_tape *tape)
{
    int known = baro_metric_count(c->rows), n = baro_tape_metric_count(tape, c->rows) - known;
    if (n <= 0)
        return 0;
    c->made = calloc((size_t)n, sizeof(*c->made));
    for (int i = 0; c->made && i < n; i++) {
        c->made[i] = clean_name(baro_tape_metric(tape, c->rows, known + i)->name);
        if (!c->made[i])
            return -ENOMEM;
        c->n_made++;
    }
    for (int i = 0; c->made && i < n; i++)
        make_unique(c, i);
    return c->made ? 0 : -ENOMEM;
}

const char *columns_metric_name(const struct baro_columns *c, const struct baro_metric *m, int kind, int id)
{
    int i = id - baro_metric_count(kind);
    return kind == c->rows && i >= 0 && i < c->n_made ? c->made[i] : m->name;
}

int columns_find_made(const struct baro_columns *c, const char *name)
{
    for (int i = 0; i < c->n_made; i++) {
        if (strcmp(c->made[i], name) == 0)
            return baro_metric_count(c->rows) + i;
    }
    return -1;
}
