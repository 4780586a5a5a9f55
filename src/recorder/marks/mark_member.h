/* SPDX-License-Identifier: Apache-2.0 */
/* The members of a line that is JSON: their texts, and attributes made of them. Only for recorder/marks. */
#ifndef RECORDER_MARKS_MARK_MEMBER_H
#define RECORDER_MARKS_MARK_MEMBER_H

#include "recorder/marks/mark.h"

/* A member of an object that json_value() has found to be one. */
struct mark_member {
    char key[MARK_ATTRIBUTE_NAME];
    bool has_name;           /* the key can be the name of an attribute */
    struct span name, value; /* as they are written */
    unsigned levels;
};

/* Reads the next member. s: the text behind the last member, or the whole object. */
bool mark_member_next(struct span *s, struct mark_member *ret);

static inline bool mark_is_text(struct span value)
{
    return value.len && *value.at == '"';
}

/* Keeps up to cap - 1 bytes of a text, without NULs. */
const char *mark_keep_text(struct mark *m, struct span text, size_t cap);
/* Keeps the whole text. Returns NULL if it is longer, or not all of it can be kept. */
const char *mark_keep_exact(struct mark *m, struct span string, size_t cap);
/* A name is truncated and changed rather than lost. */
const char *mark_keep_name(struct mark *m, const char *member, struct span string);

/* Returns false if no type can hold it as it is written. */
bool mark_scan_number(struct span text, struct baro_attribute *ret);
void mark_add_attribute(struct mark *m, const struct mark_member *v);

#endif
