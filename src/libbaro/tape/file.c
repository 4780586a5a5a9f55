/* SPDX-License-Identifier: Apache-2.0 */
/* Reads bytes and frames of a tape's file. The file may grow or be truncated meanwhile. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "libbaro/tape/cursor.h"

enum { WINDOW = 64 << 10 };

int file_look(struct baro_tape *t)
{
    struct stat st;
    if (t->memory) {
        t->present = t->size;
        return 0;
    }
    if (fstat(t->fd, &st) < 0)
        return -errno;
    t->size = (uint64_t)st.st_size;
    t->present = (uint64_t)st.st_blocks * 512 < t->size ? (uint64_t)st.st_blocks * 512 : t->size;
    return 0;
}

int file_in_time(const struct baro_tape *t)
{
    return t->cpu_until_ns && clock_thread_cpu_ns() >= t->cpu_until_ns ? -ETIME : 0;
}

/* May the CRC of a frame of this length be computed? The frame may turn out not to be one, and a malicious file can
 * consist of overlapping frames that claim to be long. So all such CRCs together are limited to a small multiple of
 * the bytes of the file. */
static bool may_waste(const struct baro_tape *t, uint64_t len)
{
    return t->wasted + len <= 4 * t->present + FRAME_PAYLOAD_MAX + (16u << 20);
}

/* lseek(2) that restores the file offset, which a descriptor of the caller may share with ours. */
static off_t look_for(const struct baro_tape *t, uint64_t at, int whence)
{
    off_t before = lseek(t->fd, 0, SEEK_CUR);
    off_t found = lseek(t->fd, (off_t)at, whence);
    int code = errno;
    if (before >= 0)
        lseek(t->fd, before, SEEK_SET);
    errno = code;
    return found;
}

/* Is there a hole in this range? Writers leave none; a long payload with a hole is meant to keep readers busy. */
static bool has_hole(const struct baro_tape *t, uint64_t at, uint64_t len)
{
    off_t hole = len > WINDOW && !t->memory ? look_for(t, at, SEEK_HOLE) : -1;
    return hole >= 0 && (uint64_t)hole < at + len;
}

/* Returns the offset of the next byte at or after `at` that is not in a hole; the file's size if there is none. */
static uint64_t skip_hole(const struct baro_tape *t, uint64_t at)
{
    if (t->memory)
        return at;
    off_t data = look_for(t, at, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO && at < t->size ? t->size : at;
    return (uint64_t)data > at ? (uint64_t)data : at;
}

uint64_t file_rest(const struct baro_tape *t, uint64_t at)
{
    return at < t->size ? t->size - at : 0;
}

static int fill(struct baro_tape *t, uint64_t at, size_t want)
{
    buf_clear(&t->window);
    t->window_at = at;
    if (!buf_reserve(&t->window, want + 1)) { /* + 1: the window is never NULL, even if the file is empty */
        t->window.failed = false;
        return -ENOMEM;
    }
    int r = file_in_time(t);
    unsigned tries = 0;
    if (r < 0)
        return r;
    while (t->window.len < want) {
        ssize_t n = pread(t->fd, t->window.at + t->window.len, want - t->window.len, (off_t)(at + t->window.len));
        if (n < 0 && fd_again(&tries))
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        t->window.len += (size_t)n;
    }
    return 0;
}

int file_view(struct baro_tape *t, uint64_t at, size_t need, const uint8_t **ret, size_t *ret_len)
{
    if (t->memory) {
        *ret = t->memory + (at < t->size ? at : t->size);
        *ret_len = (size_t)file_rest(t, at);
        return 0;
    }
    if (at < t->window_at || at > t->window_at + t->window.len || need > t->window_at + t->window.len - at) {
        int r = file_look(t);
        if (r < 0)
            return r;
        /* No more than the file has, whatever length a frame claims. */
        uint64_t have = file_rest(t, at);
        uint64_t want = need > WINDOW ? need : WINDOW;
        r = fill(t, at, (size_t)(want < have ? want : have));
        if (r < 0)
            return r;
    }
    *ret = t->window.at + (at - t->window_at);
    *ret_len = (size_t)(t->window_at + t->window.len - at);
    return 0;
}

int file_peek(struct baro_tape *t, uint64_t at, size_t peek, struct frame_head *ret, const uint8_t **ret_payload)
{
    const uint8_t *p;
    size_t len;
    int r = file_view(t, at, FRAME_HEAD_SIZE + peek, &p, &len);
    if (r < 0)
        return r;
    if (len < FRAME_HEAD_SIZE) {
        size_t n = len < FRAME_SYNC_SIZE ? len : FRAME_SYNC_SIZE;
        return n == 0 || memcmp(p, FRAME_SYNC, n) == 0 ? FRAME_SHORT : FRAME_BAD;
    }
    if (!frame_head_parse(p, ret))
        return FRAME_BAD;
    *ret_payload = p + FRAME_HEAD_SIZE;
    return len < FRAME_HEAD_SIZE + (peek < ret->len ? peek : ret->len) ? FRAME_SHORT : FRAME_GOOD;
}

int file_frame(struct baro_tape *t, uint64_t at, struct frame_head *ret, const uint8_t **ret_payload)
{
    int r = file_peek(t, at, 0, ret, ret_payload);
    if (r != FRAME_GOOD)
        return r;
    const uint8_t *p;
    size_t len, size = FRAME_HEAD_SIZE + (size_t)ret->len;
    if (at + size > t->size && (r = file_look(t)) < 0)
        return r;
    if (at + size > t->size)
        return FRAME_SHORT;
    if (!may_waste(t, size) || has_hole(t, at, size))
        return FRAME_BAD;
    r = file_view(t, at, size, &p, &len);
    if (r < 0)
        return r;
    if (len < size)
        return FRAME_SHORT;
    *ret_payload = p + FRAME_HEAD_SIZE;
    if (frame_good(p, ret, t->seed))
        return FRAME_GOOD;
    t->wasted += size;
    return FRAME_BAD;
}

/* Finds a sync mark, or the beginning of one at the end. */
static const uint8_t *find_sync(const uint8_t *p, size_t len)
{
    const uint8_t *end = p + len;
    while (p < end && (p = memchr(p, FRAME_SYNC[0], (size_t)(end - p)))) {
        size_t n = (size_t)(end - p) < FRAME_SYNC_SIZE ? (size_t)(end - p) : FRAME_SYNC_SIZE;
        if (memcmp(p, FRAME_SYNC, n) == 0)
            return p;
        p++;
    }
    return NULL;
}

int file_find(struct baro_tape *t, uint64_t from, uint64_t *ret_at)
{
    uint64_t undecided = UINT64_MAX;
    for (;;) {
        const uint8_t *p;
        size_t len;
        int r = file_view(t, from, 1, &p, &len);
        if (r < 0)
            return r;
        if (len == 0)
            break;
        const uint8_t *sync = find_sync(p, len);
        if (!sync) {
            from = skip_hole(t, from + len);
            continue;
        }
        from += (uint64_t)(sync - p);
        struct frame_head head;
        const uint8_t *payload;
        r = file_frame(t, from, &head, &payload);
        if (r == FRAME_GOOD) {
            *ret_at = from;
            return 1;
        }
        if (r < 0)
            return r;
        if (r == FRAME_SHORT && undecided == UINT64_MAX)
            undecided = from;
        from++;
    }
    t->scan_end = undecided < from ? undecided : from;
    return 0;
}
