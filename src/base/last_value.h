/* SPDX-License-Identifier: Apache-2.0 */
/* The last value of each entity, by its id. The next value is compared with it. */
#ifndef BASE_LAST_VALUE_H
#define BASE_LAST_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct last {
    uint32_t id; /* 0: free */
    uint64_t t_ns, value;
};

struct last_table {
    struct last *at;
    size_t n, size; /* size: 0 or a power of two; at most half of it is used */
};

/* Returns the entry of id, or NULL. */
struct last *last_find(const struct last_table *t, uint32_t id);
/* Returns the entry of id. If there is none, it adds one with t_ns and value 0, and *ret_added is true. When the
 * table is full, entries that were last used before old_ns are dropped. Returns NULL if out of memory. */
struct last *last_get(struct last_table *t, uint32_t id, uint64_t old_ns, bool *ret_added);
void last_done(struct last_table *t);

#endif
