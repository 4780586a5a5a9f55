/* SPDX-License-Identifier: Apache-2.0 */
#include "record/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "reading/mark.h"
#include "record/recorder.h"
#include "run/marks_file.h"

#define MARKS_READ 65536u          /* bytes in one turn */
#define MARKS_BEHIND (4u << 20)    /* a reader that is further behind leaves lines out */
#define MARKS_FREE (1u << 20)      /* so many bytes that were read are given back at once */
#define BUFFER (2 * MARK_LINE)
#define LINES_AT_ONCE 4096u
#define LINES_PER_SECOND 1000u
#define FILE_CLOCK_LAG (4 * NS_PER_MS)    /* 250 Hz */
#define TIME_ERROR_LEAST (10 * NS_PER_MS) /* an error below that is not reported */

struct marks_buffer {
    char at[BUFFER];
    size_t len;       /* bytes of a line that has not ended yet */
    uint64_t line_ns; /* when that line began to come */
    struct mark mark;
};

/* When lines without a time of their own came; and realtime minus monotonic, one value for all that is read at once,
 * so that lines keep their order. */
struct came {
    uint64_t t_ns, error_ns;
    int64_t realtime_offset_ns;
};

/* ---- a line becomes an event ---- */

/* The process may lose its core between the two clocks: the shortest of three readings counts. */
static int64_t realtime_offset_ns(void)
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

static uint64_t time_of(const struct recorder *r, const struct mark *m, const struct came *came)
{
    uint64_t now = clock_monotonic_ns(), t = m->time_ns;
    if (m->clock == MARK_UNTIMED)
        return came->t_ns;
    if (m->clock == MARK_REALTIME) {
        int64_t monotonic = (int64_t)t - came->realtime_offset_ns;
        t = monotonic > 0 ? (uint64_t)monotonic : 0;
    }
    return recorder_since(r, t < now ? t : now);
}

static void put(struct recorder *r, const struct mark *m, const struct came *came)
{
    static const enum baro_event_kind kinds[] = {[MARK_POINT] = BARO_EVENT_MARK,
                                                 [MARK_BEGIN] = BARO_EVENT_PHASE_BEGIN,
                                                 [MARK_END] = BARO_EVENT_PHASE_END,
                                                 [MARK_WHOLE] = BARO_EVENT_PHASE_END};
    struct baro_attribute all[MARK_ATTRIBUTES + 2];
    size_t n = m->n_attributes;
    memcpy(all, m->attribute, n * sizeof(*all));
    if (m->kind == MARK_WHOLE)
        all[n++] = (struct baro_attribute){
            .name = ATTRIBUTE_DURATION, .type = BARO_ATTRIBUTE_UNSIGNED, .u64 = m->duration_ns};
    else if (*m->id)
        all[n++] = (struct baro_attribute){.name = ATTRIBUTE_PHASE_ID, .type = BARO_ATTRIBUTE_TEXT, .text = m->id};
    if (m->clock == MARK_UNTIMED && came->error_ns)
        all[n++] = (struct baro_attribute){
            .name = ATTRIBUTE_TIME_ERROR, .type = BARO_ATTRIBUTE_UNSIGNED, .u64 = came->error_ns};
    if (m->kind == MARK_TASK || m->kind == MARK_TASK_END) {
        if (m->kind == MARK_TASK)
            tasks_run(r, m->name, (struct baro_key){m->pid, m->start_ticks});
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

static void take_line(struct recorder *r, struct span line, const struct came *came)
{
    struct marks *m = &r->marks;
    if (!take_token(m, sampler_now(&r->sampler))) {
        m->lost_lines++;
        return;
    }
    switch (mark_parse(line, &m->buffer->mark)) {
    case MARK_GOOD:
        put(r, &m->buffer->mark, came);
        break;
    case MARK_BAD:
        m->bad_lines++;
        break;
    case MARK_EMPTY:
        break;
    }
}

/* ---- bytes become lines ---- */

/* A line that came in two parts came when the first of them did. */
static void end_line(struct recorder *r, struct span line, const struct came *came, bool is_first)
{
    struct came at = *came;
    struct marks_buffer *b = r->marks.buffer;
    if (is_first && b->line_ns && b->line_ns < at.t_ns)
        at = (struct came){b->line_ns, 0, came->realtime_offset_ns};
    b->line_ns = 0;
    if (!r->marks.skipping)
        take_line(r, line, &at);
    r->marks.skipping = false;
}

static void take_lines(struct recorder *r, const struct came *came)
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
        r->marks.long_lines += !r->marks.skipping;
        end_line(r, span_of(rest.at, MARK_LINE), came, is_first);
        r->marks.skipping = true;
        rest.len = 0;
    }
    b->line_ns = rest.len && !b->line_ns ? came->t_ns : rest.len ? b->line_ns : 0;
    memmove(b->at, rest.at, rest.len);
    b->len = rest.len;
}

/* ---- the file ---- */

/* What was read is given back, so that a job that writes much fills no disk. */
static void give_back(struct recorder *r)
{
    struct marks *m = &r->marks;
    if (!r->options->marks->is_ours || m->offset < m->freed + MARKS_FREE)
        return;
    fallocate(m->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)m->freed, (off_t)(m->offset - m->freed));
    m->freed = m->offset;
}

