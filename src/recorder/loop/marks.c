/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/loop/marks.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "recorder/loop/recorder.h"
#include "recorder/marks/mark.h"
#include "recorder/marks/marks_file.h"

/* ---- events ---- */

/* A line of $BARO_EVENTS becomes an event on the tape. */

/* Returns realtime minus monotonic. The process may lose its core between the reads of the two clocks, so the shortest
 * of three readings counts. */
static int64_t mark_realtime_offset_ns(void)
{
    int64_t offset = 0;
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        uint64_t before = clock_monotonic_ns();
        int64_t wall = clock_realtime_ns();
        uint64_t took = clock_monotonic_ns() - before;
        if (took >= shortest)
            continue;
        shortest = took;
        offset = wall - (int64_t)(before + took / 2);
    }
    return offset;
}

/* Has the mark no time that we understand? In another time namespace (time_namespaces(7)) CLOCK_MONOTONIC has an
 * offset, with which a mark would mostly be before the start or in the future: its time is then that at which it came.
 */
static bool is_untimed(const struct recorder *r, const struct mark *m)
{
    return m->clock == MARK_UNTIMED || (m->clock == MARK_MONOTONIC && (m->time_ns < r->header.start_monotonic_ns ||
                                                                       m->time_ns > clock_monotonic_ns()));
}

static uint64_t time_of(const struct recorder *r, const struct mark *m, const struct mark_came *came)
{
    uint64_t now = clock_monotonic_ns(), t = m->time_ns;
    if (is_untimed(r, m))
        return came->t_ns;
    if (m->clock == MARK_REALTIME) {
        int64_t monotonic = (int64_t)t - came->realtime_offset_ns;
        t = monotonic > 0 ? (uint64_t)monotonic : 0;
    }
    return recorder_since(r, t < now ? t : now);
}

/* The attributes with a meaning of their own come first. Returns how many there are, 2 at most. */
static size_t put_meaning(const struct recorder *r, const struct mark *m, const struct mark_came *came,
                          struct baro_attribute *to)
{
    size_t n = 0;
    if (m->kind == MARK_WHOLE)
        to[n++] =
            (struct baro_attribute){.name = ATTRIBUTE_DURATION, .type = BARO_ATTRIBUTE_UNSIGNED, .u64 = m->duration_ns};
    else if (*m->id)
        to[n++] = (struct baro_attribute){.name = ATTRIBUTE_PHASE_ID, .type = BARO_ATTRIBUTE_TEXT, .text = m->id};
    if (is_untimed(r, m) && came->error_ns)
        to[n++] = (struct baro_attribute){
            .name = ATTRIBUTE_TIME_ERROR, .type = BARO_ATTRIBUTE_UNSIGNED, .u64 = came->error_ns};
    return n;
}

static void mark_put(struct recorder *r, const struct mark *m, const struct mark_came *came)
{
    static const enum baro_event_kind kinds[] = {[MARK_POINT] = BARO_EVENT_MARK,
                                                 [MARK_BEGIN] = BARO_EVENT_PHASE_BEGIN,
                                                 [MARK_END] = BARO_EVENT_PHASE_END,
                                                 [MARK_WHOLE] = BARO_EVENT_PHASE_END};
    struct baro_attribute all[ATTRIBUTES_MAX];
    size_t n = put_meaning(r, m, came, all);
    memcpy(&all[n], m->attribute, m->n_attributes * sizeof(*all));
    n += m->n_attributes;
    if (m->kind == MARK_TASK || m->kind == MARK_TASK_END) {
        if (m->kind == MARK_TASK)
            tasks_run(r, m->name, (struct baro_key){m->pid, m->start_ticks}, m->itself);
        else
            tasks_ended(r, m->name, m->wait_status);
        return;
    }
    const struct baro_event e = {.t_ns = time_of(r, m, came),
                                 .kind = kinds[m->kind],
                                 .key = {m->pid, m->pid ? m->start_ticks : 0},
                                 .text = m->name,
                                 .n_attributes = n,
                                 .attribute = all};
    r->marks.edge = r->marks.edge || m->kind == MARK_BEGIN || m->kind == MARK_END;
    r->job.sink.event(r->job.sink.context, &e);
}

#define MARKS_READ 65536u       /* bytes in one turn */
#define MARKS_BEHIND (4u << 20) /* a reader that is this far behind leaves lines out */
#define MARKS_FREE (1u << 20)   /* this many bytes that were read are given back at once */
#define TAIL 64u                /* bytes that were read last */
#define BUFFER (2 * MARK_LINE)
#define LINES_AT_ONCE 4096u
#define LINES_PER_SECOND 1000u
#define FILE_CLOCK_LAG (4 * NS_PER_MS)    /* 250 Hz */
#define TIME_ERROR_LEAST (10 * NS_PER_MS) /* an error below that is not reported */

