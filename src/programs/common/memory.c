/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libc and other libraries allocate counts as well (gmtime_r() reads TZ, strdup()). glibc alone has other names
 * for its own functions; a sanitizer has an allocator itself.
 */
#include "programs/common/memory.h"

#include <stdlib.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *at, size_t n);

#define FOR_ALL __attribute__((visibility("default"))) /* libbaro and libc call these as well */

static void *checked(void *at)
{
    if (!at)
        memory_ran_out();
    return at;
}

FOR_ALL void *malloc(size_t n)
{
    return checked(__libc_malloc(n));
}

FOR_ALL void *calloc(size_t n, size_t size)
{
    return checked(__libc_calloc(n, size));
}

FOR_ALL void *realloc(void *at, size_t n)
{
    void *moved = __libc_realloc(at, n);
    return n ? checked(moved) : moved; /* realloc(at, 0) frees */
}

#endif