/* When the file was last written to. The clock of file systems lags by one tick of the kernel's at most. */
static uint64_t written_ns(const struct recorder *r, const struct stat *st, uint64_t now_ns)
{
    int64_t written = (int64_t)st->st_mtim.tv_sec * (int64_t)NS_PER_SEC + st->st_mtim.tv_nsec + (int64_t)FILE_CLOCK_LAG;
    int64_t age = clock_realtime_ns() - written;
    uint64_t t = age > 0 && (uint64_t)age < now_ns ? now_ns - (uint64_t)age : now_ns;
    return t > r->marks.read_ns ? t : r->marks.read_ns;
}

/* A file that became shorter was written anew ("echo > FILE"). */
static void start_over(struct marks *m)
{
    m->offset = m->freed = 0;
    m->buffer->len = 0;
    m->skipping = false;
}

static void fall_behind(struct marks *m, uint64_t size)
{
    uint64_t to = size - MARKS_READ;
    m->lost_bytes += to - m->offset;
    m->offset = to;
    m->buffer->len = 0;
    m->skipping = true; /* from the middle of a line on */
}

static bool have_buffer(struct marks *m)
{
    m->buffer = m->buffer ? m->buffer : calloc(1, sizeof(*m->buffer));
    m->failed = !m->buffer;
    return m->buffer != NULL;
}

static void read_until(struct recorder *r, uint64_t end, const struct came *came)
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
        take_lines(r, came);
    }
}

/* woken: by the first write since the last turn, so all was written just now. */
static void read_new(struct recorder *r, bool woken, uint64_t most)
{
    struct marks *m = &r->marks;
    struct stat st;
    if (m->failed || fstat(m->fd, &st) < 0)
        return;
    uint64_t now = sampler_now(&r->sampler), size = (uint64_t)st.st_size;
    m->removed = m->removed || (st.st_nlink == 0 && !r->finishing);
    if (size != m->offset && have_buffer(m)) {
        struct came came = {.t_ns = written_ns(r, &st, now), .realtime_offset_ns = realtime_offset_ns()};
        uint64_t error = came.t_ns - m->read_ns;
        came.error_ns = woken || error < TIME_ERROR_LEAST ? 0 : error;
        if (size < m->offset)
            start_over(m);
        if (size - m->offset > MARKS_BEHIND)
            fall_behind(m, size);
        read_until(r, size - m->offset < most ? size : m->offset + most, &came);
        give_back(r);
    }
    m->read_ns = now;
}

/* ---- turns ---- */

static void watch(struct recorder *r)
{
    struct marks *m = &r->marks;
    m->watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)m->watch_fd};
    if (m->watch_fd < 0)
        return;
    /* IN_ATTRIB: also when it is removed, while it is open */
    if (inotify_add_watch(m->watch_fd, r->options->marks->path, IN_MODIFY | IN_ATTRIB) < 0 ||
        epoll_ctl(r->all->epoll_fd, EPOLL_CTL_ADD, m->watch_fd, &e) < 0)
        m->watch_fd = fd_close(m->watch_fd);
    m->armed = m->watch_fd >= 0;
}

static void arm(struct recorder *r)
{
    struct marks *m = &r->marks;
    struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)m->watch_fd};
    char events[1024]; /* equal ones are one in the queue */
    while (read(m->watch_fd, events, sizeof(events)) > 0)
        ;
    m->armed = epoll_ctl(r->all->epoll_fd, EPOLL_CTL_MOD, m->watch_fd, &e) == 0;
}

void marks_open(struct recorder *r)
{
    r->marks = (struct marks){.fd = marks_fd(r->options->marks), .watch_fd = -1, .tokens = LINES_AT_ONCE};
    struct stat st;
    if (r->marks.fd >= 0 && !r->options->marks->is_ours && fstat(r->marks.fd, &st) == 0)
        r->marks.offset = (uint64_t)st.st_size; /* what was there before is not of this recording */
}

void marks_look(struct recorder *r)
{
    struct stat st;
    if (r->marks.fd >= 0 && r->started && fstat(r->marks.fd, &st) == 0 && (uint64_t)st.st_size != r->marks.offset)
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
        watch(r);
    else if (m->watch_fd >= 0)
        arm(r); /* first, so that no line is missed */
    m->watched = true;
    read_new(r, false, MARKS_READ);
}

static void report(struct recorder *r)
{
    const struct marks *m = &r->marks;
    struct buf text = {0};
    uint64_t bad = m->bad_lines + m->long_lines;
    if (m->lost_lines || m->lost_bytes)
        buf_printf(&text, "; %llu lines and %llu bytes came too fast", (unsigned long long)m->lost_lines,
                   (unsigned long long)m->lost_bytes);
    if (bad)
        buf_printf(&text, "; %llu lines are too long or no JSON", (unsigned long long)bad);
    if (m->removed)
        buf_str(&text, "; the file was removed, and later lines are not in it");
    buf_byte(&text, 0);
    if (text.len > 1 && !text.failed) {
        char line[256];
        snprintf(line, sizeof(line), "%s: left out: %s", r->options->marks->is_ours ? "$BARO_EVENTS" : "--events",
                 (const char *)text.at + 2);
        recorder_event(r, BARO_EVENT_WARNING, NULL, bad + m->lost_lines, line);
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
        take_lines(r, &(struct came){sampler_now(&r->sampler), 0, realtime_offset_ns()});
    }
    report(r);
}

void marks_close(struct recorder *r)
{
    r->marks.fd = fd_close(r->marks.fd);
    r->marks.watch_fd = fd_close(r->marks.watch_fd);
    free(r->marks.buffer);
    r->marks.buffer = NULL;
}
