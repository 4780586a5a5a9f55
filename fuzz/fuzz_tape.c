/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a tape. The first byte says what the rest is: 0 a whole file, 1 the records of two frames (2 bytes
 * that say how many bytes the first one has, then both), 2 a schema, 3 a header; 1 to 3 are compressed and put into
 * frames with correct CRCs, which a fuzzer would not find by itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "baro/tape.h"
#include "libbaro/sample/sample.h"
#include "libbaro/tape/format.h"
#include "libbaro/tape/header_fields.h"
#include "libbaro/tape/little.h"
#include "libbaro/tape/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t nonce[8] = {1, 2, 3};

static void add_frame(struct buf *b, enum frame_type type, uint8_t seq, const struct buf *payload)
{
    uint8_t head[FRAME_HEAD_SIZE] = {0};
    size_t at = b->len;
    buf_add(b, head, sizeof head);
    if (payload->len > 0)
        buf_add(b, payload->at, payload->len);
    frame_seal(b->at + at, type, seq, (uint32_t)payload->len, frame_seed(nonce));
}

static void add_front(struct buf *b, struct span header, struct span schema)
{
    struct buf payload = {0};
    uint8_t preamble[TAPE_PREAMBLE_SIZE];
    tape_preamble(preamble, nonce);
    buf_add(b, preamble, sizeof preamble);
    buf_add(&payload, header.at, header.len);
    add_frame(b, FRAME_HEADER, 0, &payload);
    buf_clear(&payload);
    if (buf_reserve(&payload, ZSTD_compressBound(schema.len)))
        payload.len = ZSTD_compress(payload.at, payload.cap, schema.at, schema.len, 1);
    add_frame(b, FRAME_SCHEMA, 0, &payload);
    buf_done(&payload);
}

static void pack(struct buf *payload, ZSTD_CCtx *z, const uint8_t *at, size_t len)
{
    if (!buf_reserve(payload, ZSTD_compressBound(len) + 64))
        return;
    ZSTD_inBuffer in = {at, len, 0};
    ZSTD_outBuffer out = {payload->at, payload->cap, payload->len};
    ZSTD_compressStream2(z, &out, &in, ZSTD_e_flush);
    payload->len = out.pos;
}

static void add_block(struct buf *b, const uint8_t *data, size_t size)
{
    ZSTD_CCtx *z = size < 2 ? NULL : ZSTD_createCCtx();
    if (!z)
        return;
    ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, TAPE_WINDOW_LOG);
    size_t len = get_le16(data);
    const uint8_t *at = data + 2, *end = data + size;
    len = len < size - 2 ? len : size - 2;
    for (uint8_t i = 0; i < 2; i++) {
        struct buf payload = {0};
        uint8_t t[8] = {0};
        if (i == 0)
            buf_add(&payload, t, sizeof t);
        else
            len = (size_t)(end - at);
        pack(&payload, z, at, len);
        add_frame(b, i == 0 ? FRAME_BLOCK : FRAME_TICK, i, &payload);
        buf_done(&payload);
        at += len;
    }
    ZSTD_freeCCtx(z);
}

static void make_file(struct buf *b, unsigned what, const uint8_t *data, size_t size)
{
    struct buf schema = {0}, header = {0};
    struct baro_header h = {.version = "fuzz", .wanted = 3};
    struct span input = span_of(data, size);
    schema_write(&schema);
    head_write(&header, &h);
    add_front(b, what == 3 ? input : span_of(header.at, header.len),
              what == 2 ? input : span_of(schema.at, schema.len));
    if (what == 1)
        add_block(b, data, size);
    buf_done(&schema);
    buf_done(&header);
}

static uint64_t look_machine(const struct baro_tape *t, const struct baro_sample *s)
{
    uint64_t sum = 0, v = 0;
    sum += (uint64_t)baro_sample_read_ns(s, BARO_KIND_HOST, &v) + v;
    for (int metric = 0; metric < baro_tape_metric_count(t, BARO_KIND_HOST); metric++)
        sum += (uint64_t)baro_row_value(baro_sample_row(s, BARO_KIND_HOST, 0), metric, &v) + v;
    for (int kind = 0; kind < baro_tape_kind_count(t); kind++)
        for (size_t i = 0; i < baro_sample_rows(s, kind); i++) {
            const struct baro_row *e = baro_sample_row(s, kind, i);
            struct baro_attribute a;
            sum += strlen(baro_row_name(e)) + strlen(baro_row_label(e)) + baro_row_id(e);
            for (size_t k = 0; baro_row_attribute(e, k, &a) == 0; k++)
                sum += strlen(a.name) + (a.text ? strlen(a.text) : 0);
            for (int metric = 0; metric < baro_tape_metric_count(t, kind); metric++)
                sum += (uint64_t)baro_row_value(e, metric, &v) + v;
        }
    return sum;
}

/* Reads every value that the API returns. */
static uint64_t look(const struct baro_tape *t, const struct baro_record *r)
{
    uint64_t sum = r->t_ns, v = 0;
    if (r->kind == BARO_RECORD_EXIT)
        sum += strlen(baro_row_name(r->u.exit)) + (uint64_t)baro_row_value(r->u.exit, 1, &v);
    if (r->kind == BARO_RECORD_EVENT)
        sum += strlen(baro_event_text(r->u.event)) + strlen(baro_event_kind_name(baro_event_kind_of(r->u.event)));
    const char *source;
    sum += (uint64_t)baro_limits_get(baro_tape_limits(t), BARO_LIMIT_MEMORY, &v, &source) + v + strlen(source);
    sum += (uint64_t)baro_limits_get(baro_tape_limits(t), BARO_LIMIT_CORES, &v, &source) + v + strlen(source);
    sum += (uint64_t)baro_limits_get(baro_tape_limits(t), BARO_LIMIT_PIDS, &v, &source) + v + strlen(source);
    if (r->kind != BARO_RECORD_SAMPLE)
        return sum + v;
    for (size_t i = 0; i < baro_sample_rows(r->u.sample, BARO_KIND_PROCESS); i++) {
        const struct baro_row *p = baro_sample_row(r->u.sample, BARO_KIND_PROCESS, i);
        const char *cmdline = "";
        sum += (uint64_t)baro_row_cmdline(p, &cmdline) + strlen(baro_row_name(p)) + strlen(cmdline);
        for (int metric = 0; metric < baro_tape_metric_count(t, BARO_KIND_PROCESS); metric++)
            sum += (uint64_t)baro_row_value(p, metric, &v) + v;
    }
    return sum + look_machine(t, r->u.sample);
}

static void read_all(const char *path)
{
    struct baro_tape *t;
    struct baro_record r;
    uint64_t sum = 0, last = 0;
    if (baro_tape_open(&t, path, NULL) < 0)
        return;
    while (baro_tape_next(t, &r, NULL) == 1) {
        sum += look(t, &r);
        last = r.t_ns;
    }
    if (baro_tape_seek(t, last / 2 + sum % 2, &r, NULL) == 1)
        look(t, &r);
    baro_tape_rewind(t, NULL);
    baro_tape_next(t, &r, NULL);
    baro_tape_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf b = {0};
    char path[64];
    if (size < 2 || size > 1 << 20)
        return 0;
    if (data[0] % 4 == 0)
        buf_add(&b, data + 1, size - 1);
    else
        make_file(&b, data[0] % 4, data + 1, size - 1);
    int fd = memfd_create("tape", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (write(fd, b.at, b.len) == (ssize_t)b.len)
        read_all(path);
    close(fd);
    buf_done(&b);
    return 0;
}
