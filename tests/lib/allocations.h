/* SPDX-License-Identifier: Apache-2.0 */
/* Counts allocations, and lets one fail: glibc lets a program replace its allocator. Not with a sanitizer, which has an
 * allocator of its own. */
#ifndef LIB_ALLOCATIONS_H
#define LIB_ALLOCATIONS_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || !defined(__GLIBC__)
#define COUNTS_ALLOCATIONS 0
#else
#define COUNTS_ALLOCATIONS 1
#endif

__attribute__((unused)) static unsigned long allocations;
/* the one that fails, counted from 1; 0: none */
__attribute__((unused)) static unsigned long allocations_until_failure;

#if COUNTS_ALLOCATIONS
/* glibc's own, under the names by which they can be replaced. */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *at, size_t n);

static bool allocation_fails(void)
{
    allocations++;
    if (!allocations_until_failure || --allocations_until_failure)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t n)
{
    return allocation_fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return allocation_fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *at, size_t n)
{
    return allocation_fails() ? NULL : __libc_realloc(at, n);
}
#endif

#endif
