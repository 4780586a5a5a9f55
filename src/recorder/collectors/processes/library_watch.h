/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notices that a program begins or ends, without a privilege: inotify(7) on the C library that the job's programs use.
 * The loader opens it after each execve(2), and the last reference to that open file, which is the mapping, is dropped
 * in do_exit() shortly before the process is a zombie (exit_mm() and exit_task_work()). The event does not say which
 * process it was. Programs that are linked statically cause none.
 */
#ifndef RECORDER_COLLECTORS_PROCESSES_LIBRARY_WATCH_H
#define RECORDER_COLLECTORS_PROCESSES_LIBRARY_WATCH_H

#include "recorder/sampling/sampling.h"

struct library_watch {
    int fd; /* -1: none */
    unsigned tries;
};

void library_watch_init(struct library_watch *w);
void library_watch_done(struct library_watch *w);
/* Watches the C library that this process has mapped, if none is watched so far. */
void library_watch_find(struct library_watch *w, struct sampling *g, int32_t pid);
/* Drops the events that are queued. Returns whether there were any. */
bool library_watch_drain(const struct library_watch *w);

#endif
