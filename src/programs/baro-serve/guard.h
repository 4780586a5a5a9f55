/* SPDX-License-Identifier: Apache-2.0 */
/* Who may ask: the Host header, the token, and the cookie that a browser gets for it. */
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
    char token[GUARD_TOKEN_MOST + 1]; /* "": none is asked for */
    char session[33];                 /* what the cookie holds: of this run of the server alone */
};

/* token_file NULL: no token. Returns 0 or a negative code. */
int guard_init(struct guard *g, const char *token_file, struct baro_error *err);

/* What a proxy before this server may read otherwise than it: then one request is two for one of them. */
struct guard_headers {
    unsigned hosts, lengths, encodings;
    bool is_wrong; /* a name that is no token (RFC 9110, 5.6.2) */
};
void guard_header(struct guard_headers *h, const char *name);
/* NULL: they are clear; else what is wrong. */
const char *guard_headers_fault(const struct guard_headers *h);

/* May a request have this Host? A name that is not known could be one that a page of another site has pointed here. */
bool guard_host(const struct guard *g, const char *host);
/* Each takes the value of a header, or NULL, and is true where no token is asked for. */
bool guard_bearer(const struct guard *g, const char *authorization);
bool guard_cookie(const struct guard *g, const char *cookies);
bool guard_token(const struct guard *g, const char *token);

#endif
