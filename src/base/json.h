/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON into a buffer: integers exact to 64 bits, doubles with as many digits as are needed to read them back,
 * text escaped (buf_escaped) and quoted. The writer sets commas; correct nesting is up to the caller.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

#define JSON_DEPTH 16

struct json {
    struct buf *out;
    bool pretty; /* a line for each member of the first two levels */
    unsigned depth;
    bool some[JSON_DEPTH]; /* this level has a member already */
    bool named;            /* the member's name was written; its value follows */
};

void json_begin(struct json *j, char bracket); /* '{' or '[' */
void json_end(struct json *j, char bracket);   /* '}' or ']' */
void json_key(struct json *j, const char *name);
void json_null(struct json *j);
void json_bool(struct json *j, bool v);
void json_u64(struct json *j, uint64_t v);
void json_i64(struct json *j, int64_t v);
void json_double(struct json *j, double v); /* a value that is not finite becomes null */
/* A number; null if it is not known. */
void json_u64_or_null(struct json *j, bool known, uint64_t v);
void json_i64_or_null(struct json *j, bool known, int64_t v);
void json_double_or_null(struct json *j, bool known, double v);
void json_raw(struct json *j, const char *at, size_t len); /* a value that is JSON already */
/* Writes a value that another program wrote as JSON (json_is_value()): characters that control a terminal are escaped,
 * and NaN and infinite numbers become null. */
void json_embed(struct json *j, const char *text);
void json_text(struct json *j, const char *text); /* NULL becomes null */
void json_text_n(struct json *j, const char *at, size_t len);
/* Writes text for another program of this project: escapes only what JSON itself requires. The text must be UTF-8. */
void json_exact_n(struct json *j, const char *text, size_t len);

/* ---- a member: its name and its value ---- */

static inline void json_key_u64(struct json *j, const char *name, uint64_t v)
{
    json_key(j, name);
    json_u64(j, v);
}

static inline void json_key_i64(struct json *j, const char *name, int64_t v)
{
    json_key(j, name);
    json_i64(j, v);
}

static inline void json_key_bool(struct json *j, const char *name, bool v)
{
    json_key(j, name);
    json_bool(j, v);
}

static inline void json_key_exact(struct json *j, const char *name, const char *text)
{
    json_key(j, name);
    json_exact_n(j, text, strlen(text));
}
static inline void json_key_double(struct json *j, const char *name, double v)
{
    json_key(j, name);
    json_double(j, v);
}

static inline void json_key_text(struct json *j, const char *name, const char *v)
{
    json_key(j, name);
    json_text(j, v);
}

/* A member from a text "KEY=VALUE": its value is text. */
void json_key_pair(struct json *j, const char *pair);

static inline void json_key_begin(struct json *j, const char *name, char bracket)
{
    json_key(j, name);
    json_begin(j, bracket);
}

#endif
