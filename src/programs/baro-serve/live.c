/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of events: their places, the thread that serves them, and what their connections take. */
#include "programs/baro-serve/live.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <microhttpd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/span.h"
#include "output/rows/csv_json.h"
#include "programs/baro-serve/catalogue.h"
#include "programs/baro-serve/instant.h"
#include "programs/baro-serve/peer.h"
#include "programs/baro-serve/sight.h"
#include "programs/baro-serve/server.h"
#include "programs/baro-serve/shortage.h"

#define STREAMS 64u                    /* most streams: each has a descriptor of inotify(7) */
#define PEER_STREAMS (STREAMS / 2)     /* most streams of one user or address */
#define TAKEN_NS (2 * NS_PER_SEC)      /* a stream that has taken nothing for this time gives its place to a new one */
#define AHEAD_BYTES 65536u             /* how much is made before the client has taken it */
#define CHECK_MS 1000                  /* period of reading tapes without an event: see baro_tape_poll_fd() */
#define HEARTBEAT_NS (15 * NS_PER_SEC) /* period of comments, because proxies close connections that are silent */
#define STEP_RECORDS 2000u             /* records of one stream before the others have their turn */
#define JOBS_NS NS_PER_SEC             /* time between two updates of the list of jobs */
#define ROW_NS (NS_PER_SEC / 100)      /* time per row of the list: if there are many, each is sent less often */

struct stream {
    struct stream *next;
    struct live *live;
    struct MHD_Connection *connection;
    int fd; /* descriptor of the connection: open until is_closed */
    struct peer peer;
    bool sees_all;   /* of the list of jobs: also private ones */
    struct job *job; /* held; NULL: the list of jobs */

    /* used by the thread of the streams only */
    struct baro_tape *tape;
    struct instant_writer writer;
    struct row_source exits, events;
    bool with_exits;
    uint64_t t_ns, records;     /* time of the last sample that was sent; how many records were sent after it */
    uint64_t asked_ns, rows_ns; /* list: when it was read last; when changed rows are sent next */
    uint64_t version, turned;   /* list: versions up to which changed rows, and changes of state, were sent */
    uint64_t sent_ns;
    bool is_over; /* nothing more is made */

    /* protected by the lock */
    struct buf out;
    size_t sent;
    uint64_t taken_ns;                     /* when the client last took something */
    bool is_ended;                         /* all that was made is in out */
    bool is_suspended, is_gone, is_closed; /* gone: its place is free, and its connection ends or has ended */
};

struct live {
    struct catalogue *catalogue;
    pthread_mutex_t lock;
    struct stream *first;
    size_t n; /* number of streams that are not gone */
    bool is_ending, is_over;
    int wake_fd;
    pthread_t thread;
};

/* ---- what a stream sends ---- */

static void add_event(struct buf *out, const char *id, const char *event, const struct buf *data)
{
    if (*id)
        buf_printf(out, "id: %s\n", id);
    buf_printf(out, "event: %s\ndata: ", event);
    buf_add(out, data->at, data->len && data->at[data->len - 1] == '\n' ? data->len - 1 : data->len);
    buf_str(out, "\n\n");
    out->failed = out->failed || data->failed;
}

static void add_record(struct stream *s, const struct baro_record *r, struct buf *out)
{
    struct buf data = {0};
    struct json j = {.out = &data};
    char id[48];
    bool is_sample = r->kind == BARO_RECORD_SAMPLE;
    const char *event = is_sample ? "sample" : r->kind == BARO_RECORD_EVENT ? "event" : "exit";
    s->records = is_sample ? 0 : s->records + 1;
    s->t_ns = is_sample ? r->t_ns : s->t_ns;
    if (is_sample)
        instant_write(&s->writer, r->u.sample, &j);
    row_source_record(&s->events, r, json_put_row, &j);
    if (s->with_exits)
        row_source_record(&s->exits, r, json_put_row, &j);
    snprintf(id, sizeof(id), "%llu.%llu", (unsigned long long)s->t_ns, (unsigned long long)s->records);
    if (data.len || data.failed)
        add_event(out, id, event, &data);
    buf_done(&data);
}

