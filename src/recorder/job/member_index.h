/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index by pid of the members of several jobs. It finds the jobs that an event concerns. A process can be a member
 * of several jobs. A member stays in the index until its exit was reported.
 */
#ifndef RECORDER_JOB_MEMBER_INDEX_H
#define RECORDER_JOB_MEMBER_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct member;

struct directory {
    struct member **hash;
    size_t size, n;
    void **found; /* result of the last directory_find() */
    size_t cap_found;
};

int directory_init(struct directory *d); /* 0 or -ENOMEM */
void directory_done(struct directory *d);
void directory_add(struct directory *d, struct member *m);
void directory_remove(struct directory *d, struct member *m);

/* Finds the owners (struct tree) of all members that have one of two pids, each once. *ret is valid until the next
 * call. also: the second pid; 0: none. Returns how many were found. If memory runs out, the last ones are missing. */
size_t directory_find(struct directory *d, int32_t pid, int32_t also, void *const **ret);

#endif
