/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tape with arbitrary bytes: opened, walked, sought in and summarised. The first byte chooses: even, the rest is the
 * file as it is; odd, the checksums of all frames are corrected first, so that changed bytes pass them, as in a tape
 * that was made to do harm.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "baro/baro.h"
#include "seal.h"
#include "touch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sink;

static int discard(void *context, const char *text, size_t len)
{
    (void)context;
    sink += len ? (uint8_t)text[len - 1] : 0;
    return 0;
}

static uint64_t touch_steps(struct baro_tape *tape)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_steps *steps;
    uint64_t sum = 0;
    if (baro_steps_of_tape(tape, &steps, &err) < 0)
        return 0;
    for (size_t i = 0; i < baro_steps_count(steps); i++) {
        const struct baro_step *s = baro_steps_get(steps, i);
        sum += strlen(s->name) + (s->cmdline ? strlen(s->cmdline) : 0) + (uint64_t)s->driver;
    }
    for (size_t i = 0; i < baro_steps_links(steps); i++) {
        const struct baro_step_link *l = baro_steps_link(steps, i);
        if (l->end_ns <= l->begin_ns || l->step >= (ptrdiff_t)baro_steps_count(steps))
            abort();
    }
    baro_steps_free(steps);
    return sum;
}

static void read_all(const char *path)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_tape *tape;
    struct baro_fold *fold;
    struct baro_record r;
    if (baro_tape_open(&tape, path, &err) < 0)
        return;
    sink += touch_front(tape);
    uint64_t last_ns = 0;
    /* A record takes a byte at least; a reader that returns more of them loops. */
    for (int n = 0; baro_tape_next(tape, &r, &err) > 0; n++) {
        if (n > 1 << 22)
            abort();
        sink += touch_record(tape, &r);
        last_ns = r.t_ns;
    }
    sink += touch_arrow(tape);
    if (baro_tape_seek(tape, last_ns / 2, &r, &err) > 0)
        sink += touch_record(tape, &r);
    if (baro_tape_rewind(tape, &err) == 0 && baro_fold_of_tape(tape, BARO_FOLD_SUMMARY, &fold, &err) == 0) {
        (void)baro_summary_json(baro_fold_summary(fold), "t", discard, NULL, &err);
        baro_fold_free(fold);
    }
    sink += touch_steps(tape);
    baro_tape_close(tape);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    uint8_t *copy = malloc(size - 1);
    int fd = memfd_create("tape", MFD_CLOEXEC);
    if (!copy || fd < 0)
        abort();
    memcpy(copy, data + 1, size - 1);
    if (data[0] & 1)
        seal_all(copy, size - 1);
    if (write(fd, copy, size - 1) == (ssize_t)(size - 1)) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        read_all(path);
    }
    close(fd);
    free(copy);
    return 0;
}
