/* SPDX-License-Identifier: Apache-2.0 */
/* The smaller and the larger of two numbers, and a difference that is never below 0. */
#ifndef BASE_LEAST_H
#define BASE_LEAST_H

#include <stdint.h>

static inline uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t most_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t excess(uint64_t a, uint64_t over)
{
    return a > over ? a - over : 0;
}

#endif
