/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command that reads ends where memory ends: status 2 and one line. What it prints has hundreds of parts, each of
 * them allocated, and one that is left out would be wrong without a mark. Example: with one failed allocation `baro
 * export` wrote a row without `cores`, a report had 118 MB for 136, and a plot lacked a curve's name.
 *
 * The allocator's functions are those of the C library but for that, so what libc and other libraries allocate counts
 * as well (gmtime_r() reads TZ, strdup()). glibc alone has other names for its own; a sanitizer has an allocator
 * itself. In a static program malloc() can't be replaced alone; there the linker leads every call to __wrap_malloc().
 */
#include <stdlib.h>
#include <unistd.h>

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

#define STATUS_FAILED 2
#define FOR_ALL __attribute__((visibility("default"))) /* libbaro and libc call these as well */

/* What was printed so far is complete lines and goes out. */
static void *or_end(void *at)
{
    static const char text[] = "baro: out of memory\n";
    static int ending;
    if (at)
        return at;
    if (!__atomic_test_and_set(&ending, __ATOMIC_RELAXED)) {
        ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
        (void)written;
        exit(STATUS_FAILED);
    }
    return NULL; /* of an exit handler */
}

FOR_ALL void *OURS(malloc)(size_t n)
{
    return or_end(OF_LIBC(malloc)(n));
}

FOR_ALL void *OURS(calloc)(size_t n, size_t size)
{
    return or_end(OF_LIBC(calloc)(n, size));
}

FOR_ALL void *OURS(realloc)(void *at, size_t n)
{
    void *moved = OF_LIBC(realloc)(at, n);
    return n ? or_end(moved) : moved; /* realloc(at, 0) frees */
}

#endif
