/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of a batch: they are filled row by row, and then become arrays. */
#ifndef LIBBARO_ARROW_BUILD_H
#define LIBBARO_ARROW_BUILD_H

#include <stdbool.h>

#include "baro/arrow.h"
#include "base/buf.h"
#include "base/map.h"

enum column_type {
    TYPE_TIME, /* timestamp[ns, UTC] */
    TYPE_I32,
    TYPE_U32,
    TYPE_I64,
    TYPE_U64,
    TYPE_F64,
    TYPE_BOOL,
    TYPE_TEXT /* numbers of a dictionary */
};

/* The distinct texts of a column in one batch. Each batch has its own, so memory is bounded however many texts a tape
 * has. */
struct dictionary {
    struct buf bytes; /* all texts, one behind the other */
    int32_t *end;     /* the offset at which each text ends; the element in front of the first one is 0 */
    size_t n, cap;
    struct map by_text;
};

struct column {
    const struct baro_column *is;
    enum column_type type;
    void *data;     /* the values; bits for TYPE_BOOL */
    uint8_t *valid; /* bits; NULL as long as there are no nulls */
    size_t n, cap, nulls;
    struct dictionary words;
    int32_t of_char[256]; /* for each byte, the number of the text that consists of it; -1: none so far */
    int32_t of_last;      /* the number of the text that was added last for the value `last`; -1: none so far */
    uint64_t last;
    struct hint *hint; /* for columns of processes: by place in a sample, the number of the text */
    size_t n_hints;
    bool failed; /* out of memory */
};

/* The number of the text that a process had at this place of the last sample. */
struct hint {
    uint32_t id, version, batch;
    int32_t number;
};

/* Begins a batch: the column is empty. */
void column_begin(struct column *c);
void column_done(struct column *c);
/* Makes room for more values. Returns false if out of memory. */
bool column_reserve(struct column *c, size_t more);

/* Add a value. There has to be room. */
void column_null(struct column *c);
void column_i64(struct column *c, int64_t v); /* for all types of integers; converts v to the column's type */
void column_f64(struct column *c, double v);
void column_bool(struct column *c, bool v);
void column_number(struct column *c, int32_t number); /* the number of a text */
void column_text(struct column *c, const char *at, size_t len);
void column_json(struct column *c, const char *at, size_t len); /* a text that is added without escaping */
/* Escapes a text, adds it to the dictionary if it is new, and returns its number; -1 if out of memory. */
int32_t column_word(struct column *c, const char *at, size_t len);

/* Makes one array of all columns and empties them. Returns 0 or -ENOMEM. */
int columns_take(struct column *c, size_t n, size_t rows, struct ArrowArray *ret);

/* arrow_schema.c. Returns 0 or -ENOMEM. kind: the name of the kind of the rows. */
int arrow_schema(const struct column *c, size_t n, const struct baro_header *header, int rows, const char *kind,
                 struct ArrowSchema *ret);
enum column_type arrow_type(const struct baro_column *c);

#endif