struct marks_buffer {
    char at[BUFFER];
    size_t len;       /* bytes of a line that has not ended yet */
    uint64_t line_ns; /* when that line began to come */
    char tail[TAIL];  /* the text before the offset when it was read: a rewritten file has other bytes there */
    size_t tail_len;
    struct mark mark;
};

/* LINES_AT_ONCE, and LINES_PER_SECOND in the long run. */
static bool take_token(struct marks *m, uint64_t now_ns)
{
    uint64_t more = (now_ns - m->tokens_ns) * LINES_PER_SECOND / NS_PER_SEC;
    if (more) {
        m->tokens = m->tokens + more < LINES_AT_ONCE ? m->tokens + more : LINES_AT_ONCE;
        m->tokens_ns = now_ns;
    }
    if (!m->tokens)
        return false;
    m->tokens--;
    return true;
}

static void note_bad(struct marks *m, struct span line)
{
    if (!m->bad_lines++)
        snprintf(m->first_bad, sizeof(m->first_bad), "%.*s", line.len < 40 ? (int)line.len : 40, line.at);
}

static void note_left_out(struct marks *m, const struct mark *from)
{
    if (from->left_out && !m->left_out)
        snprintf(m->first_left_out, sizeof(m->first_left_out), "%s of \"%.40s\", %s", from->first_left_out, from->name,
                 from->why_left_out);
    m->left_out += from->left_out;
}

static void take_line(struct recorder *r, struct span line, const struct mark_came *came)
{
    struct marks *m = &r->marks;
    if (!take_token(m, sampler_now(&r->sampler))) {
        m->lost_lines++;
        return;
    }
    switch (mark_parse(line, &m->buffer->mark)) {
    case MARK_GOOD:
        note_left_out(m, &m->buffer->mark);
        mark_put(r, &m->buffer->mark, came);
        break;
    case MARK_BAD: note_bad(m, line); break;
    case MARK_EMPTY: break;
    }
}

/* ---- bytes become lines ---- */

/* Takes a line that has ended. If it came in two parts, its time is the time at which the first part came. */
static void end_line(struct recorder *r, struct span line, const struct mark_came *came, bool is_first)
{
    struct mark_came at = *came;
    struct marks_buffer *b = r->marks.buffer;
    if (is_first && b->line_ns && b->line_ns < at.t_ns)
        at = (struct mark_came){b->line_ns, 0, came->realtime_offset_ns};
    b->line_ns = 0;
    if (!r->marks.skipping)
        take_line(r, line, &at);
    r->marks.skipping = false;
}

static void take_lines(struct recorder *r, const struct mark_came *came)
{
    struct marks_buffer *b = r->marks.buffer;
    struct span rest = span_of(b->at, b->len);
    bool is_first = true;
    for (const char *end; (end = memchr(rest.at, '\n', rest.len)) != NULL; is_first = false) {
        size_t len = (size_t)(end - rest.at);
        end_line(r, span_of(rest.at, len), came, is_first);
        rest = span_of(end + 1, rest.len - len - 1);
    }
    if (rest.len > MARK_LINE) {
        uint64_t bad = r->marks.bad_lines;
        bool begins = !r->marks.skipping;
        end_line(r, span_of(rest.at, MARK_LINE), came, is_first);
        if (begins && r->marks.bad_lines == bad) /* text, of which the beginning is a mark */
            note_bad(&r->marks, span_of(rest.at, MARK_LINE));
        r->marks.skipping = true;
        rest.len = 0;
    }
    b->line_ns = rest.len && !b->line_ns ? came->t_ns : rest.len ? b->line_ns : 0;
    memmove(b->at, rest.at, rest.len);
    b->len = rest.len;
}

/* ---- the file ---- */

/* Frees the part of the file that was read, so that a job that writes much fills no disk. The last TAIL bytes stay, to
 * be compared. */
static void give_back(struct recorder *r)
{
    struct marks *m = &r->marks;
    struct stat st;
    if (!r->options->marks->is_ours || m->offset < m->freed + MARKS_FREE)
        return;
    uint64_t to = m->offset - TAIL;
    fallocate(m->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)m->freed, (off_t)(to - m->freed));
    m->freed = to;
    if (fstat(m->fd, &st) == 0)
        m->written = st.st_mtim;
}

/* Returns when the file was last written to. The clock of file systems lags behind by at most one tick of the kernel.
 */
static uint64_t written_ns(const struct recorder *r, const struct stat *st, uint64_t now_ns)
{
    int64_t written = (int64_t)st->st_mtim.tv_sec * (int64_t)NS_PER_SEC + st->st_mtim.tv_nsec + (int64_t)FILE_CLOCK_LAG;
    int64_t age = clock_realtime_ns() - written;
    uint64_t t = age > 0 && (uint64_t)age < now_ns ? now_ns - (uint64_t)age : now_ns;
    return t > r->marks.read_ns ? t : r->marks.read_ns;
}