static void fill_job(struct stream *s, size_t room, struct buf *out)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_record r;
    struct buf data = {0};
    struct json j = {.out = &data};
    int code = 1;
    baro_tape_limit_cpu(s->tape, REQUEST_CPU_NS);
    for (size_t i = 0; i < STEP_RECORDS && code > 0 && out->len < room; i++) {
        code = baro_tape_next(s->tape, &r, &err);
        if (code > 0)
            add_record(s, &r, out);
        else if (code == 0)
            code = baro_tape_wait(s->tape, 0, &err);
    }
    s->is_over = code < 0;
    if (code == BARO_E_ENDED) {
        job_row(s->live->catalogue, s->job, &data);
        add_event(out, "", "end", &data);
    } else if (code < 0) {
        json_begin(&j, '{');
        json_key_text(&j, "message", err.text);
        json_end(&j, '}');
        add_event(out, "", "failed", &data);
    } else if (code > 0) {
        eventfd_write(s->live->wake_fd, 1); /* there is more */
    }
    buf_done(&data);
}

static void fill_jobs(struct stream *s, uint64_t now_ns, struct buf *out)
{
    struct catalogue *c = s->live->catalogue;
    bool all = now_ns >= s->rows_ns;
    struct job_filter changed = {
        .state = -1, .no_private = !s->sees_all, .since = all ? s->version : 0, .turned_since = all ? 0 : s->turned};
    struct job_list list;
    struct buf row = {0};
    if (now_ns - s->asked_ns < JOBS_NS)
        return;
    s->asked_ns = now_ns;
    if (!catalogue_removed(c, s->turned, &row))
        add_event(out, "", "reload", &(struct buf){.at = (unsigned char *)"{}", .len = 2});
    for (size_t i = 0; i < row.len; i += strlen((const char *)row.at + i) + 1) {
        struct buf data = {0};
        struct json j = {.out = &data};
        json_text(&j, (const char *)row.at + i);
        add_event(out, "", "removed", &data);
        buf_done(&data);
    }
    if (catalogue_list(c, &changed, 0, UINT64_MAX, &list) == 0) {
        for (size_t i = list.n; i-- > 0;) {
            buf_clear(&row);
            job_row(c, list.at[i], &row);
            add_event(out, "", "job", &row);
        }
        s->turned = list.version;
        s->version = all ? list.version : s->version;
        s->rows_ns = all ? now_ns + list.n * ROW_NS : s->rows_ns;
        job_list_done(c, &list);
    }
    buf_done(&row);
}

/* Adds what the stream has to send: records of a job up to about `room` bytes, or the changes of the list of jobs. */
static void stream_fill(struct stream *s, uint64_t now_ns, size_t room, struct buf *out)
{
    if (s->job)
        fill_job(s, room, out);
    else
        fill_jobs(s, now_ns, out);
}

static void stream_free(struct stream *s)
{
    baro_tape_close(s->tape);
    instant_done(&s->writer);
    row_source_done(&s->exits);
    row_source_done(&s->events);
    buf_done(&s->out);
    if (s->job)
        job_release(s->live->catalogue, s->job);
    free(s);
}

/* ---- places ---- */

/* Needs the lock. */
static void resume(struct stream *s)
{
    if (!s->is_suspended)
        return;
    s->is_suspended = false;
    MHD_resume_connection(s->connection);
}

/* Needs the lock. */
static void free_place(struct stream *s)
{
    s->live->n -= !s->is_gone;
    s->is_gone = true;
}

/* Frees the place of a stream, and ends its connection. Needs the lock. */
static void let_go(struct stream *s)
{
    if (s->is_gone)
        return;
    free_place(s);
    shutdown(s->fd, SHUT_RDWR);
    resume(s);
}

/* ---- the thread of the connections ---- */

