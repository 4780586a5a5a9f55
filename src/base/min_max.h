/* SPDX-License-Identifier: Apache-2.0 */
/* The smaller and the larger of two numbers, and a difference that is never below 0. */
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

#endif
