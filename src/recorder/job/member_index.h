/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of several jobs by pid, so that an event finds the jobs that it is about. A process can be a member of
 * more than one. A member stays in it until its exit was reported.
 */
#ifndef RECORDER_JOB_MEMBER_INDEX_H
#define RECORDER_JOB_MEMBER_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct member;

struct directory {
    struct member **hash;
    size_t size, n;
    void **found; /* by the last directory_find() */
    size_t cap_found;
};

int directory_init(struct directory *d); /* 0 or -ENOMEM */
void directory_done(struct directory *d);
void directory_add(struct directory *d, struct member *m);
void directory_remove(struct directory *d, struct member *m);

/* The owners (struct tree) of the members with one of two pids, each once, in *ret, which is valid until the next call.
 * also: 0: there is no other pid. Returns how many. Without memory for more they are those that were found first. */
size_t directory_find(struct directory *d, int32_t pid, int32_t also, void *const **ret);

#endif
