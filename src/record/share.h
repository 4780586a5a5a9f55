/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An observer of root shares its event source with the recorders of this machine (`baro run`, `baro record`), of any
 * user: each of them would otherwise hear every fork of the machine itself, and an ordinary user would not learn what
 * ended processes had used. A recorder connects to a socket, names processes, and gets the events of these and of their
 * descendants (exits/share_wire.h).
 *
 * A recorder may name its own process, and those of its user; root may name all. Descendants are reported whoever they
 * belong to, but neither I/O nor status of those that ended as another user's.
 *
 * Nothing waits for a recorder: what it does not read is kept up to a limit, and dropped then. It is told so, and has
 * to name its processes again.
 */
#ifndef RECORD_SHARE_H
#define RECORD_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "exits/events.h"

struct share;

/* Listens at exits_observer_path(). usage: there is a source of usage. Returns 0 or -errno (-EADDRINUSE: another
 * observer shares its events there). proc_fd is borrowed. */
int share_open(struct share **ret, int proc_fd, bool usage);
void share_close(struct share *s); /* NULL allowed, as in all of these */

int share_fd(const struct share *s); /* readable: share_read(); -1: none */
/* Accepts recorders and reads their requests. Returns true if one waits for all events until now: they have to be read
 * from the kernel, and share_flush() sends them. */
bool share_read(struct share *s);
uint64_t share_due_ns(const struct share *s); /* when share_flush() has something to send; UINT64_MAX: nothing */
void share_flush(struct share *s);

/* An event of the machine, from the source of forks. stashed: what a process with this pid had used that ended, if that
 * was reported before its fork; NULL: none. */
void share_forks(struct share *s, const struct exits_event *e, const struct exits_event *stashed);
/* The source of forks was read until nothing was queued. It reports a loss once, with EVENT_LOST: recorders that
 * connected between that report and now are told as well. */
void share_drained(struct share *s);
/* From the source of usage. Returns false if no recorder has asked for this process. */
bool share_usage(struct share *s, const struct exits_event *e);

#endif
