/* SPDX-License-Identifier: Apache-2.0 */
/* The live view put together. */
#ifndef PROGRAMS_BARO_TOP_TOP_H
#define PROGRAMS_BARO_TOP_TOP_H

#include "programs/baro-top/feed.h"
#include "programs/baro-top/grid.h"
#include "programs/baro-top/model.h"
#include "programs/baro-top/ui.h"
#include "programs/common/cli.h"
#include "programs/common/stretch.h"
#include "programs/common/tape_args.h"

struct top {
    struct cli *cli;
    const struct settings *settings;
    struct settings own; /* with the stretch around the moment of --at */
    struct stretch_around around;
    struct feed feed;
    struct model model;
    struct ui ui;
    struct grid grid;
    struct instant past;         /* the moment that is shown, unless it is the newest */
    const struct instant *shown; /* past or feed.newest */
    uint64_t finish_ns;          /* when the summary is to be finished again */
    struct users users;
    bool is_quiet; /* beside a job: no summary at its end */
    bool is_away;  /* beside a job that stops: the wrapper asked the view to leave the terminal */
    struct baro_error err;
};

/* Makes everything that is drawn anew. Call it after more was read, or another moment was chosen. Returns 0 or a
 * negative code. */
int top_refresh(struct top *t);
/* Moves to the moment of ui.at_ns, or to the newest one. */
int top_move(struct top *t);
/* Chooses the moment that is shown first: that of --at, or the peak of a recording that has ended. As top_go(). */
int top_begin(struct top *t);
/* Moves to a moment as the user names it. Returns 0, or BARO_E_SYNTAX or BARO_E_RANGE (it is outside
 * of the tape) with one line in t->err. */
int top_go(struct top *t, const char *text);
void top_draw(struct top *t);

/* loop.c: until the user quits. beside_fd: the socket of the wrapper that runs the job (beside.h), -1 if there is none.
 * Returns the exit status. */
int top_loop(struct top *t, int in_fd, int beside_fd);

#endif
