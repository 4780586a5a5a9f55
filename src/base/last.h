/* SPDX-License-Identifier: Apache-2.0 */
/* The last value of each entity, by its id: what the next one is compared with. */
#ifndef BASE_LAST_H
#define BASE_LAST_H

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

/* The entry of id, NULL if there is none. */
struct last *last_find(const struct last_table *t, uint32_t id);
/* The entry of id, added (with t_ns and value 0) if there is none; *ret_added says which. When the table is full,
 * those that have not been touched since old_ns are dropped. NULL without memory. */
struct last *last_get(struct last_table *t, uint32_t id, uint64_t old_ns, bool *ret_added);
void last_done(struct last_table *t);

#endif
