/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/server.h"
#include "programs/baro-serve/sight.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <microhttpd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "programs/baro-serve/route.h"
#include "programs/baro-serve/shortage.h"

#define MEMORY_BYTES 16384u /* memory of a connection: for its header and for sending. A longer header is refused */
#define STALLED_S 30u       /* a connection whose client takes nothing for this long is closed */
#define STACK_BYTES 524288u
#define STOP_MS 2000 /* how long the server waits at its end for answers of open requests */
#define STOP_STEP_MS 10

/* The Content-Security-Policy of pages: scripts, styles and requests from this server only. */
#define POLICY                                                                                                         \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "              \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
/* A report has a stricter policy of its own, which names its script by a digest. */
#define POLICY_FROZEN "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

#define PART_BYTES 16384u /* bytes of an answer that are given to the kernel at once */

static struct client *client_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void on_connection(void *context, struct MHD_Connection *c, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct server *s = context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        clients_remove(&s->clients, *socket_context);
        return;
    }
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    int fd = info ? info->connect_fd : -1;
    struct peer peer = peer_of(fd);
    *socket_context = clients_add(&s->clients, fd, &peer);
}

static enum MHD_Result take_param(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct request *q = context;
    (void)kind;
    if (q->n_params == REQUEST_PARAMS)
        return MHD_NO;
    q->param[q->n_params++] = (struct param){name, value};
    return MHD_YES;
}

