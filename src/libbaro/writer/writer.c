/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/writer/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/random.h"
#include "libbaro/tape/create.h"
#include "libbaro/writer/writer_state.h"

#define SMALL_WINDOW_LOG 11
#define DENSE_LEVEL 19

static ssize_t real_write(void *context, int fd, const void *at, size_t len)
{
    (void)context;
    return write(fd, at, len);
}

static int real_truncate(void *context, int fd, off_t len)
{
    (void)context;
    return ftruncate(fd, len);
}

static int real_sync(void *context, int fd)
{
    (void)context;
    return fdatasync(fd);
}

static int real_look(void *context, int fd, struct stat *ret)
{
    (void)context;
    return fstat(fd, ret);
}

const struct tape_io tape_io_real = {real_write, real_truncate, real_sync, NULL, real_look};

/* Level 3 with tables that fit what a tick writes, some hundred bytes: larger ones find hardly more and take longer
 * (docs/decisions/0038-plain-coder.md). */
static bool zstd_setup(ZSTD_CCtx *z, int window_log)
{
    return !ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, 3)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, window_log)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_hashLog, 9)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_chainLog, 11)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_minMatch, 4));
}

/* A window of 2 KiB instead of 16 KiB. Measured for a job of ten processes (bench/tape_density.c): 50 KB instead of 146
 * KB for the compressor, and 0.4 % more bytes on the tape. */
void tape_writer_small(struct tape_writer *w)
{
    w->window_log = SMALL_WINDOW_LOG;
}

void tape_writer_dense(struct tape_writer *w)
{
    w->dense = true;
}

void tape_writer_clock(struct tape_writer *w, int64_t ahead_ns)
{
    w->ahead_ns = ahead_ns;
}

static bool zstd_dense(ZSTD_CCtx *z)
{
    return !ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, DENSE_LEVEL)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, TAPE_WINDOW_LOG));
}

bool writer_make_zstd(struct tape_writer *w)
{
    if (!w->zstd && (w->zstd = ZSTD_createCCtx()) &&
        !(w->dense ? zstd_dense(w->zstd) : zstd_setup(w->zstd, w->window_log))) {
        ZSTD_freeCCtx(w->zstd);
        w->zstd = NULL;
    }
    return w->zstd;
}

bool writer_make_columns(struct tape_writer *w, enum baro_kind kind)
{
    if (!w->columns[kind] && (w->columns[kind] = malloc(sizeof *w->columns[kind])))
        columns_of_kind(kind, w->columns[kind]);
    return w->columns[kind];
}

void tape_writer_rest(struct tape_writer *w)
{
    if (!w->block_open)
        return;
    ZSTD_freeCCtx(w->zstd);
    w->zstd = NULL;
}

void tape_writer_wake(struct tape_writer *w)
{
    w->block_open &= w->zstd != NULL;
}

static int set_up(struct tape_writer *w, const struct baro_header *header)
{
    uint8_t nonce[8];
    random_fill(nonce, sizeof nonce);
    w->seed = frame_seed(nonce);
    static const enum baro_kind always[] = {BARO_KIND_PROCESS, BARO_KIND_JOB, BARO_KIND_RECORDER, BARO_KIND_EXIT};
    bool ok = true;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        ok &= writer_make_columns(w, always[i]);
    w->block = calloc(1, sizeof *w->block);
    w->window_log = TAPE_WINDOW_LOG;
    if (!w->block || !ok)
        return -ENOMEM;
    return encode_preface(&w->preface, header, nonce);
}

int tape_writer_new(struct tape_writer **ret, int fd, const struct baro_header *header, const struct tape_io *io,
                    struct baro_error *err)
{
    struct tape_writer *w = calloc(1, sizeof *w);
    if (!w)
        return error_set(err, -ENOMEM, "no memory for a tape");
    w->fd = -1;
    w->io = io ? *io : tape_io_real;
    w->index_step = 1;
    w->base_sorted = true;
    int r = set_up(w, header);
    if (r < 0) {
        tape_writer_free(w);
        return error_set(err, r, "can't prepare a tape: %s", strerror(-r));
    }
    /* Bytes after the last whole frame are truncated; the next write must then go to the new end. */
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0)
        fcntl(fd, F_SETFL, flags | O_APPEND);
    w->fd = fd;
    w->network = tape_on_network(fd);
    *ret = w;
    return 0;
}

void tape_writer_free(struct tape_writer *w)
{
    if (!w)
        return;
    fd_close(w->fd);
    ZSTD_freeCCtx(w->zstd);
    buf_done(&w->preface);
    buf_done(&w->record);
    buf_done(&w->declaration);
    buf_done(&w->frame);
    buf_done(&w->pending.at);
    entities_free(w->entities);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        free(w->columns[kind]);
    free(w->base);
    free(w->block);
    free(w->index);
    free(w);
}

