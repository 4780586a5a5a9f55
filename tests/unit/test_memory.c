/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a tape while one allocation fails: all records, or an error; never damage that there is not. Not with a
 * sanitizer, which has an allocator of its own. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "baro/tape.h"

#if defined(__SANITIZE_ADDRESS__) || !defined(__GLIBC__)
#define REPLACES_ALLOCATIONS 0
#else
#define REPLACES_ALLOCATIONS 1
#endif

static unsigned long count, fail_at; /* 0: none */

#if REPLACES_ALLOCATIONS
/* glibc's own, under the names by which they can be replaced. */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *at, size_t n);

static int fails(void)
{
    if (++count != fail_at)
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t n)
{
    return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *at, size_t n)
{
    return fails() ? NULL : __libc_realloc(at, n);
}
#endif

/* Returns the number of records, or a negative code. */
static int read_all(const char *path)
{
    struct baro_tape *t;
    struct baro_record r;
    int n = 0, code = baro_tape_open(&t, path, NULL);
    if (code < 0)
        return code;
    while ((code = baro_tape_next(t, &r, NULL)) == 1)
        n++;
    uint64_t damage = baro_tape_damage(t);
    baro_tape_close(t);
    fail_at = 0;
    assert_int_equal(damage, 0);
    return code < 0 ? code : n;
}

static void one_allocation_fails(void **state)
{
    (void)state;
    static const char *const names[] = {"v1-small", "v1-machine", "v1-entities"};
    const char *fixtures = getenv("BARO_FIXTURES");
    char path[512];
    if (!REPLACES_ALLOCATIONS)
        skip();
    for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
        snprintf(path, sizeof(path), "%s/../tape/%s.baro", fixtures ? fixtures : "tests/fixtures", names[k]);
        count = 0;
        int whole = read_all(path), failed = 0;
        assert_true(whole > 0);
        for (unsigned long n = 1, all = count; n <= all; n++) {
            count = 0;
            fail_at = n;
            int got = read_all(path);
            fail_at = 0;
            assert_true(got == whole || got == -ENOMEM);
            failed += got < 0;
        }
        assert_true(failed > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_allocation_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
