/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input as a command line and as a name, and again and again as one long argument: the time of that is in
 * proportion to its length. Only a text that takes more than a microsecond per byte is measured at two lengths (the
 * slowest that is known takes 0.3 of it).
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/span.h"
#include "recorder/redact/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LENGTH = 8192, TIMES = 4 };

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t repeated_ns(struct span piece, size_t len)
{
    char *text = malloc(len);
    struct buf out = {0};
    for (size_t at = 0; text && at < len; at += piece.len)
        memcpy(text + at, piece.at, piece.len < len - at ? piece.len : len - at);
    uint64_t begin = cpu_ns();
    if (text)
        redact_argument(span_str("sh"), span_str("-c"), span_of(text, len), &out);
    uint64_t took = cpu_ns() - begin;
    buf_done(&out);
    free(text);
    return took;
}

static uint64_t least_ns(struct span piece, size_t len)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t ns = repeated_ns(piece, len);
        least = ns < least ? ns : least;
    }
    return least;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf out = {0};
    char name[64];
    struct span text = span_of((const char *)data, size);
    pid_cmdline_format(text, 4096, &out);
    if (out.len > 4096)
        abort();
    buf_clear(&out);
    redact_name(text, &out);
    buf_clear(&out);
    buf_add(&out, text.at, text.len);
    buf_byte(&out, 0);
    redact_name_to((const char *)out.at, name, sizeof(name));
    buf_done(&out);
    if (!size || size > LENGTH || repeated_ns(text, LENGTH) < LENGTH * 1000)
        return 0;
    if (least_ns(text, TIMES * LENGTH) > 2 * TIMES * least_ns(text, LENGTH))
        abort();
    return 0;
}
