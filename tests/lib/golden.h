/* SPDX-License-Identifier: Apache-2.0 */
/* Expected outputs, byte for byte: tests/golden/. Include after cmocka.h. */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"

static inline void expect_golden(const char *name, const struct buf *text)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/../golden/%s", getenv("BARO_FIXTURES"), name);
    if (getenv("BARO_GOLDEN_WRITE")) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fwrite(text->at, 1, text->len, f);
        fclose(f);
        return;
    }
    FILE *f = fopen(path, "r");
    if (!f)
        fail_msg("%s is missing; BARO_GOLDEN_WRITE=1 makes it", path);
    char *want = malloc(1 << 20);
    size_t n = fread(want, 1, (1 << 20) - 1, f);
    fclose(f);
    want[n] = 0;
    char *have = malloc(text->len + 1);
    memcpy(have, text->at, text->len);
    have[text->len] = 0;
    assert_string_equal(have, want);
    free(have);
    free(want);
}

#endif
