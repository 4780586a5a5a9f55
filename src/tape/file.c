/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes and frames of a tape's file. The file may grow or be cut while it is read. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tape/cursor.h"

enum { WINDOW = 64 << 10 };

int file_look(struct baro_tape *t)
{
    struct stat st;
    if (t->memory)
        return 0;
    if (fstat(t->fd, &st) < 0)
        return -errno;
    t->size = (uint64_t)st.st_size;
    return 0;
}

static int fill(struct baro_tape *t, uint64_t at, size_t want)
{
    buf_clear(&t->window);
    t->window_at = at;
    if (!buf_reserve(&t->window, want)) {
        t->window.failed = false;
        return -ENOMEM;
    }
    while (t->window.len < want) {
        ssize_t n = pread(t->fd, t->window.at + t->window.len, want - t->window.len, (off_t)(at + t->window.len));
        if (n < 0 && errno == EINTR)
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
        *ret_len = at < t->size ? (size_t)(t->size - at) : 0;
        return 0;
    }
    if (at < t->window_at || at > t->window_at + t->window.len || need > t->window_at + t->window.len - at) {
        int r = file_look(t);
        if (r < 0)
            return r;
        /* No more than the file has: what it says of itself can't make this large. */
        uint64_t have = at < t->size ? t->size - at : 0;
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
    r = file_view(t, at, size, &p, &len);
    if (r < 0)
        return r;
    if (len < size)
        return FRAME_SHORT;
    *ret_payload = p + FRAME_HEAD_SIZE;
    return frame_good(p, ret, t->seed) ? FRAME_GOOD : FRAME_BAD;
}

/* Where a sync mark, or the beginning of one at the very end, may be. */
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
    /* Each candidate costs a CRC of what it claims to be long; a file made of candidates must not cost their square. */
    uint64_t budget = 4 * t->size + (16u << 20);
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
            from += len;
            continue;
        }
        from += (uint64_t)(sync - p);
        struct frame_head head;
        const uint8_t *payload;
        r = file_peek(t, from, 0, &head, &payload);
        if (r == FRAME_GOOD && head.len <= budget && from + FRAME_HEAD_SIZE + head.len <= t->size) {
            budget -= head.len;
            r = file_frame(t, from, &head, &payload);
            if (r == FRAME_GOOD) {
                *ret_at = from;
                return 1;
            }
        } else if (r == FRAME_GOOD) {
            r = FRAME_SHORT;
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
