/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON into a buffer as it comes: integers exact to 64 bits, doubles with as many digits as bring them back,
 * text made harmless first (buf_escaped) and then quoted. Nothing is checked but what can't go wrong silently: commas
 * are the writer's business, nesting the caller's.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define JSON_DEPTH 16

struct json {
    struct buf *out;
    bool pretty;            /* a line for each member of the first two levels */
    unsigned depth;
    bool some[JSON_DEPTH];  /* this level has a member already */
    bool named;             /* the name of the member was written, its value follows */
};

void json_begin(struct json *j, char bracket); /* '{' or '[' */
void json_end(struct json *j, char bracket);   /* '}' or ']' */
void json_key(struct json *j, const char *name);
void json_null(struct json *j);
void json_bool(struct json *j, bool v);
void json_u64(struct json *j, uint64_t v);
void json_i64(struct json *j, int64_t v);
void json_double(struct json *j, double v); /* what is not finite becomes null */
void json_text(struct json *j, const char *text); /* NULL becomes null */
void json_text_n(struct json *j, const char *at, size_t len);

#endif
