/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/shortage.h"

#include <stdlib.h>

static _Thread_local unsigned count;

unsigned shortage_count(void)
{
    return count;
}

/* The allocator's functions are those of the C library, as in common/memory.c, but a failure is counted. */
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *at, size_t n);

#define FOR_ALL __attribute__((visibility("default"))) /* libbaro and libc call these as well */

static void *counted(void *at)
{
    count += !at;
    return at;
}

FOR_ALL void *malloc(size_t n)
{
    return counted(__libc_malloc(n));
}

FOR_ALL void *calloc(size_t n, size_t size)
{
    return counted(__libc_calloc(n, size));
}

FOR_ALL void *realloc(void *at, size_t n)
{
    void *moved = __libc_realloc(at, n);
    return n ? counted(moved) : moved; /* realloc(at, 0) frees */
}

#endif