/* Keeps the last TAIL bytes. The n bytes at the end of the buffer have just been read. */
static void keep_tail(struct marks_buffer *b, size_t n)
{
    size_t keep = n < TAIL ? TAIL - n : 0, add = n < TAIL ? n : TAIL;
    keep = keep < b->tail_len ? keep : b->tail_len;
    memmove(b->tail, b->tail + b->tail_len - keep, keep);
    memcpy(b->tail + keep, b->at + b->len - add, add);
    b->tail_len = keep + add;
}

static bool has_tail(const struct marks *m)
{
    const struct marks_buffer *b = m->buffer;
    char now[TAIL];
    return pread(m->fd, now, b->tail_len, (off_t)(m->offset - b->tail_len)) == (ssize_t)b->tail_len &&
           memcmp(now, b->tail, b->tail_len) == 0;
}

static bool have_buffer(struct marks *m)
{
    m->buffer = m->buffer ? m->buffer : calloc(1, sizeof(*m->buffer));
    m->failed = !m->buffer;
    return m->buffer != NULL;
}

/* Returns what happened to the file since the last call. Without inotify(7) the answer is that it may have been written
 * to. */
static uint32_t take_notices(struct marks *m)
{
    struct inotify_event e[64]; /* without names; equal ones are one in the queue */
    uint32_t seen = m->watch_fd < 0 ? IN_MODIFY : 0;
    ssize_t n;
    while (m->watch_fd >= 0 && (n = read(m->watch_fd, e, sizeof(e))) > 0) {
        for (size_t i = 0; i < (size_t)n / sizeof(*e); i++)
            seen |= e[i].mask;
    }
    m->removed = m->removed || (seen & IN_MOVE_SELF);
    return seen;
}

/* A file that became shorter was truncated ("echo > FILE"); it may have grown again since. Lines that came between the
 * last reading and the truncation are lost. If the file was written to, but has the same length and the same end as
 * before, it is not known whether its last line is a new one. (touch(1) changes the time alone.) */
static void check_rewritten(struct marks *m, const struct stat *st)
{
    bool is_later = st->st_mtim.tv_sec != m->written.tv_sec || st->st_mtim.tv_nsec != m->written.tv_nsec;
    uint64_t size = (uint64_t)st->st_size;
    bool is_same = size == m->offset && !(is_later && m->modified);
    if (is_same || !have_buffer(m))
        return;
    bool is_anew = size < m->offset || !has_tail(m);
    m->rewritten += is_anew || size == m->offset;
    if (!is_anew)
        return;
    m->offset = m->freed = 0;
    m->buffer->len = m->buffer->tail_len = 0;
    m->skipping = false;
}

static void fall_behind(struct marks *m, uint64_t size)
{
    uint64_t to = size - MARKS_READ;
    m->lost_bytes += to - m->offset;
    m->offset = to;
    m->buffer->len = m->buffer->tail_len = 0;
    m->skipping = true; /* from the middle of a line on */
}

static void read_until(struct recorder *r, uint64_t end, const struct mark_came *came)
{
    struct marks *m = &r->marks;
    struct marks_buffer *b = m->buffer;
    while (m->offset < end) {
        size_t room = sizeof(b->at) - b->len, most = end - m->offset < room ? (size_t)(end - m->offset) : room;
        ssize_t n = pread(m->fd, b->at + b->len, most, (off_t)m->offset);
        if (n <= 0)
            return;
        m->offset += (uint64_t)n;
        b->len += (size_t)n;
        keep_tail(b, (size_t)n);
        take_lines(r, came);
    }
}

/* woken: the first write since the last turn has woken the recorder, so all new lines were written just now. */
static void read_new(struct recorder *r, bool woken, uint64_t most)
{
    struct marks *m = &r->marks;
    struct stat st;
    m->modified |= (take_notices(m) & IN_MODIFY) != 0;
    if (m->failed || fstat(m->fd, &st) < 0)
        return;
    uint64_t now = sampler_now(&r->sampler), size = (uint64_t)st.st_size;
    m->removed = m->removed || (st.st_nlink == 0 && !r->end.finishing);
    if (m->offset)
        check_rewritten(m, &st);
    m->written = st.st_mtim;
    m->modified = false;
    if (size != m->offset && have_buffer(m)) {
        struct mark_came came = {.t_ns = written_ns(r, &st, now), .realtime_offset_ns = mark_realtime_offset_ns()};
        uint64_t error = came.t_ns - m->read_ns;
        came.error_ns = woken || error < TIME_ERROR_LEAST ? 0 : error;
        if (size - m->offset > MARKS_BEHIND)
            fall_behind(m, size);
        read_until(r, size - m->offset < most ? size : m->offset + most, &came);
        give_back(r);
    }
    m->read_ns = now;
}

