/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tape with any bytes in it: opened, walked, sought in and summed up. The first byte chooses: even, the rest is the
 * file as it is; odd, the checksums of all frames are made right first, so that changed bytes get past them, as in a
 * tape that somebody made in order to harm.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "baro/baro.h"
#include "tape/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sink;

static void touch(const char *s)
{
    sink += s ? strlen(s) : 0;
}

static void seal_all(uint8_t *at, size_t size)
{
    if (size < TAPE_PREAMBLE_SIZE)
        return;
    uint8_t nonce[8];
    memcpy(nonce, at + 12, sizeof nonce);
    tape_preamble(at, nonce);
    struct frame_seed seed = frame_seed(nonce);
    for (size_t i = TAPE_PREAMBLE_SIZE; i + FRAME_HEAD_SIZE <= size;) {
        struct frame_head head;
        if (!frame_head_parse(at + i, &head) || head.len > size - i - FRAME_HEAD_SIZE) {
            i++;
            continue;
        }
        frame_seal(at + i, head.type, head.seq, head.len, seed);
        i += FRAME_HEAD_SIZE + head.len;
    }
}

static void look_at_sample(const struct baro_sample *s)
{
    uint64_t value;
    for (size_t i = 0; i < baro_sample_count(s); i++) {
        const struct baro_process *p = baro_sample_process(s, i);
        touch(baro_process_name(p));
        touch(baro_process_cmdline(p));
        for (int m = 0; m < baro_metric_count(BARO_KIND_PROCESS); m++)
            sink += (uint64_t)baro_process_value(p, m, &value);
    }
    for (int m = 0; m < baro_metric_count(BARO_KIND_JOB); m++)
        sink += (uint64_t)baro_sample_job(s, m, &value);
}

static void look_at(const struct baro_record *r)
{
    uint64_t value;
    if (r->kind == BARO_RECORD_SAMPLE)
        look_at_sample(r->u.sample);
    if (r->kind == BARO_RECORD_EVENT) {
        touch(baro_event_name(r->u.event));
        touch(baro_event_text(r->u.event));
    }
    if (r->kind == BARO_RECORD_EXIT) {
        touch(baro_exit_name(r->u.exit));
        for (int m = 0; m < baro_metric_count(BARO_KIND_EXIT); m++)
            sink += (uint64_t)baro_exit_value(r->u.exit, m, &value);
    }
}

static void look_at_head(const struct baro_tape *tape)
{
    const struct baro_header *h = baro_tape_header(tape);
    for (const char *const *arg = baro_header_argv(h); arg && *arg; arg++)
        touch(*arg);
    touch(baro_header_host(h));
    for (int kind = 0; kind < baro_tape_kind_count(tape); kind++) {
        touch(baro_tape_kind_name(tape, kind));
        for (int m = 0; m < baro_tape_metric_count(tape, kind); m++)
            touch(baro_tape_metric(tape, kind, m)->name);
    }
}

static int discard(void *context, const char *text, size_t len)
{
    (void)context;
    sink += len ? (uint8_t)text[len - 1] : 0;
    return 0;
}

static void read_all(const char *path)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_tape *tape;
    struct baro_summary *summary;
    struct baro_record r;
    if (baro_tape_open(&tape, path, &err) < 0)
        return;
    look_at_head(tape);
    uint64_t last_ns = 0;
    /* A record takes a byte at least; anything that gives more of them goes round in circles. */
    for (int n = 0; baro_tape_next(tape, &r, &err) > 0; n++) {
        if (n > 1 << 22)
            abort();
        look_at(&r);
        last_ns = r.t_ns;
    }
    if (baro_tape_seek(tape, last_ns / 2, &r, &err) > 0)
        look_at(&r);
    if (baro_tape_rewind(tape, &err) == 0 && baro_summary_of_tape(tape, &summary, &err) == 0) {
        (void)baro_summary_json(summary, "t", discard, NULL, &err);
        baro_summary_free(summary);
    }
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
