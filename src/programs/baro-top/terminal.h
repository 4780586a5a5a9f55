/* SPDX-License-Identifier: Apache-2.0 */
/* A terminal that shows a grid and delivers keys. Only this part uses ncurses. */
#ifndef PROGRAMS_BARO_TOP_TERMINAL_H
#define PROGRAMS_BARO_TOP_TERMINAL_H

#include "programs/baro-top/grid.h"
#include "programs/baro-top/ui.h"

struct terminal {
    void *screen;   /* the screen of ncurses */
    void *in, *out; /* FILE */
    bool is_suspended;
    bool color;
};

/* False: built without ncurses. */
bool terminal_is_built(void);
/* Takes the terminal at these descriptors over. Returns 0, or a negative code with one line in err. */
int terminal_open(struct terminal *t, int in_fd, int out_fd, bool color, struct baro_error *err);
/* Restores the terminal. May be called twice. */
void terminal_close(struct terminal *t);
/* Restores the terminal when the program has to end at once, in whatever state ncurses and the heap are. Does
 * nothing if no terminal was taken. */
void terminal_abandon(void);
/* Restores the terminal for a while. Everything is drawn anew afterwards. */
void terminal_suspend(struct terminal *t);
void terminal_resume(struct terminal *t);
/* How large it is now. */
void terminal_size(struct terminal *t, int *ret_rows, int *ret_columns);
void terminal_draw(struct terminal *t, const struct grid *g);
/* Reads the next key that was pressed; returns false if there is none. ret_row: the row of the screen, for
 * KEY_IS_CLICK. */
bool terminal_key(struct terminal *t, uint32_t *ret, int *ret_row);
void terminal_mouse(struct terminal *t, bool wanted);

#endif