ssize_t live_read(void *context, uint64_t at, char *to, size_t most)
{
    struct stream *s = context;
    (void)at;
    pthread_mutex_lock(&s->live->lock);
    size_t left = s->out.len - s->sent, n = left < most ? left : most;
    if (n)
        memcpy(to, s->out.at + s->sent, n);
    s->sent += n;
    if (n)
        s->taken_ns = clock_monotonic_ns();
    ssize_t result = (ssize_t)n;
    if (s->is_gone)
        result = MHD_CONTENT_READER_END_WITH_ERROR;
    else if (!n && (s->is_ended || s->live->is_ending))
        result = MHD_CONTENT_READER_END_OF_STREAM;
    if (result == 0) {
        s->is_suspended = true;
        MHD_suspend_connection(s->connection);
    }
    if (left == n)
        eventfd_write(s->live->wake_fd, 1); /* there is room again */
    pthread_mutex_unlock(&s->live->lock);
    return result;
}

void live_close(void *context)
{
    struct stream *s = context;
    struct live *live = s->live;
    pthread_mutex_lock(&live->lock);
    free_place(s);
    s->is_closed = true;
    eventfd_write(live->wake_fd, 1);
    pthread_mutex_unlock(&live->lock);
}

/* ---- the thread of the streams ---- */

/* Gives the client what was made. Needs the lock. */
static void hand_over(struct stream *s, struct buf *made)
{
    if (s->sent == s->out.len) {
        buf_clear(&s->out);
        s->sent = 0;
    }
    buf_add(&s->out, made->at, made->len);
    s->is_over = s->is_over || s->out.failed || made->failed;
    s->is_ended = s->is_over;
    if (s->sent < s->out.len || s->is_ended)
        resume(s);
}

static void serve_stream(struct live *live, struct stream *s)
{
    struct buf made = {0};
    uint64_t now_ns = clock_monotonic_ns();
    unsigned failures = shortage_count();
    pthread_mutex_lock(&live->lock);
    size_t left = s->out.len - s->sent;
    bool is_open = !s->is_gone && !s->is_over && !live->is_ending;
    pthread_mutex_unlock(&live->lock);
    if (is_open && left < AHEAD_BYTES)
        stream_fill(s, now_ns, AHEAD_BYTES - left, &made);
    if (is_open && !made.len && !left && now_ns - s->sent_ns > HEARTBEAT_NS)
        buf_str(&made, ":\n\n");
    if (made.len)
        s->sent_ns = now_ns;
    if (shortage_count() != failures) { /* the stream ends; the client comes back for the events that it lacks */
        buf_clear(&made);
        made.failed = true;
    }
    pthread_mutex_lock(&live->lock);
    hand_over(s, &made);
    pthread_mutex_unlock(&live->lock);
    buf_done(&made);
}

/* Frees closed streams. Returns how many streams there are, and fills what to poll: the tape and the client of each. */
static size_t collect(struct live *live, struct stream *all[STREAMS], struct pollfd fds[1 + 2 * STREAMS])
{
    size_t n = 0;
    struct stream *closed = NULL;
    pthread_mutex_lock(&live->lock);
    for (struct stream **at = &live->first; *at;) {
        struct stream *s = *at;
        if (!s->is_closed) {
            if (!s->is_gone)
                all[n++] = s;
            at = &s->next;
            continue;
        }
        *at = s->next;
        s->next = closed;
        closed = s;
    }
    pthread_mutex_unlock(&live->lock);
    while (closed) {
        struct stream *s = closed;
        closed = s->next;
        stream_free(s);
    }
    fds[0] = (struct pollfd){.fd = live->wake_fd, .events = POLLIN};
    for (size_t i = 0; i < n; i++) {
        fds[1 + i] = (struct pollfd){.fd = all[i]->tape && !all[i]->is_over ? baro_tape_poll_fd(all[i]->tape) : -1,
                                     .events = POLLIN};
        fds[1 + n + i] = (struct pollfd){.fd = all[i]->fd, .events = POLLRDHUP};
    }
    return n;
}

/* Frees the places of clients that have closed their connections, or their halves of them. libmicrohttpd does not read
 * a connection that is suspended, so it would notice only with the next heartbeat. */
