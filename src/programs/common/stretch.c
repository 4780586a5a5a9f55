/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/common/stretch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fmt.h"
#include "base/min_max.h"
#include "programs/common/moment.h"
#include "programs/common/zone.h"

#define LATE_NS (2 * NS_PER_SEC)      /* a record is on the tape at most this long after its time */
#define GAP_LEAST (60 * NS_PER_SEC)   /* a sample that is further from an edge is none: there is a gap */
#define BACK_LEAST (600 * NS_PER_SEC) /* of a folder of segments so much before a stretch is searched for phases */
#define DAY_NS (24 * 3600 * NS_PER_SEC)
#define MEMORY_MOST (64u << 20) /* a copy that may take more bytes is made in $TMPDIR */
#define COPIES 4

/* ---- its edges ---- */

static int parse_edge(const char *option, const char *text, struct baro_tape *tape, uint64_t last_ns,
                      struct moment *ret, struct baro_error *err)
{
    struct baro_error inner = BARO_ERROR_INIT;
    int code = moment_on_tape(text, tape, 0, last_ns, ret, &inner);
    if (code == 0 && ret->kind == MOMENT_PEAK)
        return error_set(err, BARO_E_SYNTAX, "%s: peak is a moment, no edge of a stretch", option);
    return code < 0 ? error_wrap(err, code, &inner, "%s: ", option) : 0;
}

/* Says what the tape has: +0.000s to +50.000s, and what the clock showed then. */
static int nothing_there(const char *option, const char *text, struct baro_tape *tape, uint64_t first_ns,
                         uint64_t last_ns, bool is_before, struct baro_error *err)
{
    const uint64_t edge[2] = {baro_header_segment(baro_tape_header(tape)) > 1 ? first_ns : 0, last_ns};
    struct buf b = {0};
    for (int i = 0; i < 2; i++) {
        buf_str(&b, i ? " to " : "");
        fmt_moment(&b, edge[i]);
    }
    for (int i = 0; i < 2; i++) {
        int64_t shown = baro_header_realtime_ns(baro_tape_header(tape), edge[i]);
        baro_tape_realtime_ns(tape, edge[i], &shown, NULL);
        buf_str(&b, i ? " to " : ", ");
        fmt_time_zone(&b, shown, zone_east(shown), true);
    }
    buf_byte(&b, 0);
    int code = error_set(err, BARO_E_RANGE, "%s%.40s is %s; the tape has %s", option, text,
                         is_before ? "before the beginning" : "after the end", b.failed ? "" : (const char *)b.at);
    buf_done(&b);
    return code;
}

/* The sample that is nearest to the time, of two the earlier one, unless there is a gap. */
static int nearest_sample(struct baro_tape *tape, uint64_t *t_ns, struct baro_error *err)
{
    struct baro_record r;
    uint64_t at_ns = *t_ns, least_ns = UINT64_MAX;
    int code = baro_tape_seek(tape, at_ns, &r, err);
    while (code > 0) {
        uint64_t off_ns = r.t_ns < at_ns ? at_ns - r.t_ns : r.t_ns - at_ns;
        bool is_sample = r.kind == BARO_RECORD_SAMPLE;
        if (is_sample && off_ns < least_ns && off_ns <= GAP_LEAST) {
            least_ns = off_ns;
            *t_ns = r.t_ns;
        }
        if (is_sample && r.t_ns >= at_ns)
            return 0;
        code = baro_tape_next(tape, &r, err);
    }
    return code;
}

int stretch_edges(struct stretch *s, struct baro_tape *tape, struct baro_error *err)
{
    uint64_t first_ns = 0, last_ns = 0;
    int code = baro_tape_range(tape, &first_ns, &last_ns, err);
    if (code <= 0)
        return code < 0 ? code : error_set(err, BARO_E_RANGE, "the tape has no sample");
    s->begins_later = s->from_ns > first_ns;
    s->ends_earlier = s->to_ns < last_ns;
    if (!s->begins_later)
        s->from_ns = 0;
    if (s->from_ns > last_ns || s->to_ns < first_ns || s->from_ns > s->to_ns)
        return error_set(err, BARO_E_RANGE, "the tape has no sample there");
    return 0;
}

