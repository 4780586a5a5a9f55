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

/* ---- a part that another version wrote ---- */

static bool same_kind(const struct tape_kind *a, const struct tape_kind *b)
{
    bool same = a->columns.n == b->columns.n && a->n_own == b->n_own && a->n_more == b->n_more &&
                memcmp(a->columns.at, b->columns.at, a->columns.n * sizeof(*a->columns.at)) == 0 &&
                memcmp(a->metric, b->metric, a->columns.n) == 0 && !a->name == !b->name &&
                (!a->name || strcmp(a->name, b->name) == 0);
    for (unsigned i = 0; same && i < a->n_more; i++)
        same = strcmp(a->more[i]->name, b->more[i]->name) == 0;
    return same;
}

/* Kinds that were declared in blocks are not compared: each block declares them again. */
static bool same_schema(const struct schema *a, const struct schema *b)
{
    bool same = a->first_declared == b->first_declared && memcmp(a->kind_of, b->kind_of, sizeof(a->kind_of)) == 0;
    for (unsigned i = 0; same && i < a->first_declared; i++)
        same = same_kind(a->kind[i], b->kind[i]);
    return same;
}

/* Changes to another schema, which it takes. The former one is kept, because callers may have pointers into it. */
static int change_schema(struct baro_tape *t, struct schema *to)
{
    struct tape_segments *s = t->segments;
    size_t i = 0;
    if (same_schema(&t->schema, to)) {
        schema_done(to);
        return 0;
    }
    state_clear(t);
    while (i < s->n_schemas && !same_schema(&s->schemas[i], to))
        i++;
    if (i < s->n_schemas) {
        struct schema known = s->schemas[i];
        s->schemas[i] = t->schema;
        t->schema = known;
        schema_done(to);
        return 0;
    }
    struct schema *grown = realloc(s->schemas, (s->n_schemas + 1) * sizeof(*grown));
    if (!grown) {
        schema_done(to);
        return -ENOMEM;
    }
    s->schemas = grown;
    grown[s->n_schemas++] = t->schema;
    t->schema = *to;
    return 0;
}

/* Reads the header and schema of the file, but keeps the header of the first segment: the others have the same, but for
 * their part's beginning, and pointers that were borrowed from it stay valid. */
