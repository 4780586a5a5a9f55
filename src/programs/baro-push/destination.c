/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-push/destination.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/map.h"
#include "base/span.h"

#define TOKEN_MOST 16384
#define ENCODE "in a password, write %2F for a slash, %40 for @, %3A for a colon"
#define HOW "write prometheus+http://HOST:PORT/api/v1/write or otlp+http://HOST:4318"

/* ---- the URL ---- */

static const char *environment(const char *name)
{
    const char *v = getenv(name);
    return v && *v ? v : NULL;
}

/* Copies a part of a URL. Returns NULL if it has none. */
static char *part_of(CURLU *u, CURLUPart part)
{
    char *at = NULL, *copy = NULL;
    if (curl_url_get(u, part, &at, 0) == CURLUE_OK)
        copy = strdup(at);
    curl_free(at);
    return copy;
}

static bool takes_path(struct destination *d, CURLU *u, bool is_given)
{
    char *path = part_of(u, CURLUPART_PATH);
    bool is_root = !path || !*path || strcmp(path, "/") == 0, is_right = true;
    if (!is_given && path && span_ends(span_str(path), "/v1/metrics"))
        d->is_otlp = true;
    else if (!is_given && !(path && span_ends(span_str(path), "/write")))
        is_right = false;
    free(path);
    if (is_right && is_root)
        curl_url_set(u, CURLUPART_PATH, d->is_otlp ? "/v1/metrics" : "/api/v1/write", 0);
    return is_right;
}

/* Of http://user:pa/ss@host, the path would be "/ss@host": a secret that is shown, at a host that is another one. */
static bool has_password_in_path(CURLU *u)
{
    static const CURLUPart parts[] = {CURLUPART_PATH, CURLUPART_QUERY, CURLUPART_FRAGMENT};
    bool has_at = false;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        char *part = part_of(u, parts[i]);
        has_at = has_at || (part && strchr(part, '@'));
        free(part);
    }
    return has_at;
}

/* Fills url, shown and hash from the parts of a URL. */
static bool write_url(struct destination *d, CURLU *u)
{
    d->url = part_of(u, CURLUPART_URL);
    curl_url_set(u, CURLUPART_USER, NULL, 0);
    curl_url_set(u, CURLUPART_PASSWORD, NULL, 0);
    curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0);
    char *named = part_of(u, CURLUPART_URL);
    curl_url_set(u, CURLUPART_QUERY, NULL, 0);
    d->shown = part_of(u, CURLUPART_URL);
    if (named)
        snprintf(d->hash, sizeof(d->hash), "%016" PRIx64, map_hash(named, strlen(named)));
    free(named);
    return d->url && d->shown && d->hash[0];
}

static int parse_url(struct destination *d, const char *to, struct baro_error *err)
{
    struct span s = span_str(to);
    bool is_given = span_starts(s, "otlp+") || span_starts(s, "prometheus+");
    d->is_otlp = span_starts(s, "otlp+");
    const char *plain = is_given ? strchr(to, '+') + 1 : to;
    if (!span_starts(span_str(plain), "http://") && !span_starts(span_str(plain), "https://"))
        return error_set(err, BARO_E_SYNTAX, "the URL to push to has no protocol that is known: %s", HOW);
    CURLU *u = curl_url();
    if (!u)
        return error_set(err, -ENOMEM, "out of memory");
    int code = 0;
    if (curl_url_set(u, CURLUPART_URL, plain, 0) != CURLUE_OK)
        code =
            error_set(err, BARO_E_SYNTAX, "the URL to push to can't be parsed: %s", strchr(plain, '@') ? ENCODE : HOW);
    else if (has_password_in_path(u))
        code = error_set(err, BARO_E_SYNTAX, "the URL to push to has @ after the host: %s", ENCODE);
    else if (!takes_path(d, u, is_given))
        code = error_set(err, BARO_E_SYNTAX, "the URL to push to does not say what is there: %s", HOW);
    char *port = code == 0 ? part_of(u, CURLUPART_PORT) : NULL;
    if (code == 0 && !port && d->is_otlp && span_starts(span_str(plain), "http://"))
        curl_url_set(u, CURLUPART_PORT, "4318", 0);
    free(port);
    if (code == 0 && !write_url(d, u))
        code = error_set(err, -ENOMEM, "out of memory");
    curl_url_cleanup(u);
    return code;
}

