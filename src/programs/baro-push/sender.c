/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-push/sender.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "baro/version.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "base/span.h"
#include "programs/baro-push/encode.h"

#define CONNECT_MS 10000L
#define ANSWER_MS 30000L
#define STOPPING_MS 3000u /* for an answer, once all is to end */
#define BODY_MOST 65536u  /* of an answer: more is not read */
#define PAUSE_LEAST_NS NS_PER_SEC
#define PAUSE_MOST_NS (60 * NS_PER_SEC)
#define ASKED_MOST_NS (300 * NS_PER_SEC) /* of Retry-After */

struct sender {
    const struct destination *to;
    const volatile int *stop;
    uint64_t stopping_ns;
    CURL *curl;
    struct curl_slist *headers_1, *headers_2; /* headers_2: of version 2.0 of remote write */
    unsigned failures;
    uint64_t paused_until_ns, failing_since_ns;
    char error[CURL_ERROR_SIZE];
    struct sent *now; /* what is being answered */
    bool is_html, is_json;
    bool has_headers;  /* the headers of the answer came to their end */
    bool is_cut;       /* the rest of the body was not read */
    bool was_answered; /* once, by anything */
    bool was_right;    /* once, as a receiver does */
};

/* ---- the answer, while it comes ---- */

static size_t take_body(char *at, size_t size, size_t n, void *context)
{
    struct sender *s = context;
    size_t len = size * n, room = BODY_MOST - s->now->body.len;
    buf_add(&s->now->body, at, len < room ? len : room);
    s->is_cut = len > room;
    return s->is_cut ? 0 : len; /* ends the transfer */
}

static size_t take_header(char *at, size_t size, size_t n, void *context)
{
    static const char written[] = "x-prometheus-remote-write-samples-written:", type[] = "content-type: text/html",
                      json[] = "content-type: application/json";
    struct sender *s = context;
    size_t len = size * n;
    if (len > 5 && strncasecmp(at, "HTTP/", 5) == 0) /* what came before was not the answer yet, as 103 */
        s->is_html = s->is_json = s->has_headers = s->now->knows_written = false;
    s->has_headers = s->has_headers || len <= 2; /* the blank line after them; trailers may follow the body */
    if (!s->to->is_otlp && len > strlen(written) && strncasecmp(at, written, strlen(written)) == 0) {
        struct span rest = span_of(at + strlen(written), len - strlen(written));
        scan_blanks(&rest);
        s->now->knows_written = scan_u64(&rest, &s->now->written);
        scan_blanks(&rest);
        if (rest.len && *rest.at != '\r' && *rest.at != '\n')
            s->now->knows_written = false; /* "5abc" is no number */
    }
    if (len > strlen(type) && strncasecmp(at, type, strlen(type)) == 0)
        s->is_html = true;
    if (len > strlen(json) && strncasecmp(at, json, strlen(json)) == 0)
        s->is_json = true;
    return len;
}

static int check_stop(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    struct sender *s = context;
    (void)a, (void)b, (void)c, (void)d;
    if (!*s->stop)
        return 0;
    if (!s->stopping_ns)
        s->stopping_ns = clock_monotonic_ns();
    return clock_monotonic_ns() - s->stopping_ns > STOPPING_MS * NS_PER_MS;
}

/* ---- what it means ---- */

/* Takes the first line of a text, without what could control a terminal. */
static void say(struct sent *ret, const char *text, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len && text[i] != '\n' && n + 1 < sizeof(ret->why); i++)
        ret->why[n++] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    ret->why[n] = 0;
}

bool sender_is_there(const char *why)
{
    return strcasestr(why, "out of order") || strcasestr(why, "duplicate sample") || strcasestr(why, "out-of-order");
}

static bool says_it_is_bad(const char *why)
{
    return sender_is_there(why) || strcasestr(why, "out of bounds") || strcasestr(why, "too old sample");
}

/* Is this a success whose body is none? Some receivers of OTLP answer in JSON, whatever they were asked in. */
static bool is_garbage(const struct sender *s, const struct sent *ret)
{
    uint64_t refused;
    char why[8];
    return s->is_cut ||
           (s->to->is_otlp && !s->is_json && !otlp_answer(ret->body.at, ret->body.len, &refused, why, sizeof(why)));
}

