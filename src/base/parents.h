/* SPDX-License-Identifier: Apache-2.0 */
/* Who started whom: the parents of processes, by pid and start time. */
#ifndef BASE_PARENTS_H
#define BASE_PARENTS_H

#include <stdint.h>

#define PARENTS_NONE UINT32_MAX

struct parents_process {
    int32_t pid, ppid;
    uint64_t start, parent_start; /* 0: not known */
};

/* Sets ret[i] to the position of the parent of process i, or PARENTS_NONE. If the start of a parent is not known, it is
 * the last process with its pid that began before the child; if that of the child is not known either, the last one. No
 * process is its own ancestor, whatever the list says: of a circle the first process has no parent. O(n log n). Returns
 * 0 or -ENOMEM. */
int parents_find(const struct parents_process *at, uint32_t n, uint32_t *ret);

#endif