/* ---- turns ---- */

static void watch_file(struct recorder *r)
{
    struct marks *m = &r->marks;
    m->watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)m->watch_fd};
    if (m->watch_fd < 0)
        return;
    /* IN_ATTRIB: also when it is removed, while it is open */
    if (inotify_add_watch(m->watch_fd, r->options->marks->path, IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF) < 0 ||
        epoll_ctl(r->all->epoll_fd, EPOLL_CTL_ADD, m->watch_fd, &e) < 0)
        m->watch_fd = fd_close(m->watch_fd);
    m->armed = m->watch_fd >= 0;
}

static void arm(struct recorder *r)
{
    struct marks *m = &r->marks;
    struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)m->watch_fd};
    m->modified |= (take_notices(m) & IN_MODIFY) != 0;
    m->armed = epoll_ctl(r->all->epoll_fd, EPOLL_CTL_MOD, m->watch_fd, &e) == 0;
}

void marks_open(struct recorder *r)
{
    r->marks = (struct marks){.fd = marks_fd(r->options->marks), .watch_fd = -1, .tokens = LINES_AT_ONCE};
    struct stat st;
    if (r->marks.fd < 0 || fstat(r->marks.fd, &st) < 0)
        return;
    r->marks.written = st.st_mtim;
    if (!r->options->marks->is_ours)
        r->marks.offset = (uint64_t)st.st_size; /* lines that were there before are not of this recording */
}

void marks_look(struct recorder *r)
{
    struct stat st;
    if (r->marks.fd >= 0 && r->wrapper.started && fstat(r->marks.fd, &st) == 0 &&
        (uint64_t)st.st_size != r->marks.offset)
        read_new(r, r->marks.armed, MARKS_READ);
}

void marks_ready(struct recorder *r)
{
    r->marks.armed = false;
    read_new(r, true, MARKS_READ);
    recorder_flush(r);
    recorder_sample_soon(r);
}

void marks_turn(struct recorder *r)
{
    struct marks *m = &r->marks;
    if (m->fd < 0 || m->armed)
        return;
    if (!m->watched)
        watch_file(r);
    else if (m->watch_fd >= 0)
        arm(r); /* first, so that no line is missed */
    m->watched = true;
    read_new(r, false, MARKS_READ);
}

static void report_lost(struct recorder *r)
{
    const struct marks *m = &r->marks;
    struct buf text = {0};
    if (m->lost_lines && m->lost_bytes)
        buf_printf(&text, "; %llu lines and %llu bytes came too fast", (unsigned long long)m->lost_lines,
                   (unsigned long long)m->lost_bytes);
    else if (m->lost_lines)
        buf_printf(&text, "; %llu lines came too fast", (unsigned long long)m->lost_lines);
    else if (m->lost_bytes)
        buf_printf(&text, "; %llu bytes came too fast", (unsigned long long)m->lost_bytes);
    if (m->bad_lines)
        buf_printf(&text, "; %llu lines are too long or no JSON, the first begins with %s",
                   (unsigned long long)m->bad_lines, m->first_bad);
    if (m->left_out)
        buf_printf(&text, "; %llu values, the first is %s", (unsigned long long)m->left_out, m->first_left_out);
    if (m->rewritten)
        buf_printf(&text, "; lines that were not read before the file was truncated or overwritten (%llu x)",
                   (unsigned long long)m->rewritten);
    if (m->removed)
        buf_str(&text, "; the file was removed or renamed, and later lines are not in it");
    buf_byte(&text, 0);
    if (text.len > 1 && !text.failed) {
        char line[512];
        snprintf(line, sizeof(line), "%s: left out: %s", r->options->marks->is_ours ? "$BARO_EVENTS" : "--events",
                 (const char *)text.at + 2);
        recorder_event(r, BARO_EVENT_WARNING, NULL, m->bad_lines + m->left_out + m->lost_lines, line);
    }
    buf_done(&text);
}

void marks_finish(struct recorder *r)
{
    struct marks *m = &r->marks;
    if (m->fd < 0)
        return;
    read_new(r, m->armed, MARKS_BEHIND);
    if (m->buffer && m->buffer->len) {
        m->buffer->at[m->buffer->len++] = '\n'; /* the last line may have none: room is left for it */
        take_lines(r, &(struct mark_came){sampler_now(&r->sampler), 0, mark_realtime_offset_ns()});
    }
    report_lost(r);
}

void marks_close(struct recorder *r)
{
    r->marks.fd = fd_close(r->marks.fd);
    r->marks.watch_fd = fd_close(r->marks.watch_fd);
    free(r->marks.buffer);
    r->marks.buffer = NULL;
}