static enum answer judge_status(const struct sender *s, const struct sent *ret)
{
    long status = ret->status;
    if (!s->has_headers)
        return ANSWER_LATER;
    if (status >= 200 && status < 300)
        return s->is_html            ? ANSWER_WRONG
               : !is_garbage(s, ret) ? ANSWER_STORED
               : s->was_right        ? ANSWER_LATER
                                     : ANSWER_WRONG;
    if (status == 429 || status == 408 || status == 425)
        return ANSWER_LATER;
    if (status == 413)
        return ANSWER_TOO_LARGE;
    if (status == 415)
        return ANSWER_OLD;
    if (status == 401 || status == 403 || status == 404 || status == 405 || status == 407 || status < 400)
        return ANSWER_WRONG;
    if (status < 500)
        return ANSWER_REFUSED;
    if (s->to->is_otlp)
        return status >= 502 && status <= 504 ? ANSWER_LATER : ANSWER_REFUSED;
    /* Some versions of Prometheus answer 500 to what is too old: it would be sent for ever. */
    return says_it_is_bad(ret->why) ? ANSWER_REFUSED : ANSWER_LATER;
}

static void explain(const struct sender *s, struct sent *ret)
{
    bool is_nothing = ret->status == 404 || ret->status == 405;
    const char *what = ret->status == 401 || ret->status == 403
                           ? "the token or password is wrong, or lacks permission: "
                             "set BARO_PUSH_TOKEN or --token-file"
                       : is_nothing && !s->to->is_otlp
                           ? "nothing takes points at this path of the server (Prometheus takes them if it is started "
                             "with --web.enable-remote-write-receiver)"
                       : is_nothing                              ? "nothing takes points at this path of the server"
                       : ret->status >= 300 && ret->status < 400 ? "it is elsewhere: give the URL that it names"
                       : s->is_html                              ? "it answers with a web page: that is no receiver"
                       : ret->status < 300                       ? "the answer is none that a receiver gives"
                                                                 : NULL;
    if (ret->answer == ANSWER_LATER && !s->has_headers)
        snprintf(ret->why, sizeof(ret->why), "HTTP %ld: the answer ends within its headers", ret->status);
    else if (ret->answer == ANSWER_LATER && ret->status >= 200 && ret->status < 300)
        snprintf(ret->why, sizeof(ret->why), "HTTP %ld: the answer is none that a receiver gives", ret->status);
    else if (what && ret->answer == ANSWER_WRONG)
        snprintf(ret->why, sizeof(ret->why), "HTTP %ld: %s", ret->status, what);
    else if (!ret->why[0] && ret->status)
        snprintf(ret->why, sizeof(ret->why), "HTTP %ld", ret->status);
}

/* Of a transfer that failed: is it this machine's or the user's fault? An address at which nothing has ever answered is
 * likely to be mistyped. */
static enum answer judge_failure(const struct sender *s, CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_UNSUPPORTED_PROTOCOL: /* the answer is none of HTTP */
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_SSL_CONNECT_ERROR: return s->was_answered ? ANSWER_LATER : ANSWER_WRONG;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_URL_MALFORMAT:
    case CURLE_SSL_ISSUER_ERROR: return ANSWER_WRONG;
    default: return ANSWER_LATER;
    }
}

/* ---- when to try again ---- */

/* A random time up to twice the last one, from 1 to 60 s, so that many senders do not come back at once. */
static void pause_sending(struct sender *s, curl_off_t asked_s)
{
    uint64_t random, now_ns = clock_monotonic_ns();
    uint64_t most_ns = PAUSE_LEAST_NS << (s->failures < 6 ? s->failures + 1 : 6);
    most_ns = most_ns < PAUSE_MOST_NS ? most_ns : PAUSE_MOST_NS;
    random_fill(&random, sizeof(random));
    uint64_t pause_ns = PAUSE_LEAST_NS + random % (most_ns - PAUSE_LEAST_NS + 1);
    uint64_t asked_ns = asked_s > 0 ? (uint64_t)asked_s * NS_PER_SEC : 0;
    if (asked_s > (curl_off_t)(ASKED_MOST_NS / NS_PER_SEC))
        asked_ns = ASKED_MOST_NS;
    if (asked_ns)
        pause_ns = asked_ns + random % NS_PER_SEC;
    s->paused_until_ns = now_ns + pause_ns;
    s->failures++;
    if (!s->failing_since_ns)
        s->failing_since_ns = now_ns;
}

uint64_t sender_paused_until(const struct sender *s)
{
    return s->paused_until_ns > clock_monotonic_ns() ? s->paused_until_ns : 0;
}

