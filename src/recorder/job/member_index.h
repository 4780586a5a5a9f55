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

struct member_index {
    struct member **hash;
    size_t size, n;
    void **found; /* result of the last member_index_find() */
    size_t cap_found;
};

int member_index_init(struct member_index *d); /* 0 or -ENOMEM */
void member_index_done(struct member_index *d);
void member_index_add(struct member_index *d, struct member *m);
void member_index_remove(struct member_index *d, struct member *m);

/* Finds the owners (struct tree) of all members that have one of two pids, each once. *ret is valid until the next
 * call. also: the second pid; 0: none. Returns how many were found. If memory runs out, the last ones are missing. */
size_t member_index_find(struct member_index *d, int32_t pid, int32_t also, void *const **ret);

#endif
