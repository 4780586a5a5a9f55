/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/baro-serve/live.h"
#include "programs/baro-serve/server.h"

/* The Content-Security-Policy of pages: scripts, styles and requests from this server only. */
#define POLICY                                                                                                         \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "              \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
/* A report has a stricter policy of its own, which names its script by a digest. */
#define POLICY_FROZEN "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

#define PART_BYTES 16384u /* bytes of an answer that are given to the kernel at once */

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
    server_sent(q, n);
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

enum MHD_Result answer_send(struct request *q)
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