uint64_t sender_failing_since(const struct sender *s)
{
    return s->failing_since_ns;
}

/* ---- sending ---- */

static void perform(struct sender *s, struct sent *ret)
{
    curl_off_t asked_s = 0;
    s->error[0] = 0;
    CURLcode code = curl_easy_perform(s->curl);
    curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &ret->status);
    curl_easy_getinfo(s->curl, CURLINFO_RETRY_AFTER, &asked_s);
    s->was_answered = s->was_answered || ret->status;
    if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && s->is_cut)) {
        say(ret, (char *)ret->body.at, ret->body.len);
        /* An error of a receiver of OTLP that is not about the message says nothing about its points. */
        ret->is_there = sender_is_there(ret->why) && (!s->to->is_otlp || ret->status == 400);
        ret->answer = judge_status(s, ret);
        explain(s, ret);
    } else {
        const char *text = s->error[0] ? s->error : curl_easy_strerror(code);
        ret->status = 0;
        ret->answer = judge_failure(s, code);
        say(ret, text, strlen(text));
    }
    s->was_right = s->was_right || ret->answer == ANSWER_STORED;
    if (ret->answer == ANSWER_LATER || ret->answer == ANSWER_WRONG) {
        pause_sending(s, asked_s);
    } else {
        s->failures = 0;
        s->paused_until_ns = s->failing_since_ns = 0;
    }
}

void sender_send(struct sender *s, const struct buf *message, bool is_version_2, struct sent *ret)
{
    *ret = (struct sent){.answer = ANSWER_LATER};
    s->now = ret;
    s->is_html = s->is_json = s->has_headers = s->is_cut = false;
    curl_easy_setopt(s->curl, CURLOPT_POSTFIELDS, message->at);
    curl_easy_setopt(s->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)message->len);
    curl_easy_setopt(s->curl, CURLOPT_HTTPHEADER, is_version_2 ? s->headers_2 : s->headers_1);
    perform(s, ret);
    s->now = NULL;
}

void sent_done(struct sent *sent)
{
    buf_done(&sent->body);
}

/* ---- the handle ---- */

static struct curl_slist *make_headers(const struct destination *to, const char *const *own)
{
    struct curl_slist *list = NULL;
    for (size_t i = 0; own[i]; i++)
        list = curl_slist_append(list, own[i]);
    for (size_t i = 0; i < to->headers.len; i += strlen((char *)to->headers.at + i) + 1)
        list = curl_slist_append(list, (char *)to->headers.at + i);
    return list;
}

static void set_options(struct sender *s)
{
    CURL *c = s->curl;
    curl_easy_setopt(c, CURLOPT_URL, s->to->url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, ANSWER_MS);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, s->error);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "barograph/" BARO_VERSION);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, s);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, s);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, check_stop);
    curl_easy_setopt(c, CURLOPT_XFERINFODATA, s);
    if (s->to->ca)
        curl_easy_setopt(c, CURLOPT_CAINFO, s->to->ca);
}

struct sender *sender_new(const struct destination *to, const volatile int *stop, struct baro_error *err)
{
    static const char *const otlp[] = {"Content-Type: application/x-protobuf", "Expect:", NULL};
    static const char *const write_1[] = {"Content-Type: application/x-protobuf", "Content-Encoding: snappy",
                                          "X-Prometheus-Remote-Write-Version: 0.1.0", "Expect:", NULL};
    static const char *const write_2[] = {"Content-Type: application/x-protobuf;proto=io.prometheus.write.v2.Request",
                                          "Content-Encoding: snappy", "X-Prometheus-Remote-Write-Version: 2.0.0",
                                          "Expect:", NULL};
    struct sender *s = calloc(1, sizeof(*s));
    if (s) {
        s->to = to;
        s->stop = stop;
        s->curl = curl_easy_init();
        s->headers_1 = make_headers(to, to->is_otlp ? otlp : write_1);
        s->headers_2 = make_headers(to, write_2);
    }
    if (!s || !s->curl || !s->headers_1 || !s->headers_2) {
        error_set(err, -ENOMEM, "libcurl can't be used: out of memory");
        sender_free(s);
        return NULL;
    }
    set_options(s);
    return s;
}

void sender_free(struct sender *s)
{
    if (!s)
        return;
    curl_easy_cleanup(s->curl);
    curl_slist_free_all(s->headers_1);
    curl_slist_free_all(s->headers_2);
    free(s);
}