static void let_gone_go(struct live *live, struct stream *const all[], const struct pollfd clients[], size_t n)
{
    pthread_mutex_lock(&live->lock);
    for (size_t i = 0; i < n; i++) {
        if (clients[i].revents)
            let_go(all[i]);
    }
    pthread_mutex_unlock(&live->lock);
}

/* Serves all streams until they have ended. */
static void *serve_all(void *context)
{
    struct live *live = context;
    struct stream *all[STREAMS];
    struct pollfd fds[1 + 2 * STREAMS];
    eventfd_t any;
    for (;;) {
        size_t n = collect(live, all, fds);
        for (size_t i = 0; i < n; i++)
            serve_stream(live, all[i]);
        pthread_mutex_lock(&live->lock);
        bool is_over = live->is_over && !live->first;
        pthread_mutex_unlock(&live->lock);
        if (is_over)
            return NULL;
        if (poll(fds, 1 + 2 * n, n ? CHECK_MS : -1) > 0)
            let_gone_go(live, all, fds + 1 + n, n);
        eventfd_read(live->wake_fd, &any);
    }
}

/* ---- beginning and end ---- */

int live_start(struct live **ret, struct catalogue *c, struct baro_error *err)
{
    struct live *live = calloc(1, sizeof(*live));
    if (!live)
        return error_set(err, -ENOMEM, "out of memory");
    live->catalogue = c;
    live->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&live->lock, NULL);
    int code = live->wake_fd < 0 ? -errno : -pthread_create(&live->thread, NULL, serve_all, live);
    if (code < 0) {
        fd_close(live->wake_fd);
        pthread_mutex_destroy(&live->lock);
        free(live);
        return error_set(err, code, "can't start a thread: %s", strerror(-code));
    }
    *ret = live;
    return 0;
}

void live_end(struct live *live)
{
    pthread_mutex_lock(&live->lock);
    live->is_ending = true; /* from now on no connection is suspended: libmicrohttpd cannot end while one is */
    for (struct stream *s = live->first; s; s = s->next)
        resume(s);
    pthread_mutex_unlock(&live->lock);
}

void live_free(struct live *live)
{
    pthread_mutex_lock(&live->lock);
    live->is_over = true;
    pthread_mutex_unlock(&live->lock);
    eventfd_write(live->wake_fd, 1);
    pthread_join(live->thread, NULL);
    fd_close(live->wake_fd);
    pthread_mutex_destroy(&live->lock);
    free(live);
}

size_t live_count(struct live *live)
{
    pthread_mutex_lock(&live->lock);
    size_t n = live->n;
    pthread_mutex_unlock(&live->lock);
    return n;
}

/* ---- places ---- */

/* Is there a place for a stream of this peer, or can it get that of another one? Needs the lock. */
static bool make_room(struct live *live, const struct peer *peer)
{
    size_t own = 0;
    uint64_t now_ns = clock_monotonic_ns();
    for (struct stream *s = live->first; s; s = s->next)
        own += !s->is_gone && peer_same(&s->peer, peer);
    if (live->is_ending || (own < PEER_STREAMS && live->n < STREAMS))
        return !live->is_ending;
    struct stream *oldest = NULL; /* of this peer, or of all: the one whose client has taken nothing for longest */
    for (struct stream *s = live->first; s; s = s->next) {
        if (!s->is_gone && now_ns - s->taken_ns >= TAKEN_NS && (own < PEER_STREAMS || peer_same(&s->peer, peer)) &&
            (!oldest || s->taken_ns < oldest->taken_ns))
            oldest = s;
    }
    if (oldest)
        let_go(oldest);
    return oldest;
}

void live_drop(struct stream *s)
{
    stream_free(s);
}

