/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells which of many tapes (files and folders of segments) were written since the last call, with one descriptor of
 * inotify(7). A tape without a watch, because the user has as many as allowed, always counts as written.
 */
#ifndef PROGRAMS_BARO_SERVE_TOUCHED_H
#define PROGRAMS_BARO_SERVE_TOUCHED_H

#include <stdbool.h>
#include <stddef.h>

struct touched {
    int fd;  /* negative: none */
    int *at; /* watches of tapes that were written, sorted */
    size_t n, room;
    bool all; /* events were lost */
};

void touched_init(struct touched *t);
void touched_done(struct touched *t);
/* Begins to watch a path, unless *watch is not negative. */
void touched_add(struct touched *t, const char *path, int *watch);
void touched_remove(struct touched *t, int *watch);
/* Takes the events since the last call. */
void touched_read(struct touched *t);
/* Was it written, as of the last touched_read()? */
bool touched_has(const struct touched *t, int watch);

#endif