/* Grows by a little: doubling would take megabytes for 10,000 processes, and an observer has a thousand of these. */
bool base_reserve(struct tape_writer *w, size_t n)
{
    if (n <= w->cap_base)
        return true;
    size_t cap = n + n / 32 + 4;
    struct baseline *grown = realloc(w->base, cap * sizeof *grown);
    if (!grown)
        return false;
    w->base = grown;
    w->cap_base = cap;
    return true;
}

/* When a disk becomes full, a write first takes only a part; only the next call returns the error. */
static int write_whole(const struct tape_writer *w, int fd, const uint8_t *at, size_t len, size_t *ret_done)
{
    size_t done = 0;
    unsigned tries = 0;
    while (done < len) {
        ssize_t n = w->io.write(w->io.context, fd, at + done, len - done);
        if (n < 0 && fd_again(&tries))
            continue;
        *ret_done = done;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        done += (size_t)n;
    }
    return 0;
}

/* After a failed sync the kernel may have dropped the pages, so the frame counts as lost. The file is truncated
 * before it, so that the frame is not on the tape twice. */
static int sync_or_take_back(struct tape_writer *w, size_t len)
{
    if (w->io.sync(w->io.context, w->fd) == 0)
        return 0;
    int r = -errno;
    /* fsync(2) returns these for a file that cannot be synchronized: they do not mean that data was lost. */
    if (r == -EINVAL || r == -EOPNOTSUPP || r == -ENOSYS || r == -EROFS) {
        w->network = false;
        return 0;
    }
    if (w->io.truncate(w->io.context, w->fd, (off_t)(w->end - len)) == 0)
        w->end -= len;
    return r;
}

static int write_bytes(struct tape_writer *w, const uint8_t *at, size_t len)
{
    size_t done = 0;
    int r = write_whole(w, w->fd, at, len, &done);
    if (r == 0) {
        w->end += len;
        return w->network ? sync_or_take_back(w, len) : 0;
    }
    if (done > 0 && w->io.truncate(w->io.context, w->fd, (off_t)w->end) < 0)
        w->end += done;
    return r;
}

static void index_block(struct tape_writer *w, uint64_t offset)
{
    if (w->index_skipped++ % w->index_step != 0)
        return;
    if (w->n_index == INDEX_MAX) {
        for (size_t i = 0; i < INDEX_MAX / 2; i++)
            w->index[i] = w->index[2 * i];
        w->n_index = INDEX_MAX / 2;
        w->index_step *= 2;
    }
    struct index_entry *grown = array_room(w->index, w->n_index, &w->cap_index, sizeof *grown);
    if (!grown)
        return; /* a reader finds the block by the entry before it */
    w->index = grown;
    w->index[w->n_index++] = (struct index_entry){w->block_t_ns, offset};
}

static void count_pending(struct tape_writer *w)
{
    struct pending_item item;
    for (size_t at = 0; pending_next(&w->pending, &at, &item);) {
        *(item.is_exit ? &w->n_exits : &w->n_events) += 1;
        if (!item.is_exit && event_moves_clock(&item.event))
            w->ahead_ns = (int64_t)((uint64_t)w->ahead_ns + item.event.number);
    }
    buf_clear(&w->pending.at);
}

static void succeed(struct tape_writer *w, const struct baro_sample *s, uint64_t offset)
{
    if (w->seq == 0)
        index_block(w, offset);
    w->seq++;
    w->block_open = true;
    w->failing = false;
    w->limits_due = false;
    count_pending(w);
    w->n_events += w->lost_samples || w->lost_exits || w->lost_events;
    w->lost_samples = w->lost_exits = w->lost_events = 0;
    w->lost_code = 0;
    if (s) {
        w->n_samples++;
        w->good_t_ns = s->t_ns;
    }
}

/* The next frame begins a block: later frames can't rely on the state of this one. */
static int fail_write(struct tape_writer *w, const struct baro_sample *s, int code, struct baro_error *err)
{
    w->failing = true;
    w->block_open = false;
    w->block_keyed = false;
    w->n_base = 0;
    w->lost_samples += s != NULL;
    w->lost_code = code;
    w->frame.failed = w->record.failed = false;
    return error_set(err, code, "can't write the tape: %s", strerror(-code));
}

int tape_writer_start(struct tape_writer *w, struct baro_error *err)
{
    if (w->started)
        return 0;
    int r = write_bytes(w, w->preface.at, w->preface.len);
    if (r < 0)
        return fail_write(w, NULL, r, err);
    w->started = true;
    w->failing = false;
    return 0;
}

/* Handles a truncation by another process. Without it, frames that are appended afterwards would be decoded with a
 * lost state, or without a header. */