int stretch_find(struct stretch *ret, struct baro_tape *tape, const char *from_text, const char *to_text,
                 struct baro_error *err)
{
    uint64_t first_ns = 0, last_ns = 0;
    struct moment from = {.kind = MOMENT_START}, to = {.kind = MOMENT_END};
    *ret = (struct stretch){.to_ns = UINT64_MAX};
    int code = baro_tape_range(tape, &first_ns, &last_ns, err);
    if (code <= 0)
        return code < 0 ? code : error_set(err, BARO_E_RANGE, "the tape has no sample");
    code = from_text ? parse_edge("--from", from_text, tape, last_ns, &from, err) : 0;
    if (code == 0 && to_text)
        code = parse_edge("--to", to_text, tape, last_ns, &to, err);
    if (code < 0)
        return code;
    /* From 12:25 to 12:40, at 12:30: the last 12:40 was yesterday. */
    if (from.kind == MOMENT_TIME && to.kind == MOMENT_TIME && to.is_of_a_day && to.ns < from.ns)
        to.ns += (int64_t)DAY_NS;
    if (from.kind == MOMENT_TIME && from.ns > 0)
        ret->from_ns = (uint64_t)from.ns;
    if (from.kind == MOMENT_END)
        ret->from_ns = last_ns;
    if (to.kind == MOMENT_START || (to.kind == MOMENT_TIME && to.ns < 0))
        ret->to_ns = 0;
    else if (to.kind == MOMENT_TIME)
        ret->to_ns = (uint64_t)to.ns;
    if (ret->from_ns > last_ns && ret->from_ns - last_ns >= from.unit_ns)
        return nothing_there("--from ", from_text, tape, first_ns, last_ns, false, err);
    if (to.kind == MOMENT_TIME && to.ns < (int64_t)first_ns && (int64_t)first_ns - to.ns >= (int64_t)to.unit_ns)
        return nothing_there("--to ", to_text, tape, first_ns, last_ns, true, err);
    if (ret->to_ns < ret->from_ns)
        return error_set(err, BARO_E_RANGE, "--to is not after --from: %.40s, %.40s", to_text, from_text);
    ret->from_ns = ret->from_ns > last_ns ? last_ns : ret->from_ns;
    ret->to_ns = ret->to_ns < first_ns ? first_ns : ret->to_ns;
    code = ret->from_ns > first_ns ? nearest_sample(tape, &ret->from_ns, err) : 0;
    if (code >= 0 && ret->to_ns < last_ns)
        code = nearest_sample(tape, &ret->to_ns, err);
    return code < 0 ? code : stretch_edges(ret, tape, err);
}

/* ---- around a moment ---- */

void stretch_time(char ret[STRETCH_TIME_SIZE], uint64_t t_ns)
{
    snprintf(ret, STRETCH_TIME_SIZE, "+%llu.%09llus", (unsigned long long)(t_ns / NS_PER_SEC),
             (unsigned long long)(t_ns % NS_PER_SEC));
}

/* Finds the sample's time that a moment stands for. Returns 1; 0: the tape has no sample, or it is the peak; or a
 * negative code. */
static int find_moment(struct baro_tape *tape, const char *at, struct moment *ret, uint64_t *ret_ns, uint64_t *ret_last,
                       struct baro_error *err)
{
    uint64_t first_ns = 0, last_ns = 0;
    int code = baro_tape_range(tape, &first_ns, &last_ns, err);
    if (code > 0)
        code = moment_on_tape(at, tape, 0, last_ns, ret, err) < 0 ? -1 : 1;
    if (code <= 0 || ret->kind == MOMENT_PEAK)
        return code < 0 ? code : 0;
    uint64_t t_ns = ret->kind == MOMENT_START ? first_ns
                    : ret->kind == MOMENT_END ? last_ns
                    : ret->ns < 0             ? 0
                                              : (uint64_t)ret->ns;
    bool is_before = t_ns < first_ns && first_ns - t_ns >= ret->unit_ns;
    if (is_before || (t_ns > last_ns && t_ns - last_ns >= ret->unit_ns))
        return nothing_there("--at ", at, tape, first_ns, last_ns, is_before, err);
    *ret_ns = t_ns < first_ns ? first_ns : t_ns > last_ns ? last_ns : t_ns;
    *ret_last = last_ns - first_ns;
    return 1;
}

int stretch_moment(struct baro_tape *tape, const char *at, uint64_t *ret_from_ns, uint64_t *ret_to_ns,
                   struct baro_error *err)
{
    struct moment m;
    uint64_t t_ns = 0, first_ns, length_ns, half_ns = 15 * NS_PER_SEC;
    int code = find_moment(tape, at, &m, &t_ns, &length_ns, err);
    if (code <= 0)
        return code < 0 ? code : error_set(err, BARO_E_RANGE, "%.40s is no time of the tape", at);
    bool is_minute = m.unit_ns >= 60 * NS_PER_SEC;
    *ret_from_ns = is_minute || t_ns < 2 * half_ns ? t_ns : t_ns - half_ns;
    *ret_to_ns = is_minute ? t_ns + 60 * NS_PER_SEC : t_ns + half_ns;
    if (code > 0 && baro_tape_range(tape, &first_ns, &length_ns, NULL) > 0 && *ret_from_ns <= first_ns)
        return error_set(err, BARO_E_RANGE, "nothing was recorded before %.40s that it could be compared with", at);
    return 0;
}

