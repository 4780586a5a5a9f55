/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes FlatBuffers from their beginning to their end. A table is written with empty places for its references; then
 * each object that it refers to is written, and its place is filled in. Example: a table with a text has a place of 4
 * bytes, which gets the distance from itself to the text.
 */
#ifndef OUTPUT_ROWS_FLATBUFFER_H
#define OUTPUT_ROWS_FLATBUFFER_H

#include "base/buf.h"

/* A member of a table: its number in the schema, its size in bytes (1, 2, 4, 8), its value; 0 for a reference. */
struct flat_member {
    unsigned number, size;
    uint64_t value;
};

enum { FLAT_MEMBERS = 8 };

/* Writes a table of n members, those of the largest size first. ret_place: where each member stands. Returns where the
 * table stands. */
size_t flat_table(struct buf *b, const struct flat_member *m, size_t n, size_t ret_place[FLAT_MEMBERS]);
/* Makes a place refer to the object at `to`. */
void flat_refer(struct buf *b, size_t place, size_t to);
/* Writes a text, and makes the place refer to it. */
void flat_text(struct buf *b, size_t place, const char *text, size_t len);
/* Writes the head of a vector, and makes the place refer to it. align: alignment of its elements, 4 or 8. The caller
 * then writes the n elements. */
void flat_vector(struct buf *b, size_t place, size_t n, size_t align);
/* Writes a vector of n references. Returns the place of the first one; the others follow, 4 bytes each. */
size_t flat_references(struct buf *b, size_t place, size_t n);
void flat_pad(struct buf *b, size_t from, size_t align);

#endif