static void look_for_cut(struct tape_writer *w)
{
    struct stat st;
    if (!w->started || !w->io.look || w->io.look(w->io.context, w->fd, &st) < 0 || (uint64_t)st.st_size >= w->end)
        return;
    w->cut += w->end - (uint64_t)st.st_size;
    w->end = (uint64_t)st.st_size;
    if (w->end < w->preface.len && w->io.truncate(w->io.context, w->fd, 0) == 0) {
        w->end = 0;
        w->started = false;
    }
    while (w->n_index > 0 && w->index[w->n_index - 1].offset >= w->end)
        w->n_index--;
    w->block_open = w->block_keyed = false;
    w->n_base = 0;
    struct baro_event e = {.t_ns = w->good_t_ns, .kind = BARO_EVENT_WARNING, .text = "somebody has cut the tape off"};
    pending_event(w, &e);
}

int tape_writer_commit(struct tape_writer *w, const struct baro_sample *s, struct baro_error *err)
{
    if (!s && w->pending.at.len == 0 && !w->limits_due)
        return 0;
    look_for_cut(w);
    int r = tape_writer_start(w, err);
    if (r < 0) {
        w->lost_samples += s != NULL;
        return r;
    }
    uint64_t offset = w->end;
    r = encode_frame(w, s, s ? s->t_ns : pending_last_t(&w->pending, w->good_t_ns));
    if (r == 0)
        r = write_bytes(w, w->frame.at, w->frame.len);
    if (r < 0)
        return fail_write(w, s, r, err);
    succeed(w, s, offset);
    return 0;
}

/* Writes pending exits and events before they reach the limit of their size: many processes may end within one tick. */
static void relieve(struct tape_writer *w)
{
    if (w->pending.at.len > PENDING_MAX / 2 && !w->failing)
        tape_writer_commit(w, NULL, NULL);
}

void tape_writer_exit(struct tape_writer *w, const struct baro_exit *e)
{
    pending_exit(w, e);
    relieve(w);
}

void tape_writer_event(struct tape_writer *w, const struct baro_event *e)
{
    pending_event(w, e);
    relieve(w);
}

void tape_writer_limits(struct tape_writer *w, const struct baro_limits *l, uint64_t t_ns)
{
    w->limits = *l;
    w->limits_t_ns = t_ns;
    w->has_limits = w->limits_due = true;
}

int tape_writer_finish(struct tape_writer *w, struct baro_error *err)
{
    look_for_cut(w);
    int r = tape_writer_commit(w, NULL, err);
    if (r == 0)
        r = tape_writer_start(w, err);
    if (r < 0)
        return r;
    r = encode_footer(w);
    if (r == 0)
        r = write_bytes(w, w->frame.at, w->frame.len);
    return r < 0 ? fail_write(w, NULL, r, err) : 0;
}

/* Begins a file: its state is new, but the limits and the declared kinds of the job stay. */
static void begin_file(struct tape_writer *w, int fd, const struct buf *preface)
{
    buf_done(&w->preface);
    w->preface = *preface;
    fd_close(w->fd);
    w->fd = fd;
    w->network = tape_on_network(fd);
    w->end = preface->len;
    w->failing = w->block_open = w->block_keyed = false;
    w->n_base = 0;
    w->raw = 0;
    w->n_samples = w->n_exits = w->n_events = w->n_index = 0;
    w->index_step = 1;
    w->index_skipped = 0;
}

int tape_writer_next(struct tape_writer *w, int fd, const struct baro_header *header, struct baro_error *err)
{
    struct buf preface = {0};
    uint8_t nonce[8];
    size_t done;
    random_fill(nonce, sizeof nonce);
    int r = encode_preface(&preface, header, nonce);
    if (r == 0)
        r = write_whole(w, fd, preface.at, preface.len, &done);
    if (r < 0) {
        buf_done(&preface);
        fd_close(fd);
        return error_set(err, r, "can't write the next segment of the tape: %s", strerror(-r));
    }
    tape_writer_finish(w, NULL); /* if this fails, the old file has no footer, and is complete up to its last sample */
    begin_file(w, fd, &preface);
    w->seed = frame_seed(nonce);
    return 0;
}

uint64_t tape_writer_bytes(const struct tape_writer *w)
{
    return w->end;
}

uint64_t tape_writer_cut(const struct tape_writer *w)
{
    return w->cut;
}

bool tape_writer_network(const struct tape_writer *w)
{
    return w->network;
}

bool tape_writer_failing(const struct tape_writer *w)
{
    return w->failing;
}

bool tape_writer_full(const struct tape_writer *w)
{
    return w->failing && (w->lost_code == -ENOSPC || w->lost_code == -EDQUOT);
}
