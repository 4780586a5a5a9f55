/* SPDX-License-Identifier: Apache-2.0 */
/* The files with several names that a walk has met, so that each is counted once. */
#ifndef RECORDER_COLLECTORS_DIRECTORIES_LINKS_H
#define RECORDER_COLLECTORS_DIRECTORIES_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINKS_MOST (1u << 20) /* files with several names in one walk; 32 MiB of memory */

struct link {
    uint64_t device, inode; /* inode 0: free */
};

struct links {
    struct link *at;
    size_t n, size; /* size: a power of two; 0: none yet */
};

enum links_answer { LINKS_NEW, LINKS_KNOWN, LINKS_FULL };

enum links_answer links_add(struct links *l, uint64_t device, uint64_t inode);
void links_done(struct links *l);

#endif