static int read_front_again(struct baro_tape *t, struct baro_error *err)
{
    struct baro_header first = t->header, header;
    struct schema known = t->schema, schema;
    memset(&t->header, 0, sizeof t->header);
    memset(&t->schema, 0, sizeof t->schema);
    int r = cursor_front(t, "a segment of the tape", err);
    header = t->header;
    schema = t->schema;
    t->header = first;
    t->schema = known;
    if (r == 0 && strcmp(first.id, header.id) != 0)
        r = error_set(err, BARO_E_CORRUPT, "a segment of the tape is of another recording");
    if (r == 0 && (r = series_find(t, t->segments->current, &header, &t->segments->part)) < 0)
        error_set(err, r, "no memory to read a tape");
    head_done(&header);
    if (r == 0)
        return change_schema(t, &schema);
    schema_done(&schema);
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

int segment_open(const struct baro_tape *t, size_t i, struct baro_tape **ret)
{
    int fd = open_segment(t->segments, i);
    int r = fd < 0 ? fd : tape_open_fd(ret, fd, "a segment", 0, NULL);
    if (r == 0 && strcmp((*ret)->header.id, t->header.id) != 0) { /* a file of another recording in the folder */
        baro_tape_close(*ret);
        return BARO_E_CORRUPT;
    }
    if (r == 0)
        (*ret)->cpu_until_ns = t->cpu_until_ns;
    return r;
}

static bool has_sample(struct baro_tape *t, uint64_t *ret_ns)
{
    struct baro_record record = {0};
    while (record.kind != BARO_RECORD_SAMPLE && baro_tape_next(t, &record, NULL) > 0)
        ;
    *ret_ns = record.t_ns;
    return record.kind == BARO_RECORD_SAMPLE;
}

/* Can the cursor go on with segment i? Returns 0, or a negative code. The header of the last one may not be written
 * yet. Nor may the first sample of a part, which the cursor needs to join it. */
static int try_segment(const struct baro_tape *t, size_t i)
{
    struct baro_tape *other;
    uint64_t t_ns;
    int r = segment_open(t, i, &other);
    if (r < 0)
        return r;
    if (i + 1 == t->segments->list.n && !series_is_current(t, &other->header) && !has_sample(other, &t_ns))
        r = BARO_E_EMPTY;
    baro_tape_close(other);
    return r;
}

/* Returns the position of the next segment that can be read; 0: there is none. Damaged ones are left out. */
static size_t find_next(const struct baro_tape *t)
{
    struct tape_segments *s = t->segments;
    if (s->current + 1 >= s->list.n && segments_list(s->dir_fd, &s->list) < 0)
        return 0;
    s->skipped_bytes = 0;
    for (size_t i = s->current + 1; i < s->list.n; i++) {
        int r = try_segment(t, i);
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
        s->next = find_next(t);
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

static uint64_t read_first_ns(struct baro_tape *t, size_t i)
{
    struct baro_tape *other;
    uint64_t t_ns = UINT64_MAX;
    size_t part;
    if (segment_open(t, i, &other) < 0)
        return UINT64_MAX;
    if (has_sample(other, &t_ns) && series_find(t, i, &other->header, &part) == 0)
        t_ns += t->segments->parts[part].shift_ns;
    else
        t_ns = UINT64_MAX;
    baro_tape_close(other);
    return t_ns;
}

uint64_t segments_first_ns(struct baro_tape *t, size_t i)
{
    struct segment *at = &t->segments->list.at[i];
    if (at->first_ns == 0 || at->first_ns == UINT64_MAX) /* not read yet, or it had no sample then */
        at->first_ns = read_first_ns(t, i);
    return at->first_ns;
}

int segments_find(struct baro_tape *t, uint64_t t_ns, size_t *ret)
{
    struct tape_segments *s = t->segments;
    size_t found = SIZE_MAX, from = 0;
    int r = segments_list(s->dir_fd, &s->list);
    for (size_t to = s->list.n; r >= 0 && from < to;) {
        size_t middle = from + (to - from) / 2, i = middle;
        while (i > from && segments_first_ns(t, i) == UINT64_MAX)
            i--;
        uint64_t begins = segments_first_ns(t, i);
        if (begins != UINT64_MAX && begins > t_ns) {
            to = i;
            continue;
        }
        found = begins != UINT64_MAX ? i : found;
        from = middle + 1; /* those from i to the middle have no sample */
    }
    for (size_t i = 0; r >= 0 && found == SIZE_MAX && i < s->list.n; i++)
        found = segments_first_ns(t, i) != UINT64_MAX ? i : found;
    *ret = found;
    return r < 0 ? r : 0;
}

int segments_enter_at(struct baro_tape *t, uint64_t t_ns, struct baro_error *err)
{
    size_t found;
    if (!t->segments)
        return 0;
    int r = segments_find(t, t_ns, &found);
    if (r < 0)
        return error_set(err, r, "can't read the tape: %s", strerror(-r));
    return found == SIZE_MAX || found == t->segments->current ? 0 : enter(t, found, err);
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
        r = r == -ENOENT || r == BARO_E_EMPTY || r == BARO_E_CORRUPT || r == BARO_E_NOT_TAPE ? 0 : r;
    }
    return r < 0 ? r : error_set(err, -ENOENT, "the tape has no segments any more");
}

int segments_enter_before(struct baro_tape *t, struct baro_error *err)
{
    struct tape_segments *s = t->segments;
    for (size_t i = s ? s->current : 0; i > 0; i--) {
        int r = enter(t, i - 1, err);
        if (r != -ENOENT && r != BARO_E_CORRUPT && r != BARO_E_NOT_TAPE) /* such ones are left out */
            return r < 0 ? r : 1;
        s->current = i - 1;
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
        if (r == 0 && (r = series_begin(t)) < 0)
            return error_set(err, r, "no memory to read a tape");
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
    for (size_t i = 0; i < t->segments->n_schemas; i++)
        schema_done(&t->segments->schemas[i]);
    free(t->segments->schemas);
    series_done(t->segments);
    free(t->segments);
}
