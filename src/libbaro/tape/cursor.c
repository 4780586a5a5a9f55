/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/fd.h"
#include "libbaro/tape/cursor.h"
#include "libbaro/tape/header_fields.h"
#include "libbaro/tape/little.h"
#include "libbaro/tape/tail.h"

static int check_file(int fd, const char *name, struct baro_error *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return error_set(err, -errno, "can't read %s: %s", name, strerror(errno));
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return error_set(err, -EINVAL, "%s is not a regular file", name);
    return 0;
}

static int read_preamble(struct baro_tape *t, const char *path, struct baro_error *err)
{
    const uint8_t *p;
    size_t len;
    int r = file_view(t, 0, TAPE_PREAMBLE_SIZE, &p, &len);
    if (r < 0)
        return error_set(err, r, "can't read %s: %s", path, strerror(-r));
    if (len >= TAPE_MAGIC_SIZE && memcmp(p, TAPE_MAGIC_BEFORE, TAPE_MAGIC_SIZE) == 0)
        return error_set(err, BARO_E_VERSION,
                         "%s was written by a development version before 0.1, whose tapes can't be read", path);
    if (len > 0 && memcmp(p, TAPE_MAGIC, len < TAPE_MAGIC_SIZE ? len : TAPE_MAGIC_SIZE) != 0)
        return error_set(err, BARO_E_NOT_TAPE, "%s is not a tape", path);
    if (len < TAPE_PREAMBLE_SIZE)
        return error_set(err, BARO_E_EMPTY, "%s is empty: nothing was recorded", path);
    if (get_le32(p + 20) != crc32c(0, p, 20))
        return error_set(err, BARO_E_CORRUPT, "%s is damaged at its very beginning", path);
    if (get_le16(p + 10) > TAPE_FORMAT)
        return error_set(err, BARO_E_VERSION, "%s was written by a newer barograph and needs one to be read", path);
    t->seed = frame_seed(p + 12);
    t->pos = TAPE_PREAMBLE_SIZE;
    return 0;
}

/* Converts the wanted columns of the tape to metrics of this library. */
static void map_wanted(struct baro_tape *t, const uint8_t *columns)
{
    const struct tape_kind *k = t->schema.kind[BARO_KIND_PROCESS];
    for (unsigned c = 0; c < k->columns.n; c++)
        if (columns[c / 8] >> c % 8 & 1 && k->metric[c] < PROCESS_MAX)
            t->header.wanted |= 1ull << k->metric[c];
}

static int unpack_schema(const struct frame_head *head, const uint8_t *payload, struct baro_tape *t)
{
    enum { SCHEMA_MAX = 1 << 20 };
    unsigned long long size = ZSTD_getFrameContentSize(payload, head->len);
    if (size > SCHEMA_MAX)
        return BARO_E_CORRUPT;
    struct buf raw = {0};
    int r = buf_reserve(&raw, (size_t)size + 1) ? 0 : -ENOMEM;
    if (r == 0) {
        size_t n = ZSTD_decompressDCtx(t->zstd, raw.at, (size_t)size, payload, head->len);
        r = ZSTD_isError(n) ? BARO_E_CORRUPT : schema_scan(span_of(raw.at, n), &t->schema);
    }
    buf_done(&raw);
    return r;
}

/* Reads header and schema, in that order; frames of unknown types may be between them. */
static int read_front(struct baro_tape *t, const char *path, struct baro_error *err)
{
    bool have_header = false, have_schema = false;
    uint8_t wanted[WANTED_SIZE];
    while (!have_header || !have_schema) {
        struct frame_head head;
        const uint8_t *payload;
        int r = file_frame(t, t->pos, &head, &payload);
        if (r == FRAME_SHORT)
            return error_set(err, BARO_E_EMPTY, "%s ends within its header: nothing was recorded", path);
        /* If the disk was full at the beginning and the file could not be truncated, the writer wrote the header
         * again after those bytes. */
        if (r == FRAME_BAD && file_find(t, t->pos + 1, &t->pos) == 1)
            continue;
        if (r == FRAME_BAD || (r == FRAME_GOOD && (head.type == FRAME_BLOCK || head.type == FRAME_TICK)))
            return error_set(err, BARO_E_CORRUPT, "%s has a damaged header", path);
        if (r == FRAME_GOOD && head.type == FRAME_HEADER && !have_header) {
            r = head_scan(span_of(payload, head.len), &t->header, wanted);
            have_header = true;
        } else if (r == FRAME_GOOD && head.type == FRAME_SCHEMA && !have_schema) {
            r = unpack_schema(&head, payload, t);
            have_schema = true;
        }
        if (r == BARO_E_CORRUPT)
            return error_set(err, r, "%s has a damaged header", path);
        if (r < 0)
            return error_set(err, r, "can't read %s: %s", path, strerror(-r));
        t->pos += FRAME_HEAD_SIZE + (uint64_t)head.len;
    }
    map_wanted(t, wanted);
    return 0;
}

