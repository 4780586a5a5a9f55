/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cursor over a tape in segments (libbaro/tape/segments.h). It reads one segment like any other tape, and at its end
 * goes to the next one. Segments that are removed meanwhile are left out.
 *
 * The writer makes the header of a segment after the last sample of the previous segment. So a reader that has seen the
 * next segment, and then reads this one to its end, has read all of this one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>

#include "base/error.h"
#include "base/fd.h"
#include "libbaro/tape/cursor.h"
#include "libbaro/tape/header_fields.h"
#include "libbaro/tape/tail.h"

static int open_segment(const struct tape_segments *s, size_t i)
{
    char name[SEGMENT_NAME_SIZE];
    segment_name(s->list.at[i].number, name);
    int fd = openat(s->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

/* Forgets everything that belongs to the file that was read. */
static void leave_file(struct baro_tape *t)
{
    t->window.len = 0;
    t->window_at = 0;
    t->block_good = false;
    t->size = t->present = t->wasted = 0;
    t->pos = t->stop_at = t->scan_end = t->known_from = t->walked = 0;
    t->n_blocks = t->n_indexed = 0;
    t->index_tried = t->complete = t->abandoned = false;
    t->seen_size = t->grown_ns = 0;
}

static bool same_recording(const struct baro_header *a, const struct baro_header *b)
{
    return a->start_monotonic_ns == b->start_monotonic_ns && a->start_realtime_ns == b->start_realtime_ns &&
           strcmp(a->boot_id, b->boot_id) == 0;
}

/* Reads the header and schema of the file, but keeps those of the first segment: they are the same, and pointers that
 * were borrowed from them stay valid. */
static int read_front_again(struct baro_tape *t, struct baro_error *err)
{
    struct baro_header header = t->header;
    struct schema schema = t->schema;
    memset(&t->header, 0, sizeof t->header);
    memset(&t->schema, 0, sizeof t->schema);
    int r = cursor_front(t, "a segment of the tape", err);
    if (r == 0 && !same_recording(&header, &t->header))
        r = error_set(err, BARO_E_CORRUPT, "a segment of the tape is of another recording");
    head_done(&t->header);
    schema_done(&t->schema);
    t->header = header;
    t->schema = schema;
    return r;
}

static void watch_file(struct baro_tape *t)
{
    char path[64];
    if (t->inotify_fd < 0)
        return;
    if (t->watch >= 0)
        inotify_rm_watch(t->inotify_fd, t->watch);
    cursor_path(t, path);
    t->watch = inotify_add_watch(t->inotify_fd, path, IN_MODIFY);
}

static int enter(struct baro_tape *t, size_t i, struct baro_error *err)
{
    int fd = open_segment(t->segments, i);
    if (fd < 0)
        return error_set(err, fd, "can't read a segment of the tape: %s", strerror(-fd));
    fd_close(t->fd);
    t->fd = fd;
    t->segments->current = i;
    t->segments->next = 0;
    leave_file(t);
    watch_file(t);
    return read_front_again(t, err);
}

/* ---- going to the next segment ---- */

/* Returns the number of bytes after the last good frame: the beginning of a frame that was never completed. */
static uint64_t left_over(struct baro_tape *t)
{
    return file_look(t) == 0 ? file_rest(t, t->pos) : 0;
}

/* Tries to read a segment with a cursor of its own. *ret_first_ns (may be NULL): the time of its first sample. */
static int try_segment(const struct tape_segments *s, size_t i, uint64_t *ret_first_ns)
{
    struct baro_tape *other;
    struct baro_record record = {0};
    int fd = open_segment(s, i);
    int r = fd < 0 ? fd : tape_open_fd(&other, fd, "a segment", 0, NULL);
    if (r < 0)
        return r;
    while (ret_first_ns && record.kind != BARO_RECORD_SAMPLE && baro_tape_next(other, &record, NULL) > 0)
        ;
    if (ret_first_ns)
        *ret_first_ns = record.kind == BARO_RECORD_SAMPLE ? record.t_ns : UINT64_MAX;
    baro_tape_close(other);
    return 0;
}

/* Returns the position of the next segment that can be read; 0: there is none. Damaged ones are left out. The header of
 * the last one may not be written yet. */
static size_t find_next(struct tape_segments *s)
{
    if (s->current + 1 >= s->list.n && segments_list(s->dir_fd, &s->list) < 0)
        return 0;
    s->skipped_bytes = 0;
    for (size_t i = s->current + 1; i < s->list.n; i++) {
        int r = try_segment(s, i, NULL);
        if (r == 0)
            return i;
        if (r == BARO_E_EMPTY && i + 1 == s->list.n)
            return 0;
        s->skipped_bytes += r == -ENOENT ? 0 : (uint64_t)s->list.at[i].file.st_size;
    }
    return 0;
}

int segments_go_on(struct baro_tape *t, uint64_t *ret_damage, struct baro_error *err)
{
    struct tape_segments *s = t->segments;
    *ret_damage = 0;
    if (!s || s->stay)
        return 0;
    if (!s->next) {
        s->next = find_next(s);
        return s->next != 0; /* the rest of this segment is read first */
    }
    *ret_damage = left_over(t) + s->skipped_bytes;
    int r = enter(t, s->next, err);
    if (r != -ENOENT)
        return r < 0 ? r : 1;
    s->current = s->next; /* the segment was removed meanwhile */
    s->next = 0;
    return 1;
}

/* ---- seeking ---- */

static uint64_t first_ns(struct tape_segments *s, size_t i)
{
    struct segment *at = &s->list.at[i];
    uint64_t t_ns;
    if (at->first_ns == 0 || at->first_ns == UINT64_MAX) /* not read yet, or it had no sample then */
        at->first_ns = try_segment(s, i, &t_ns) == 0 ? t_ns : UINT64_MAX;
    return at->first_ns;
}

/* Enters the last segment that begins at or before t_ns; if all begin later, the first one that has a sample. */
int segments_enter_at(struct baro_tape *t, uint64_t t_ns, struct baro_error *err)
{
    struct tape_segments *s = t->segments;
    size_t found = SIZE_MAX;
    int r = s ? segments_list(s->dir_fd, &s->list) : 0;
    if (!s)
        return 0;
    if (r < 0)
        return error_set(err, r, "can't read the tape: %s", strerror(-r));
    for (size_t i = s->list.n; i-- > 0;) {
        uint64_t begins = first_ns(s, i);
        if (begins != UINT64_MAX)
            found = i;
        if (begins <= t_ns && begins != UINT64_MAX)
            break;
    }
    if (found == SIZE_MAX || found == s->current)
        return 0;
    return enter(t, found, err);
}

int segments_enter_end(struct baro_tape *t, bool first, struct baro_error *err)
{
    struct tape_segments *s = t->segments;
    if (!s)
        return 0;
    int r = segments_list(s->dir_fd, &s->list);
    for (size_t n = 0; r >= 0 && n < s->list.n; n++) {
        size_t i = first ? n : s->list.n - 1 - n;
        r = i == s->current && !first ? 0 : enter(t, i, err);
        if (r == 0)
            return 0;
        r = r == -ENOENT || r == BARO_E_EMPTY ? 0 : r;
    }
    return r < 0 ? r : error_set(err, -ENOENT, "the tape has no segments any more");
}

int segments_enter_before(struct baro_tape *t, struct baro_error *err)
{
    struct tape_segments *s = t->segments;
    while (s && s->current > 0) {
        int r = enter(t, s->current - 1, err);
        if (r != -ENOENT)
            return r < 0 ? r : 1;
        s->current--;
    }
    return 0;
}

int segments_enter_number(struct baro_tape *t, uint32_t number, struct baro_error *err)
{
    struct tape_segments *s = t->segments;
    if (!s)
        return number ? error_set(err, BARO_E_RANGE, "the tape has no segments") : 0;
    int r = segments_list(s->dir_fd, &s->list);
    if (r < 0)
        return error_set(err, r, "can't read the tape: %s", strerror(-r));
    for (size_t i = 0; i < s->list.n; i++) {
        if (s->list.at[i].number < number)
            continue;
        r = enter(t, i, err);
        if (r != -ENOENT)
            return r < 0 ? r : s->list.at[i].number != number;
    }
    return error_set(err, BARO_E_RANGE, "the tape has no such segment");
}

/* ---- opening ---- */

int segments_open(struct baro_tape *t, int dir_fd, const char *name, struct baro_error *err)
{
    struct tape_segments *s = calloc(1, sizeof *s);
    if (!s) {
        fd_close(dir_fd);
        return error_set(err, -ENOMEM, "no memory to read a tape");
    }
    s->dir_fd = dir_fd;
    t->segments = s;
    int r = segments_list(dir_fd, &s->list);
    if (r < 0)
        return error_set(err, r, "can't read %s: %s", name, strerror(-r));
    if (r == 0)
        return error_set(err, -EISDIR, "%s is a directory, not a tape", name);
    for (size_t i = 0; i < s->list.n; i++) {
        t->fd = open_segment(s, i);
        if (t->fd < 0)
            continue;
        s->current = i;
        r = cursor_front(t, name, err);
        if (r == 0 || i + 1 == s->list.n || r == -ENOMEM)
            return r;
        t->fd = fd_close(t->fd);
        head_done(&t->header);
        schema_done(&t->schema);
        leave_file(t);
    }
    return error_set(err, -ENOENT, "can't read %s: its segments are gone", name);
}

void segments_close(struct baro_tape *t)
{
    if (!t->segments)
        return;
    fd_close(t->segments->dir_fd);
    segments_done(&t->segments->list);
    free(t->segments);
}
