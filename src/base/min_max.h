/* SPDX-License-Identifier: Apache-2.0 */
/* The smaller and the larger of two numbers, a difference that is never below 0, and a share that is never too large.
 */
#ifndef BASE_MIN_MAX_H
#define BASE_MIN_MAX_H

#include <stdint.h>

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t excess(uint64_t a, uint64_t over)
{
    return a > over ? a - over : 0;
}

/* Returns part/of of a number: all of it if part is not smaller, as with counters whose sum has wrapped. */
static inline uint64_t share_u64(uint64_t whole, uint64_t part, uint64_t of)
{
    return part < of ? (uint64_t)((unsigned __int128)whole * part / of) : whole;
}

#endif