int cursor_front(struct baro_tape *t, const char *name, struct baro_error *err)
{
    ZSTD_DCtx_reset(t->zstd, ZSTD_reset_session_and_parameters); /* the schema's window is not limited */
    int r = read_preamble(t, name, err);
    if (r == 0)
        r = read_front(t, name, err);
    /* This is the largest window that a writer uses. A larger one would use memory out of proportion to the file. */
    ZSTD_DCtx_setParameter(t->zstd, ZSTD_d_windowLogMax, TAPE_WINDOW_LOG);
    t->is_thinned = t->header.thinned;
    t->first = t->known_from = t->walked = t->tell_at = t->pos;
    t->tell_count = 0;
    return r;
}

void baro_tape_limit_cpu(struct baro_tape *t, uint64_t cpu_ns)
{
    t->cpu_until_ns = cpu_ns ? clock_thread_cpu_ns() + cpu_ns : 0;
}

static bool is_folder(int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

static void bytes_unref(struct tape_bytes *b)
{
    if (b && atomic_fetch_sub(&b->users, 1) == 1)
        free(b);
}

/* Opens a cursor and reads the front of the tape. Takes over the descriptor and the reference to bytes (NULL: the tape
 * is read through the descriptor). */
static int open_cursor(struct baro_tape **ret, int fd, struct tape_bytes *bytes, const char *name, uint64_t cpu_ns,
                       struct baro_error *err)
{
    struct baro_tape *t = calloc(1, sizeof *t);
    if (!t) {
        bytes_unref(bytes);
        fd_close(fd);
        return error_set(err, -ENOMEM, "no memory to read a tape");
    }
    t->fd = is_folder(fd) ? -1 : fd;
    t->inotify_fd = t->watch = -1;
    t->bytes = bytes;
    t->memory = bytes ? bytes->at : NULL;
    t->size = bytes ? bytes->size : 0;
    baro_tape_limit_cpu(t, cpu_ns);
    t->zstd = ZSTD_createDCtx();
    int r = t->zstd ? 0 : error_set(err, -ENOMEM, "no memory to read a tape");
    if (r == 0 && t->fd != fd)
        r = segments_open(t, fd, name, err);
    else if (r == 0)
        r = cursor_front(t, name, err);
    else if (t->fd != fd)
        fd_close(fd);
    if (r == 0 && labels_open(t) < 0)
        r = error_set(err, -ENOMEM, "no memory to read a tape");
    if (r < 0) {
        baro_tape_close(t);
        return r;
    }
    t->from_first = true;
    decode_reset(t);
    *ret = t;
    return 0;
}

int baro_tape_open(struct baro_tape **ret, const char *path, struct baro_error *err)
{
    /* Non-blocking: opening a FIFO for reading would wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return error_set(err, -errno, "can't open %s: %s", path, strerror(errno));
    int r = check_file(fd, path, err);
    if (r == 0)
        return open_cursor(ret, fd, NULL, path, 0, err);
    fd_close(fd);
    return r;
}

int baro_tape_open_fd(struct baro_tape **ret, int fd, const char *name, struct baro_error *err)
{
    name = name ? name : "the tape";
    int r = check_file(fd, name, err);
    if (r < 0)
        return r;
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return error_set(err, -errno, "can't read %s: %s", name, strerror(errno));
    return open_cursor(ret, own, NULL, name, 0, err);
}

int baro_tape_open_memory(struct baro_tape **ret, const void *data, size_t size, struct baro_error *err)
{
    struct tape_bytes *bytes = size < SIZE_MAX - sizeof(*bytes) ? malloc(sizeof(*bytes) + size) : NULL;
    if (!bytes)
        return error_set(err, -ENOMEM, "no memory to read a tape");
    atomic_init(&bytes->users, 1);
    bytes->size = size;
    if (size)
        memcpy(bytes->at, data, size);
    return open_cursor(ret, -1, bytes, "the tape", 0, err);
}

int tape_open_fd(struct baro_tape **ret, int fd, const char *path, uint64_t cpu_ns, struct baro_error *err)
{
    int r = check_file(fd, path, err);
    if (r == 0)
        return open_cursor(ret, fd, NULL, path, cpu_ns, err);
    fd_close(fd);
    return r;
}

int tape_open_again(struct baro_tape **ret, const struct baro_tape *tape, enum tape_part part, struct baro_error *err)
{
    int fd = tape->memory ? -1 : fcntl(tape->segments ? tape->segments->dir_fd : tape->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0 && !tape->memory)
        return error_set(err, -errno, "can't read the tape: %s", strerror(errno));
    if (tape->bytes)
        atomic_fetch_add(&tape->bytes->users, 1);
    int r = open_cursor(ret, fd, tape->bytes, "the tape", 0, err);
    if (r < 0)
        return r;
    (*ret)->part = part;
    (*ret)->cpu_until_ns = tape->cpu_until_ns;
    r = labels_copy(*ret, tape, err);
    if (r < 0)
        baro_tape_close(*ret);
    return r;
}

void baro_tape_close(struct baro_tape *t)
{
    if (!t)
        return;
    realtime_done(t);
    labels_done(t);
    decode_done(t);
    fd_close(t->fd);
    fd_close(t->inotify_fd);
    segments_close(t);
    head_done(&t->header);
    schema_done(&t->schema);
    buf_done(&t->window);
    free(t->blocks);
    bytes_unref(t->bytes);
    free(t);
}

static int report_damage(struct baro_tape *t, uint64_t bytes, struct baro_record *ret)
{
    t->damage += bytes;
    t->block_good = false;
    t->rest = span_of("", 0);
    ret->kind = BARO_RECORD_DAMAGE;
    ret->t_ns = t->last_t_ns;
    return 1;
}

/* There is no good frame at pos. If a good one follows, the bytes before it are damaged. Otherwise the writer may still
 * complete the frame. */
static int step_over(struct baro_tape *t, struct baro_record *ret, struct baro_error *err)
{
    uint64_t at, from = t->scan_end > t->pos ? t->scan_end : t->pos + 1;
    int r = file_find(t, from, &at);
    if (r < 0)
        return error_set(err, r, "can't read the tape: %s", strerror(-r));
    if (r == 0) {
        t->window.len = 0; /* the writer may truncate it and write it again */
        return 0;
    }
    uint64_t bytes = at - t->pos;
    t->pos = at;
    return report_damage(t, bytes, ret);
}

/* Handles the frame at pos. Returns 1 for a record (damage), 0 to go on, or a negative code. */
static int take_frame(struct baro_tape *t, const struct frame_head *head, const uint8_t *payload,
                      struct baro_record *ret, struct baro_error *err)
{
    uint64_t size = FRAME_HEAD_SIZE + (uint64_t)head->len;
    if (head->type == FRAME_BLOCK) {
        t->tell_at = t->pos;
        t->tell_count = 0;
    }
    t->pos += size;
    if (head->type == FRAME_FOOTER)
        t->complete = true;
    if (head->type != FRAME_BLOCK && head->type != FRAME_TICK)
        return 0;
    if (head->type == FRAME_TICK && !t->block_good) {
        t->damage += size; /* the damage of this block was reported already */
        return 0;
    }
    int r = decode_start(t, head, payload);
    if (r == BARO_E_CORRUPT)
        return report_damage(t, size, ret);
    return r < 0 ? error_set(err, r, "can't read the tape: %s", strerror(-r)) : 0;
}

static int next_frame(struct baro_tape *t, struct baro_record *ret, struct baro_error *err, bool *ret_end)
{
    struct frame_head head;
    const uint8_t *payload;
    *ret_end = false;
    int r = file_in_time(t);
    if (r == 0)
        r = file_frame(t, t->pos, &head, &payload);
    if (r == FRAME_BAD) {
        t->window.len = 0; /* the tail may have been truncated and written again since it was read */
        r = file_frame(t, t->pos, &head, &payload);
    }
    if (r < 0)
        return error_set(err, r, "can't read the tape: %s", strerror(-r));
    if (r == FRAME_GOOD)
        return take_frame(t, &head, payload, ret, err);
    r = step_over(t, ret, err);
    *ret_end = r == 0;
    return r;
}

int baro_tape_next(struct baro_tape *t, struct baro_record *ret, struct baro_error *err)
{
    memset(ret, 0, sizeof *ret);
    for (;;) {
        int r = decode_next(t, ret);
        if (r == BARO_E_CORRUPT)
            return report_damage(t, t->frame_size, ret);
        if (r < 0)
            return error_set(err, r, "can't read the tape: %s", strerror(-r));
        if (r > 0) {
            t->last_t_ns = ret->t_ns;
            t->tell_count += ret->kind != BARO_RECORD_LIMITS; /* limits that are known are not delivered again */
            return labels_take(t, ret, err);
        }
        bool end;
        if (t->stop_at && t->pos >= t->stop_at)
            return 0;
        r = next_frame(t, ret, err, &end);
        if (r == 0 && end) {
            uint64_t damage;
            r = segments_go_on(t, &damage, err);
            if (r > 0 && damage)
                return report_damage(t, damage, ret);
            end = r == 0;
            r = r < 0 ? r : 0;
        }
        if (r != 0 || end)
            return r;
    }
}

int baro_tape_rewind(struct baro_tape *t, struct baro_error *err)
{
    int r = segments_enter_end(t, true, err);
    if (r < 0)
        return r;
    decode_reset(t);
    t->pos = t->first;
    t->scan_end = 0;
    t->last_t_ns = 0;
    t->sample_given = false;
    t->damage = 0;
    t->complete = false;
    t->tell_at = t->first;
    t->tell_count = 0;
    labels_move(t, true);
    return 0;
}
