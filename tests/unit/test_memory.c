/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a tape while one allocation fails: all records, or an error; never damage that there is not. Not with a
 * sanitizer, which has an allocator of its own. */
#include <errno.h>

#include "unit.h"
#include "allocations.h"
#include "baro/tape.h"

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
    allocations_until_failure = 0;
    assert_int_equal(damage, 0);
    return code < 0 ? code : n;
}

TEST(one_allocation_fails)
{
    static const char *const names[] = {"v1-small", "v1-machine", "v1-entities"};
    const char *fixtures = getenv("BARO_FIXTURES");
    char path[512];
    if (!COUNTS_ALLOCATIONS)
        skip();
    for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
        snprintf(path, sizeof(path), "%s/../tape/%s.baro", fixtures ? fixtures : "tests/fixtures", names[k]);
        allocations = 0;
        int whole = read_all(path), failed = 0;
        assert_true(whole > 0);
        for (unsigned long n = 1, all = allocations; n <= all; n++) {
            allocations_until_failure = n;
            int got = read_all(path);
            allocations_until_failure = 0;
            assert_true(got == whole || got == -ENOMEM);
            failed += got < 0;
        }
        assert_true(failed > 0);
    }
}
