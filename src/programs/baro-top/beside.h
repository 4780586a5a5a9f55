/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view beside a job that `baro run --top` runs (programs/baro/beside.h): in the process group of the wrapper, with
 * the tape and a socket that ends when the job has.
 */
#ifndef PROGRAMS_BARO_TOP_BESIDE_H
#define PROGRAMS_BARO_TOP_BESIDE_H

#include <stdbool.h>

#include "programs/baro-top/feed.h"
#include "programs/baro-top/terminal.h"

#define BESIDE_SOCKET 3
#define BESIDE_TAPE 4

/* Was this program started beside a job? The variable that says so is read once and removed from the environment.
 * quiet: prints no summary at the end. */
bool beside_begin(bool *ret_quiet);
/* Opens the tape once it has begun. Returns 0; BARO_E_ENDED: the job is over; or a negative code. away: as below. */
int beside_open(struct feed *f, bool *ret_away, struct baro_error *err);
/* Does as the wrapper asks (recorder/wrapper/view.c): leaves the terminal (NULL: it was not opened yet), or notes in
 * *ret_away that it may return. Returns false if the job is over. */
bool beside_heed(struct terminal *t, bool *ret_away);
/* Is the view's process group in the foreground? Not while a shell or a debugger has the terminal. */
bool beside_has_terminal(int terminal_fd);
/* Call it when the job has ended and the terminal is restored: prints what stays on it (leave.c). Returns 0, or a
 * negative code with one line in t->err. */
struct top;
int beside_leave(struct top *t);

#endif
