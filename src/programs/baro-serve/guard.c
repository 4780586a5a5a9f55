/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/error.h"
#include "base/fd.h"

#define TOKEN_LEAST 16u

static int read_token(struct guard *g, const char *path, struct baro_error *err)
{
    char text[GUARD_TOKEN_MOST + 2];
    ssize_t n = fd_read_file(AT_FDCWD, path, text, sizeof(text) - 1);
    if (n < 0)
        return error_set(err, (int)n, "can't read the token in %s: %s", path, strerror((int)-n));
    text[n] = 0;
    size_t len = strcspn(text, "\r\n");
    if (len < TOKEN_LEAST || len > GUARD_TOKEN_MOST)
        return error_set(err, BARO_E_SYNTAX, "the first line of %s, the token, has %zu characters; it needs %u to %u",
                         path, len, TOKEN_LEAST, GUARD_TOKEN_MOST);
    for (size_t i = 0; i < len; i++) {
        if (text[i] <= ' ' || text[i] > '~')
            return error_set(err, BARO_E_SYNTAX, "the token in %s has a blank, or a character that is not ASCII", path);
    }
    memcpy(g->token, text, len);
    g->token[len] = 0;
    return 0;
}

int guard_init(struct guard *g, const char *token_file, struct baro_error *err)
{
    unsigned char random[16];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return error_set(err, -errno, "no random numbers: %s", strerror(errno));
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(g->session + 2 * i, 3, "%02x", random[i]);
    return token_file ? read_token(g, token_file, err) : 0;
}

static bool is_number(const char *at, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (at[i] < '0' || at[i] > '9')
            return false;
    }
    return len > 0 && len <= 5;
}

static bool is_address(const char *at, size_t len, int family)
{
    char text[INET6_ADDRSTRLEN], address[16];
    if (len >= sizeof(text))
        return false;
    memcpy(text, at, len);
    text[len] = 0;
    return inet_pton(family, text, address) == 1;
}

static bool is_word(const char *at, size_t len, const char *word)
{
    return strlen(word) == len && strncasecmp(at, word, len) == 0;
}

static bool is_token(const char *text)
{
    static const char good[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return *text && !text[strspn(text, good)];
}

void guard_header(struct guard_headers *h, const char *name)
{
    h->hosts += strcasecmp(name, "Host") == 0;
    h->lengths += strcasecmp(name, "Content-Length") == 0;
    h->encodings += strcasecmp(name, "Transfer-Encoding") == 0;
    h->is_wrong |= !is_token(name);
}

const char *guard_headers_fault(const struct guard_headers *h)
{
    return h->is_wrong                  ? "the name of a header has a character that none may have"
           : h->hosts > 1               ? "the request has more than one Host"
           : h->lengths > 1             ? "the request has more than one Content-Length"
           : h->encodings > 1           ? "the request has more than one Transfer-Encoding"
           : h->lengths && h->encodings ? "the request has Content-Length and Transfer-Encoding"
                                        : NULL;
}

bool guard_host(const struct guard *g, const char *host)
{
    const char *end = host ? strchr(host, ']') : NULL, *colon = host ? strrchr(host, ':') : NULL;
    if (!host)
        return false;
    if (host[0] == '[')
        return end && (!end[1] || (end[1] == ':' && is_number(end + 2, strlen(end + 2)))) &&
               is_address(host + 1, (size_t)(end - host - 1), AF_INET6);
    if (colon && !is_number(colon + 1, strlen(colon + 1)))
        return false;
    size_t len = colon ? (size_t)(colon - host) : strlen(host);
    bool is_known = is_word(host, len, "localhost") || is_address(host, len, AF_INET);
    for (size_t i = 0; i < g->n_hosts; i++)
        is_known = is_known || is_word(host, len, g->hosts[i]);
    return is_known;
}

/* Compares in constant time, so that the time does not reveal how many characters are right. */
static bool same(const char *secret, const char *given, size_t len)
{
    size_t n = strlen(secret);
    unsigned differ = n != len;
    for (size_t i = 0; i < n; i++)
        differ |= (unsigned char)secret[i] ^ (unsigned char)(i < len ? given[i] : 0);
    return differ == 0;
}

bool guard_bearer(const struct guard *g, const char *authorization)
{
    if (!*g->token)
        return true;
    if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0)
        return false;
    authorization += 7 + strspn(authorization + 7, " ");
    return same(g->token, authorization, strlen(authorization));
}

bool guard_cookie(const struct guard *g, const char *cookies)
{
    static const char name[] = GUARD_COOKIE "=";
    bool found = !*g->token;
    while (cookies && *cookies) {
        cookies += strspn(cookies, "; ");
        size_t len = strcspn(cookies, ";");
        if (len >= strlen(name) && memcmp(cookies, name, strlen(name)) == 0)
            found = same(g->session, cookies + strlen(name), len - strlen(name)) || found;
        cookies += len;
    }
    return found;
}

bool guard_token(const struct guard *g, const char *token)
{
    return !*g->token || (token && same(g->token, token, strlen(token)));
}
