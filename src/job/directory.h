/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of several jobs by pid, so that an event finds the jobs that it is about. A process can be a member of
 * more than one. A member stays in it until its exit was reported.
 */
#ifndef JOB_DIRECTORY_H
#define JOB_DIRECTORY_H

#include <stddef.h>
#include <stdint.h>

#define DIRECTORY_JOBS_MOST 16u /* jobs that one process is a member of */

struct member;

struct directory {
    struct member **hash;
    size_t size, n;
};

int directory_init(struct directory *d); /* 0 or -ENOMEM */
void directory_done(struct directory *d);
void directory_add(struct directory *d, struct member *m);
void directory_remove(struct directory *d, struct member *m);

/* The owners (struct tree) of the members with this pid, each once, into ret. Returns how many. */
size_t directory_find(const struct directory *d, int32_t pid, void *ret[static DIRECTORY_JOBS_MOST]);

#endif