static const char *header(struct request *q, const char *name)
{
    return MHD_lookup_connection_value(q->connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result take_header(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind, (void)value;
    guard_header(context, name);
    return MHD_YES;
}

static bool are_clear_headers(struct request *q)
{
    struct guard_headers headers = {0};
    MHD_get_connection_values(q->connection, MHD_HEADER_KIND, take_header, &headers);
    const char *fault = guard_headers_fault(&headers);
    if (fault) {
        request_fail(q, 400, "bad_header", "%s", fault);
        q->closes = true;
    }
    return !fault;
}

static bool is_allowed_host(const struct server *s, struct request *q)
{
    const char *host = header(q, MHD_HTTP_HEADER_HOST);
    if (guard_host(&s->guard, host))
        return true;
    if (!host)
        request_fail(q, 400, "no_host", "the request has no Host");
    else
        request_fail(q, 421, "foreign_host",
                     "this server does not answer for the host that the request names; "
                     "baro serve --allow-host NAME allows one");
    return false;
}

/* Checks the token. A browser that opens a page with ?token= gets a cookie, and is sent to the address without it. */
static bool is_allowed_client(const struct server *s, struct request *q, const char *url)
{
    const char *token = request_param(q, "token");
    if (*s->guard.token && token && guard_token(&s->guard, token)) {
        q->status = 303;
        buf_str(&q->out, url);
        return false;
    }
    if (guard_bearer(&s->guard, header(q, MHD_HTTP_HEADER_AUTHORIZATION)) ||
        guard_cookie(&s->guard, header(q, MHD_HTTP_HEADER_COOKIE)))
        return true;
    request_fail(q, 401, "no_token",
                 "this server asks for a token: Authorization: Bearer TOKEN, or ?token=TOKEN once "
                 "in a browser");
    return false;
}

/* Fails the request if its user or address has too many connections; it is served on the others. */
static bool has_place(struct request *q)
{
    const struct client *one = client_of(q->connection);
    if (!one || !one->is_over)
        return true;
    request_fail(q, 503, "too_many", "this user or address has too many connections");
    q->closes = true;
    return false;
}

/* A NUL would end the text, and /jobs/a%00/report would be /jobs/a. It becomes a byte that no id has, because ids are
 * UTF-8. */
static size_t unescape(void *context, struct MHD_Connection *c, char *text)
{
    (void)context, (void)c;
    for (char *nul; (nul = strstr(text, "%00")) != NULL;)
        memcpy(nul, "%FF", 3);
    return MHD_http_unescape(text);
}

/* Makes the checks that need no tape. Returns false if there is an answer. */
static bool check(struct server *s, struct request *q, const char *url, const char *method)
{
    if (!has_place(q))
        return false;
    if (!are_clear_headers(q) || !is_allowed_host(s, q))
        return false;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        request_fail(q, 405, "bad_method", "this server knows only GET and HEAD");
        return false;
    }
    const char *length = header(q, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if ((length && strcmp(length, "0") != 0) || header(q, MHD_HTTP_HEADER_TRANSFER_ENCODING)) {
        request_fail(q, 413, "has_body", "a request to this server may not have a body");
        q->closes = true;
        return false;
    }
    int n = MHD_get_connection_values(q->connection, MHD_GET_ARGUMENT_KIND, NULL, NULL);
    if (n > (int)REQUEST_PARAMS) {
        request_fail(q, 400, "bad_parameter", "there are too many parameters");
        return false;
    }
    MHD_get_connection_values(q->connection, MHD_GET_ARGUMENT_KIND, take_param, q);
    if (!is_allowed_client(s, q, url))
        return false;
    q->accept = header(q, MHD_HTTP_HEADER_ACCEPT);
    q->last_event_id = header(q, "Last-Event-ID");
    q->if_none_match = header(q, MHD_HTTP_HEADER_IF_NONE_MATCH);
    return route_find(q, url);
}

static void fail_full(struct request *q)
{
    request_fail(q, 503, "busy", "too many answers wait for clients that do not take them; try again later");
}

static void fail_over(struct request *q)
{
    request_fail(q, 503, "ending", "the server is ending");
}

static void fail_memory(struct request *q)
{
    request_fail(q, 503, "no_memory", "out of memory");
}

/* Gives the answer to the thread of the connections. */
static void give(struct request *q)
{
    q->out.may_grow = NULL;
    q->is_done = true;
    MHD_resume_connection(q->connection);
}

/* Ends the work on a request: the answer is complete, or it becomes an error. */
static void finish_answer(struct request *q, bool has_memory)
{
    if (q->stream && !has_memory) {
        live_drop(q->stream);
        q->stream = NULL;
    }
    if (q->stream)
        live_attach(q);
    if (q->out.failed || !has_memory) {
        bool is_refused = q->making.is_refused;
        buf_done(&q->out);
        if (is_refused)
            fail_full(q);
        else
            fail_memory(q);
    }
    clients_made(&q->making, q->client, q->out.len);
    give(q);
}

static void handle(struct request *q)
{
    struct server *s = q->server;
    unsigned failures = shortage_count();
    clients_make(&s->clients, &q->making, q->client);
    q->out.may_grow = clients_grow;
    q->out.grower = &q->making;
    if (sight_allows(q))
        q->route->handle(q);
    finish_answer(q, shortage_count() == failures);
}

static void work(struct request *q, bool is_over)
{
    struct clients *clients = &q->server->clients;
    bool hangs = !is_over && q->job && !job_lock(q->job);
    if (!is_over && q->job && !hangs)
        pthread_mutex_unlock(&q->job->lock);
    if (is_over)
        fail_over(q);
    else if (hangs)
        request_fail(q, 503, "hangs", "the file system of this tape does not answer");
    else if (q->route->cost == ROUTE_LARGE && client_has_left(q->client))
        request_fail(q, 408, "left", "the client has closed its half of the connection");
    else if (q->route->cost == ROUTE_LARGE && clients_full(clients, q->client))
        fail_full(q);
    else {
        handle(q);
        return;
    }
    give(q);
}

/* ---- sending an answer ---- */

static void add_headers(struct request *q, struct MHD_Response *r)
{
    static const char *const always[][2] = {
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
    };
    char cookie[160];
    for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
        MHD_add_response_header(r, always[i][0], always[i][1]);
    MHD_add_response_header(r, "Content-Security-Policy", q->is_frozen ? POLICY_FROZEN : POLICY);
    MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, *q->etag ? "private, no-cache" : "no-store");
    if (*q->etag)
        MHD_add_response_header(r, MHD_HTTP_HEADER_ETAG, q->etag);
    if (q->status != 304 && q->status != 303)
        MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, q->type ? q->type : "application/json; charset=utf-8");
    if (q->status == 401)
        MHD_add_response_header(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer realm=\"barograph\"");
    if (q->status == 405)
        MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    if (q->status == 503)
        MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "5");
    if (q->closes)
        MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
    if (q->status == 303) {
        snprintf(cookie, sizeof(cookie), "%s=%s; Path=/; HttpOnly; SameSite=Strict", GUARD_COOKIE,
                 q->server->guard.session);
        MHD_add_response_header(r, MHD_HTTP_HEADER_SET_COOKIE, cookie);
    }
}

/* Adds a Location that is a path on this host: all but plain characters are escaped. */
static void add_location(struct request *q, struct MHD_Response *r)
{
    struct buf to = {0};
    buf_str(&to, "/");
    for (size_t i = 0; i < q->out.len; i++) {
        unsigned char c = q->out.at[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("/-._~", c);
        if (to.len == 1 && (c == '/' || c == '\\'))
            continue;
        if (plain && c)
            buf_byte(&to, c);
        else
            buf_printf(&to, "%%%02X", c);
    }
    buf_byte(&to, 0);
    if (!to.failed)
        MHD_add_response_header(r, MHD_HTTP_HEADER_LOCATION, (const char *)to.at);
    buf_done(&to);
}

/* Gives a part of an answer to libmicrohttpd, and notes how fast the client takes it. */
static ssize_t read_out(void *context, uint64_t at, char *to, size_t most)
{
    struct request *q = context;
    size_t len = q->text ? strlen(q->text) : q->out.len;
    if (at >= len)
        return MHD_CONTENT_READER_END_OF_STREAM;
    size_t left = len - (size_t)at, n = left < most ? left : most;
    memcpy(to, (q->text ? q->text : (const char *)q->out.at) + at, n);
    clients_sent(&q->server->clients, client_of(q->connection), n);
    return (ssize_t)n;
}

/* Gives back the memory of the buffer that is not used: it has grown by doubling. */
static void shrink(struct buf *b)
{
    unsigned char *at = b->len ? realloc(b->at, b->len) : NULL;
    if (at) {
        b->at = at;
        b->cap = b->len;
    }
}

static struct MHD_Response *make(struct request *q)
{
    struct MHD_Response *r;
    if (q->stream) {
        r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, live_read, q->stream, live_close);
        if (!r)
            live_close(q->stream);
        q->stream = NULL;
        return r;
    }
    if (q->status == 304 || q->status == 303)
        return MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
    if (q->text)
        return MHD_create_response_from_callback(strlen(q->text), PART_BYTES, read_out, q, NULL);
    shrink(&q->out);
    return MHD_create_response_from_callback(q->out.len, PART_BYTES, read_out, q, NULL); /* q is freed after it */
}