void live_attach(struct request *q)
{
    struct stream *s = q->stream;
    struct live *live = s->live;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(q->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    s->connection = q->connection;
    s->fd = info ? info->connect_fd : -1;
    s->peer = q->peer;
    s->sent_ns = s->taken_ns = clock_monotonic_ns();
    buf_str(&s->out, "retry: 2000\n\n");
    pthread_mutex_lock(&live->lock);
    bool has_room = make_room(live, &s->peer);
    if (has_room) {
        s->next = live->first;
        live->first = s;
        live->n++;
    }
    pthread_mutex_unlock(&live->lock);
    if (!has_room) {
        q->stream = NULL;
        stream_free(s);
        request_fail(q, 503, "too_many",
                     "there are %u streams already, or %u of this user or address, and all are in use", STREAMS,
                     PEER_STREAMS);
        return;
    }
    q->status = 200;
    q->type = "text/event-stream; charset=utf-8";
    eventfd_write(live->wake_fd, 1);
}

/* ---- the handlers ---- */

/* Moves the cursor behind the last event that the client has, else to the last sample. Returns 0 or a negative code. */
static int place(struct stream *s, const char *id, struct baro_error *err)
{
    struct baro_record r;
    struct span at = span_str(id ? id : "");
    uint64_t t_ns, records = 0;
    bool resumes = scan_u64(&at, &t_ns);
    if (resumes && scan_char(&at, '.'))
        scan_u64(&at, &records);
    int code = baro_tape_seek(s->tape, resumes ? t_ns : UINT64_MAX, &r, err);
    if (code <= 0)
        return code < 0 ? code : baro_tape_rewind(s->tape, err);
    if (!resumes) { /* first the sample before the last one, for rates */
        code = baro_tape_previous(s->tape, &r, err);
        if (code > 0)
            instant_write(&s->writer, r.u.sample, NULL);
        while (code > 0 && (code = baro_tape_next(s->tape, &r, err)) > 0 && r.kind != BARO_RECORD_SAMPLE)
            ;
        code = code < 0 ? code : baro_tape_seek(s->tape, UINT64_MAX, &r, err);
        if (code > 0)
            add_record(s, &r, &s->out);
        return code < 0 ? code : 0;
    }
    instant_write(&s->writer, r.u.sample, NULL);
    s->t_ns = r.t_ns;
    for (; records > 0 && r.t_ns == t_ns && (code = baro_tape_next(s->tape, &r, err)) > 0; records--)
        s->records++;
    return code < 0 ? code : 0;
}

void live_job(struct request *q)
{
    struct baro_error err = BARO_ERROR_INIT;
    const char *id = request_param(q, "last_event_id"), *exits = request_param(q, "exits");
    struct baro_tape *tape = request_tape(q);
    struct stream *s = tape ? calloc(1, sizeof(*s)) : NULL;
    if (!tape)
        return;
    if (!s) {
        baro_tape_close(tape);
        request_fail(q, 503, "no_memory", "out of memory");
        return;
    }
    s->live = q->server->live;
    s->tape = tape;
    s->with_exits = exits && strcmp(exits, "1") == 0;
    int code = instant_init(&s->writer, tape, &err);
    if (code >= 0)
        code = row_source_init(&s->exits, tape, BARO_KIND_EXIT, NULL, NULL, &err);
    if (code >= 0)
        code = row_source_init(&s->events, tape, ROW_EVENT, NULL, NULL, &err);
    if (code >= 0)
        code = place(s, q->last_event_id ? q->last_event_id : id, &err);
    if (code < 0) {
        stream_free(s);
        err.code = err.code ? err.code : code;
        request_fail_tape(q, &err);
        return;
    }
    s->job = q->job;
    q->job = NULL; /* the stream has it now */
    q->stream = s;
}

void live_jobs(struct request *q)
{
    struct job_filter any = {.state = -1};
    struct job_list list;
    struct stream *s = calloc(1, sizeof(*s));
    if (!s || catalogue_list(q->server->catalogue, &any, 0, 0, &list) < 0) {
        free(s);
        request_fail(q, 503, "no_memory", "out of memory");
        return;
    }
    s->version = s->turned = list.version; /* only later changes are sent */
    job_list_done(q->server->catalogue, &list);
    s->live = q->server->live;
    s->sees_all = sight_all(q);
    q->stream = s;
}
