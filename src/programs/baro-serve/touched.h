/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of many tapes, files and folders of segments, were written since the last time: one descriptor of inotify(7)
 * for all. What has no watch, because the user may not have more, always counts as written.
 */
#ifndef PROGRAMS_BARO_SERVE_TOUCHED_H
#define PROGRAMS_BARO_SERVE_TOUCHED_H

#include <stdbool.h>
#include <stddef.h>

struct touched {
    int fd;  /* negative: none */
    int *at; /* watches, sorted */
    size_t n, room;
    bool all; /* events were lost */
};

void touched_init(struct touched *t);
void touched_done(struct touched *t);
/* Begins to watch a path. A watch that is not negative is kept. */
void touched_add(struct touched *t, const char *path, int *watch);
void touched_remove(struct touched *t, int *watch);
/* Takes the events since the last call. */
void touched_read(struct touched *t);
/* Was it written, as of the last touched_read()? */
bool touched_has(const struct touched *t, int watch);

#endif
