/* SPDX-License-Identifier: Apache-2.0 */
/* Counts allocations: glibc lets a program replace its allocator. Not with a sanitizer, which has an allocator of its
 * own. */
#ifndef LIB_ALLOCATIONS_H
#define LIB_ALLOCATIONS_H

#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || !defined(__GLIBC__)
#define COUNTS_ALLOCATIONS 0
#else
#define COUNTS_ALLOCATIONS 1
#endif

static unsigned long allocations;

#if COUNTS_ALLOCATIONS
/* glibc's own, under the names by which they can be replaced. */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *at, size_t n);

void *malloc(size_t n)
{
    allocations++;
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    allocations++;
    return __libc_calloc(n, size);
}

void *realloc(void *at, size_t n)
{
    allocations++;
    return __libc_realloc(at, n);
}
#endif

#endif
