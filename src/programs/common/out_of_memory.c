/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations of libc and other libraries are checked as well (gmtime_r() reads TZ, strdup()). Only glibc has other
 * names for its own allocator; a sanitizer has an allocator itself. In a static program malloc() can't be replaced;
 * there the linker redirects every call to __wrap_malloc().
 */
#include "programs/common/out_of_memory.h"

#include <stdlib.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#ifdef READERS_STATIC
#define OURS(name) __wrap_##name
#define OF_LIBC(name) __real_##name
void *OURS(malloc)(size_t n);
void *OURS(calloc)(size_t n, size_t size);
void *OURS(realloc)(void *at, size_t n);
#else
#define OURS(name) name
#define OF_LIBC(name) __libc_##name
#endif
extern void *OF_LIBC(malloc)(size_t n);
extern void *OF_LIBC(calloc)(size_t n, size_t size);
extern void *OF_LIBC(realloc)(void *at, size_t n);

#define FOR_ALL __attribute__((visibility("default"))) /* libbaro and libc call these as well */

static void *checked(void *at)
{
    if (!at)
        memory_ran_out();
    return at;
}

FOR_ALL void *OURS(malloc)(size_t n)
{
    return checked(OF_LIBC(malloc)(n));
}

FOR_ALL void *OURS(calloc)(size_t n, size_t size)
{
    return checked(OF_LIBC(calloc)(n, size));
}

FOR_ALL void *OURS(realloc)(void *at, size_t n)
{
    void *moved = OF_LIBC(realloc)(at, n);
    return n ? checked(moved) : moved; /* realloc(at, 0) frees */
}

#endif
