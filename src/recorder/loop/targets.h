/* SPDX-License-Identifier: Apache-2.0 */
/* Attached processes: those that the user named. */
#ifndef RECORDER_LOOP_TARGETS_H
#define RECORDER_LOOP_TARGETS_H

#include <stddef.h>

#include "base/error.h"
#include "libbaro/sample/sample.h"

#define TARGETS_MAX 64u

struct member;
struct recorder;

struct targets {
    int fd[TARGETS_MAX]; /* pidfds */
    struct baro_key key[TARGETS_MAX];
    int group_fd;        /* pidfd of a process of the control group; -1: none */
    int last_fd;         /* pidfd of the last such process that has ended, if it came from elsewhere; -1: none */
    int32_t watched_pid; /* the process of group_fd, whose start time may not be known yet */
    uint32_t watched_id;
    bool from_elsewhere;
    uint64_t empty_ns; /* when the group's last process was found ended; 0: there are some */
    bool status_known; /* of the process that ended last of those that came into the group from elsewhere */
    int status;
};

/* Can the targets be recorded? Reads nothing that counts. */
int targets_accept(struct recorder *r, struct baro_error *err);
int targets_open(struct recorder *r, struct baro_error *err);
/* Makes a process and its descendants members. Returns the member. NULL: it can't be recorded. */
struct member *targets_add(struct recorder *r, int32_t pid, struct baro_error *err);
void targets_ended(struct recorder *r, size_t i);
void targets_check(struct recorder *r); /* after a tick: for targets without a pidfd */
/* Reads the group at once if the last process in it has ended: an engine removes it within milliseconds. Returns
 * whether the next tick must come sooner. */
bool targets_check_empty(struct recorder *r);
void targets_group_ended(struct recorder *r);   /* group_fd became readable */
uint64_t targets_group_tag(struct recorder *r); /* data.u64 of its epoll event */
struct recorder *targets_of_tag(uint64_t what); /* NULL: it is no such tag */
void targets_note_exit(struct recorder *r, const struct baro_exit *e);
/* The end of a group, after all exits: its status is that of a container's first process, which comes from elsewhere
 * and is the last of these to end; processes that `podman exec` started end before. */
void targets_finish(struct recorder *r);
void targets_close(struct recorder *r);

#endif
