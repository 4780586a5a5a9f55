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
};

/* Can the targets be recorded? Reads nothing that counts. */
int targets_accept(struct recorder *r, struct baro_error *err);
int targets_open(struct recorder *r, struct baro_error *err);
/* Makes a process and its descendants members. Returns the member. NULL: it can't be recorded. */
struct member *targets_add(struct recorder *r, int32_t pid, struct baro_error *err);
void targets_ended(struct recorder *r, size_t i);
void targets_check(struct recorder *r); /* after a tick: for targets without a pidfd */
void targets_close(struct recorder *r);

#endif
