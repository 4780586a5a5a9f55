/* SPDX-License-Identifier: Apache-2.0 */
/* Access control: the Host header, the token, and the cookie that a browser gets for the token. */
#ifndef PROGRAMS_BARO_SERVE_GUARD_H
#define PROGRAMS_BARO_SERVE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "baro/error.h"

#define GUARD_TOKEN_MOST 256u
#define GUARD_COOKIE "baro_session"

struct guard {
    const char *const *hosts; /* names that are allowed besides numeric addresses and localhost */
    size_t n_hosts;
    char token[GUARD_TOKEN_MOST + 1]; /* "": no token is needed */
    char session[33];                 /* the value of the cookie: valid for this run of the server only */
};

/* token_file NULL: no token. Returns 0 or a negative code. */
int guard_init(struct guard *g, const char *token_file, struct baro_error *err);

/* Headers that a proxy and this server may interpret differently, so that one of them sees two requests where the other
 * sees one (request smuggling). */
struct guard_headers {
    unsigned hosts, lengths, encodings; /* how many headers Host, Content-Length and Transfer-Encoding there are */
    bool is_wrong;                      /* the name of a header is not a token (RFC 9110, 5.6.2) */
};
void guard_header(struct guard_headers *h, const char *name);
/* Returns what is wrong with the headers; NULL: nothing. */
const char *guard_headers_fault(const struct guard_headers *h);

/* May a request have this Host? Unknown names are refused: another site may have let its name point to this server (DNS
 * rebinding). */
bool guard_host(const struct guard *g, const char *host);
/* Does the value of the header, or NULL, allow the request? It does if no token is needed. */
bool guard_bearer(const struct guard *g, const char *authorization);
bool guard_cookie(const struct guard *g, const char *cookies);
bool guard_token(const struct guard *g, const char *token);

#endif
