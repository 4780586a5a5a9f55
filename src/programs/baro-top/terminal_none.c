/* SPDX-License-Identifier: Apache-2.0 */
/* In place of terminal.c where there is no ncurses: the live view prints and ends. */
#include <errno.h>

#include "base/error.h"
#include "programs/baro-top/terminal.h"

bool terminal_is_built(void)
{
    return false;
}

int terminal_open(struct terminal *t, int in_fd, int out_fd, bool color, struct baro_error *err)
{
    (void)in_fd;
    (void)out_fd;
    *t = (struct terminal){.color = color};
    return error_set(err, -ENOTSUP, "built without ncurses; `baro top --once` prints instead");
}

void terminal_close(struct terminal *t)
{
    (void)t;
}

void terminal_abandon(void)
{
}

void terminal_suspend(struct terminal *t)
{
    (void)t;
}

void terminal_resume(struct terminal *t)
{
    (void)t;
}

void terminal_size(struct terminal *t, int *ret_rows, int *ret_columns)
{
    (void)t;
    *ret_rows = 24;
    *ret_columns = 80;
}

void terminal_draw(struct terminal *t, const struct grid *g)
{
    (void)t;
    (void)g;
}

bool terminal_key(struct terminal *t, uint32_t *ret, int *ret_row)
{
    (void)t;
    (void)ret;
    (void)ret_row;
    return false;
}

void terminal_mouse(struct terminal *t, bool wanted)
{
    (void)t;
    (void)wanted;
}