/* The variables of OpenTelemetry: the one for metrics is the whole URL, the other one lacks /v1/metrics. */
static int take_environment(struct destination *d, struct baro_error *err)
{
    const char *whole = environment("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
    const char *base = environment("OTEL_EXPORTER_OTLP_ENDPOINT");
    if (!whole && !base)
        return error_set(err, BARO_E_SYNTAX, "--to otlp: set OTEL_EXPORTER_OTLP_ENDPOINT, or %s", HOW);
    struct buf b = {0};
    buf_printf(&b, "otlp+%s", whole ? whole : base);
    while (!whole && b.len && b.at[b.len - 1] == '/')
        b.len--;
    buf_str(&b, whole ? "" : "/v1/metrics");
    buf_byte(&b, 0);
    int code = b.failed ? error_set(err, -ENOMEM, "out of memory") : parse_url(d, (char *)b.at, err);
    buf_done(&b);
    return code;
}

/* ---- secrets ---- */

static void add_header(struct destination *d, const char *name, const char *value, size_t len)
{
    buf_str(&d->headers, name);
    buf_add(&d->headers, value, len);
    buf_byte(&d->headers, 0);
}

static int read_token(struct destination *d, const char *file, struct baro_error *err)
{
    char room[TOKEN_MOST];
    const char *token = environment("BARO_PUSH_TOKEN");
    size_t len = token ? strlen(token) : 0;
    if (file) {
        ssize_t n = fd_read_file(AT_FDCWD, file, room, sizeof(room));
        if (n < 0)
            return error_set(err, (int)n, "can't read the token in %s: %s", file, strerror((int)-n));
        token = room;
        len = (size_t)n;
    }
    while (len && (token[len - 1] == '\n' || token[len - 1] == '\r' || token[len - 1] == ' '))
        len--;
    for (size_t i = 0; i < len; i++) {
        if (token[i] <= ' ' || token[i] > '~')
            return error_set(err, BARO_E_SYNTAX, "%s is no token: it has blanks, or characters that are not ASCII",
                             file ? file : "$BARO_PUSH_TOKEN");
    }
    if (file && !len)
        return error_set(err, BARO_E_EMPTY, "%s has no token: it is empty", file);
    if (len)
        add_header(d, "Authorization: Bearer ", token, len);
    explicit_bzero(room, sizeof(room));
    return 0;
}

/* "api-key=abc%20d,tenant=7" */
static int add_otlp_headers(struct destination *d, const char *list, struct baro_error *err)
{
    for (const char *at = list; *at;) {
        size_t len = strcspn(at, ","), name = strcspn(at, "=,");
        while (len && *at == ' ') {
            at++;
            len--;
            name--;
        }
        int n = 0;
        char *value = name < len ? curl_easy_unescape(NULL, at + name + 1, (int)(len - name - 1), &n) : NULL;
        if (len && (!value || !name || memchr(value, '\n', (size_t)n) || memchr(value, '\r', (size_t)n) ||
                    memchr(value, 0, (size_t)n))) {
            curl_free(value);
            return error_set(err, BARO_E_SYNTAX, "OTEL_EXPORTER_OTLP_HEADERS is not NAME=VALUE,...");
        }
        if (len) {
            buf_add(&d->headers, at, name);
            add_header(d, ": ", value, (size_t)n);
        }
        curl_free(value);
        at += len + (at[len] == ',');
    }
    return 0;
}

int destination_init(struct destination *ret, const char *to, const char *token_file, const char *ca,
                     struct baro_error *err)
{
    *ret = (struct destination){.ca = ca};
    int code = strcmp(to, "otlp") == 0 ? take_environment(ret, err) : parse_url(ret, to, err);
    if (code >= 0)
        code = read_token(ret, token_file, err);
    const char *headers = environment("OTEL_EXPORTER_OTLP_METRICS_HEADERS");
    headers = headers ? headers : environment("OTEL_EXPORTER_OTLP_HEADERS");
    if (code >= 0 && ret->is_otlp && headers)
        code = add_otlp_headers(ret, headers, err);
    if (code >= 0 && ret->headers.failed)
        code = error_set(err, -ENOMEM, "out of memory");
    return code;
}

void destination_done(struct destination *d)
{
    free(d->url);
    free(d->shown);
    buf_done(&d->headers);
    *d = (struct destination){0};
}