/* Finds the samples between which a moment is, if they are so far from each other that it has to be said. */
static int find_hole(struct baro_tape *tape, uint64_t t_ns, uint64_t *ret_before, uint64_t *ret_after, char ret[128],
                     struct baro_error *err)
{
    struct baro_record r;
    struct buf b = {0};
    int code = baro_tape_seek(tape, t_ns, &r, err);
    if (code <= 0 || r.t_ns >= t_ns)
        return code;
    uint64_t before_ns = r.t_ns;
    while ((code = baro_tape_next(tape, &r, err)) > 0 && r.kind != BARO_RECORD_SAMPLE)
        ;
    if (code <= 0 || r.t_ns - before_ns <= GAP_LEAST)
        return code;
    *ret_before = before_ns;
    *ret_after = r.t_ns;
    buf_str(&b, "the tape has no sample between ");
    fmt_moment(&b, before_ns);
    buf_str(&b, " and ");
    fmt_moment(&b, r.t_ns);
    snprintf(ret, 128, "%.*s", b.failed ? 0 : (int)b.len, (const char *)b.at);
    buf_done(&b);
    return 1;
}

static int around(struct baro_tape *tape, const char *at, uint64_t before_ns, uint64_t after_ns,
                  struct stretch_around *ret, struct baro_error *err)
{
    struct moment m;
    uint64_t t_ns = 0, length_ns = 0, next_ns = 0;
    int code = find_moment(tape, at, &m, &t_ns, &length_ns, err);
    uint64_t sample_ns = t_ns;
    if (code > 0 && find_hole(tape, t_ns, &sample_ns, &next_ns, ret->hole, err) < 0)
        return -1;
    if (code <= 0 || length_ns < 2 * (before_ns + after_ns))
        return code < 0 ? code : 0;
    stretch_time(ret->at, t_ns + moment_tolerance(&m));
    stretch_time(ret->from, sample_ns > before_ns ? sample_ns - before_ns : 0);
    stretch_time(ret->to, max_u64(t_ns + after_ns, next_ns));
    return 1;
}

int stretch_around(const char *path, const char *at, uint64_t before_ns, uint64_t after_ns, struct stretch_around *ret,
                   struct baro_error *err)
{
    struct baro_tape *tape;
    int code = baro_tape_open(&tape, path, err);
    if (code < 0)
        return code;
    code = baro_header_segment(baro_tape_header(tape)) ? around(tape, at, before_ns, after_ns, ret, err) : 0;
    baro_tape_close(tape);
    return code;
}

/* ---- copying ---- */

struct copying {
    const struct stretch *stretch;
    const struct baro_timeline *timeline; /* NULL: not known */
    struct baro_writer *writer;
    size_t samples;
};