static enum MHD_Result answer_send(struct request *q)
{
    struct buf to = q->status == 303 ? q->out : (struct buf){0};
    struct MHD_Response *r = make(q);
    if (!r)
        return MHD_NO;
    add_headers(q, r);
    if (to.len)
        add_location(q, r);
    enum MHD_Result sent = MHD_queue_response(q->connection, q->status ? q->status : 500, r);
    MHD_destroy_response(r);
    return sent;
}

static enum MHD_Result reply(struct server *s, struct request *q)
{
    clients_phase(&s->clients, client_of(q->connection), q->stream ? CLIENT_STREAM : CLIENT_ANSWER);
    s->requests++;
    s->refused += q->status == 401 || q->status == 421;
    s->failed += q->status >= 500;
    return answer_send(q);
}

/* Called for a header, for parts of a body, at the end of a request, and again when a worker has made the answer. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *c, const char *url, const char *method,
                                  const char *version, const char *body, size_t *body_size, void **request)
{
    struct server *s = context;
    struct request *q = *request;
    (void)version, (void)body;
    if (!q) {
        q = *request = calloc(1, sizeof(*q));
        if (!q)
            return MHD_NO;
        q->server = s;
        q->connection = c;
        clients_phase(&s->clients, client_of(c), CLIENT_WORK);
        if (check(s, q, url, method))
            return MHD_YES;
        q->is_done = true;
        return q->closes ? reply(s, q) : MHD_YES; /* the answer does not wait for the body */
    }
    if (*body_size) {
        *body_size = 0;
        return MHD_YES;
    }
    if (q->is_done)
        return reply(s, q);
    q->client = client_of(c);
    if (q->client)
        q->peer = q->client->holder->peer;
    MHD_suspend_connection(c);
    if (!workers_add(&s->workers, q)) {
        fail_over(q);
        give(q);
    }
    return MHD_YES;
}

static void on_completed(void *context, struct MHD_Connection *c, void **request, enum MHD_RequestTerminationCode code)
{
    struct server *s = context;
    struct request *q = *request;
    (void)code;
    clients_phase(&s->clients, client_of(c), CLIENT_IDLE);
    if (!q)
        return;
    if (q->stream)
        live_close(q->stream); /* the client went before it was sent */
    if (q->job)
        job_release(s->catalogue, q->job);
    buf_done(&q->out);
    free(q);
    *request = NULL;
}

static int start_one(struct server *s, int i)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    int fd = fcntl(s->listener[i].fd, F_DUPFD_CLOEXEC, 3); /* libmicrohttpd closes this one */
    if (fd < 0)
        return -errno;
    errno = 0;
    s->daemon[i] =
        MHD_start_daemon(flags, 0, NULL, NULL, on_request, s, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
                         (unsigned)s->clients.most, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_BYTES,
                         MHD_OPTION_CONNECTION_TIMEOUT, STALLED_S, MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES,
                         MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
                         MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_END);
    if (s->daemon[i])
        return 0;
    int code = errno ? -errno : -EIO; /* libmicrohttpd reports only that it failed */
    fd_close(fd);
    return code;
}

int server_start(struct server *s, struct baro_error *err)
{
    s->start_ns = clock_monotonic_ns();
    int code = workers_start(&s->workers, work);
    for (int i = 0; i < s->n_listeners && code == 0; i++)
        code = start_one(s, i);
    return code < 0 ? error_set(err, code, "can't start the server: %s", strerror(-code)) : 0;
}

void server_stop(struct server *s)
{
    int left_ms = STOP_MS;
    for (int i = 0; i < s->n_listeners; i++) {
        if (s->daemon[i])
            fd_close(MHD_quiesce_daemon(s->daemon[i]));
    }
    live_end(s->live);
    while (left_ms > 0 && clients_busy(&s->clients)) {
        poll(NULL, 0, STOP_STEP_MS);
        left_ms -= STOP_STEP_MS;
    }
    workers_stop(&s->workers);
    for (int i = 0; i < s->n_listeners; i++) {
        if (s->daemon[i])
            MHD_stop_daemon(s->daemon[i]);
    }
}
