/* SPDX-License-Identifier: Apache-2.0 */
/* Where a test writes its tape, and the tapes of tests/tape. */
#ifndef TESTS_TAPES_H
#define TESTS_TAPES_H

#include <unistd.h>

#include "unit.h"
#include "baro/tape.h"

/* A tape of this program, which each test may write anew; none stays. */
static char tape_path[64];

__attribute__((constructor)) static void tape_path_set(void)
{
    snprintf(tape_path, sizeof(tape_path), "/tmp/baro-unit-%d.baro", (int)getpid());
}

__attribute__((destructor)) static void tape_path_remove(void)
{
    unlink(tape_path);
}

static inline struct baro_tape *tape_opened(const char *path)
{
    struct baro_tape *tape;
    assert_int_equal(baro_tape_open(&tape, path, NULL), 0);
    return tape;
}

/* The path of a file beside tests/fixtures, such as "tape/v1-small.baro"; valid until the next call. */
static inline const char *kept(const char *name)
{
    static char path[512];
    const char *fixtures = getenv("BARO_FIXTURES");
    snprintf(path, sizeof(path), "%s/../%s", fixtures ? fixtures : "tests/fixtures", name);
    return path;
}

static inline struct baro_tape *kept_tape(const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "tape/%s", name);
    return tape_opened(kept(path));
}

#endif