/* Position of the first item that begins at t_ns or later. */
static size_t first_item_at(const struct baro_timeline *timeline, uint64_t t_ns)
{
    size_t from = 0, to = baro_timeline_count(timeline);
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (baro_timeline_get(timeline, middle)->begin_ns < t_ns)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Does the event begin a phase that reaches into the stretch? */
static bool reaches_in(const struct copying *c, const struct baro_event *e)
{
    const struct baro_timeline_item *item;
    size_t i = c->timeline ? first_item_at(c->timeline, baro_event_t_ns(e)) : 0;
    while (c->timeline && (item = baro_timeline_get(c->timeline, i++)) && item->begin_ns == baro_event_t_ns(e))
        if (item->kind == BARO_TIMELINE_PHASE && (item->is_open || item->end_ns >= c->stretch->from_ns) &&
            strcmp(item->name, baro_event_text(e)) == 0)
            return true;
    return false;
}

/* Is an event from before the stretch needed to read it? It may begin a phase that reaches into the stretch, or say
 * what is not known in the recording: after "kcmp(2) is refused ..." sums of memory are upper bounds. Steps of the
 * clock are in the header of the copy. */
static bool is_needed_later(const struct copying *c, const struct baro_event *e)
{
    switch (baro_event_kind_of(e)) {
    case BARO_EVENT_SOURCE:
    case BARO_EVENT_WARNING: return true;
    case BARO_EVENT_PHASE_BEGIN: return reaches_in(c, e);
    default: return false;
    }
}

/* Copies what is needed of the time before the stretch, from a time on (0: the start): up to the stretch, or that of
 * the beginning alone. */
static int copy_needed(struct copying *c, struct baro_tape *tape, uint64_t since_ns, bool is_all,
                       struct baro_error *err)
{
    struct baro_record r;
    uint64_t from_ns = c->stretch->from_ns, until_ns = from_ns;
    int code = since_ns ? baro_tape_seek(tape, since_ns, &r, err) : baro_tape_rewind(tape, err);
    while (code >= 0 && (code = baro_tape_next(tape, &r, err)) > 0) {
        if (r.kind == BARO_RECORD_SAMPLE && !is_all)
            until_ns = min_u64(until_ns, r.t_ns + LATE_NS);
        if (r.kind == BARO_RECORD_SAMPLE && r.t_ns >= until_ns)
            return 0;
        if (r.kind == BARO_RECORD_EVENT && r.t_ns < from_ns && is_needed_later(c, r.u.event))
            code = baro_writer_add(c->writer, &r, err);
    }
    return code < 0 ? code : 0;
}

static int copy_before(struct copying *c, struct baro_tape *tape, struct baro_error *err)
{
    uint64_t known_ns = c->stretch->known_ns;
    int code = known_ns || !c->timeline ? copy_needed(c, tape, 0, false, err) : 0;
    return code < 0 || !c->timeline ? code : copy_needed(c, tape, known_ns, true, err);
}

/* Exits and events are written before the sample that follows them. A few are written after it: a mark that was read
 * late, or an exit that waited a second for its sockets (recorder/job/late.c). So the tape is read a little beyond the
 * end of the stretch. */
static int copy_within(struct copying *c, struct baro_tape *tape, struct baro_error *err)
{
    const struct stretch *s = c->stretch;
    struct baro_record r = {.kind = BARO_RECORD_NONE};
    int code = s->from_ns ? baro_tape_seek(tape, s->from_ns, &r, err) : baro_tape_rewind(tape, err);
    if (code > 0) { /* the limits that held there */
        struct baro_record limits = {
            .kind = BARO_RECORD_LIMITS, .t_ns = s->from_ns, .u.limits = baro_tape_limits(tape)};
        int added = baro_writer_add(c->writer, &limits, err);
        code = added < 0 ? added : code;
    }
    if (code == 0)
        code = baro_tape_next(tape, &r, err);
    for (; code > 0; code = baro_tape_next(tape, &r, err)) {
        bool is_sample = r.kind == BARO_RECORD_SAMPLE;
        if (is_sample && r.t_ns > s->to_ns && r.t_ns - s->to_ns > LATE_NS)
            return 0;
        if (r.t_ns > s->to_ns || (r.t_ns < s->from_ns && r.kind != BARO_RECORD_LIMITS))
            continue;
        c->samples += is_sample;
        int added = baro_writer_add(c->writer, &r, err);
        if (added < 0)
            return added;
    }
    return code;
}

int stretch_copy(const struct stretch *s, struct baro_tape *tape, const struct baro_timeline *timeline,
                 struct baro_writer *w, size_t *ret_samples, struct baro_error *err)
{
    struct copying c = {.stretch = s, .timeline = timeline, .writer = w};
    int code = s->from_ns ? copy_before(&c, tape, err) : 0;
    if (code >= 0)
        code = copy_within(&c, tape, err);
    if (code >= 0)
        code = baro_writer_finish(w, err);
    *ret_samples = c.samples;
    return code;
}

struct baro_writer_options stretch_options(const struct stretch *s)
{
    struct baro_writer_options options = BARO_WRITER_OPTIONS_INIT;
    options.from_ns = s->begins_later ? s->from_ns : 0;
    options.is_stretch = s->begins_later || s->ends_earlier;
    return options;
}

/* ---- as a tape ---- */

/* Bytes of the file, or of the files in the folder of segments. */
static uint64_t bytes_of(const char *path)
{
    struct baro_runs *runs;
    struct stat st;
    uint64_t bytes = 0;
    if (stat(path, &st) < 0)
        return 0;
    if (!S_ISDIR(st.st_mode))
        return (uint64_t)st.st_size;
    if (baro_runs_list_folder(&runs, path, NULL) < 0)
        return 0;
    for (size_t i = 0; i < baro_runs_count(runs); i++)
        bytes += baro_runs_bytes(runs, i);
    baro_runs_free(runs);
    return bytes;
}

static int make_file(const char *path, const struct stretch *s, uint64_t length_ns)
{
    const char *folder = getenv("TMPDIR");
    uint64_t to_ns = s->to_ns < length_ns ? s->to_ns : length_ns, part_ns = to_ns > s->from_ns ? to_ns - s->from_ns : 0;
    double share = length_ns ? (double)part_ns / (double)length_ns : 1;
    int fd = -1;
    if ((double)bytes_of(path) * share > MEMORY_MOST)
        fd = open(folder && *folder ? folder : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        fd = memfd_create("baro", MFD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Finds the phases that reach into the stretch. A month of segments is not read for that: of a folder it is as much of
 * the time before as the stretch is long, and ten minutes at least. */
static int find_phases(struct stretch *s, struct baro_tape *tape, struct baro_fold **ret, struct baro_error *err)
{
    struct baro_record r;
    uint64_t first_ns, last_ns = 0;
    if (!baro_header_segment(baro_tape_header(tape)))
        return baro_fold_of_tape(tape, BARO_FOLD_TIMELINE, ret, err);
    baro_tape_range(tape, &first_ns, &last_ns, NULL);
    uint64_t back_ns = max_u64(BACK_LEAST, min_u64(s->to_ns, last_ns) - s->from_ns);
    s->known_ns = s->from_ns > back_ns + 2 * LATE_NS ? s->from_ns - back_ns : 0;
    int code = baro_fold_new(ret, baro_tape_header(tape), BARO_FOLD_TIMELINE, err);
    if (code >= 0)
        code = s->known_ns ? baro_tape_seek(tape, s->known_ns, &r, err) : baro_tape_rewind(tape, err);
    while (code >= 0 && (code = baro_tape_next(tape, &r, err)) > 0 && r.t_ns < s->from_ns + LATE_NS) {
        if (r.t_ns < s->from_ns)
            baro_fold_add(*ret, &r);
    }
    return code < 0 ? code : baro_fold_finish(*ret, BARO_FOLD_TIMELINE, err);
}

static int write_to(int fd, struct stretch *s, struct baro_tape *tape, struct baro_error *err)
{
    struct baro_writer_options options = stretch_options(s);
    struct baro_writer *w;
    struct baro_fold *fold = NULL;
    size_t samples = 0;
    int code = s->begins_later ? find_phases(s, tape, &fold, err) : 0;
    if (code >= 0 && (code = baro_writer_new_fd(&w, fd, tape, &options, err)) >= 0) {
        code = stretch_copy(s, tape, fold ? baro_fold_timeline(fold) : NULL, w, &samples, err);
        baro_writer_free(w);
    }
    baro_fold_free(fold);
    return code >= 0 && !samples ? error_set(err, BARO_E_RANGE, "the tape has no sample there") : code;
}

/* Returns a descriptor or a negative code. */
static int copy_of(const char *path, const char *from, const char *to, struct baro_error *err)
{
    struct baro_tape *tape;
    struct stretch s;
    uint64_t first_ns, last_ns = 0;
    int code = baro_tape_open(&tape, path, err), fd = -1;
    if (code < 0)
        return code;
    code = stretch_find(&s, tape, from, to, err);
    if (code >= 0)
        code = baro_tape_range(tape, &first_ns, &last_ns, err);
    if (code >= 0 && (fd = make_file(path, &s, last_ns)) < 0)
        code = error_set(err, fd, "can't make a file for a stretch of %s: %s", path, strerror(-fd));
    if (code >= 0)
        code = write_to(fd, &s, tape, err);
    baro_tape_close(tape);
    if (code >= 0)
        return fd;
    fd_close(fd);
    return code;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

int stretch_open(const char *path, const char *from, const char *to, struct baro_tape **ret, struct baro_error *err)
{
    static struct {
        char path[PATH_MAX];
        const char *from, *to;
        int fd;
    } copies[COPIES];
    static size_t n;
    for (size_t i = 0; i < n && i < COPIES; i++) {
        if (strcmp(copies[i].path, path) == 0 && same_text(copies[i].from, from) && same_text(copies[i].to, to))
            return baro_tape_open_fd(ret, copies[i].fd, path, err);
    }
    int fd = copy_of(path, from, to, err);
    if (fd < 0)
        return fd;
    if (n >= COPIES)
        fd_close(copies[n % COPIES].fd);
    snprintf(copies[n % COPIES].path, PATH_MAX, "%s", path);
    copies[n % COPIES].from = from;
    copies[n % COPIES].to = to;
    copies[n++ % COPIES].fd = fd;
    return baro_tape_open_fd(ret, fd, path, err);
}
