/* SPDX-License-Identifier: Apache-2.0 */
/* A message is its metadata, a FlatBuffer (Message.fbs and Schema.fbs of Apache Arrow), and a body: the buffers.
 * Numbers of members and of enums are those of these schemas. */
#include <string.h>

#include "output/rows/arrow_ipc.h"
#include "base/buf.h"

/* ---- flatbuffers ---- */

/*
 * Writes FlatBuffers from their beginning to their end. A table is written with empty places for its references; then
 * each object that it refers to is written, and its place is filled in. Example: a table with a text has a place of 4
 * bytes, which gets the distance from itself to the text.
 */

/* A member of a table: its number in the schema, its size in bytes (1, 2, 4, 8), its value; 0 for a reference. */
struct flat_member {
    unsigned number, size;
    uint64_t value;
};

enum { FLAT_MEMBERS = 8 };

static void put_le(struct buf *b, uint64_t v, size_t size)
{
    for (size_t i = 0; i < size; i++)
        buf_byte(b, (uint8_t)(v >> 8 * i));
}

static void set(struct buf *b, size_t at, uint64_t v, size_t size)
{
    for (size_t i = 0; !b->failed && i < size; i++)
        b->at[at + i] = (uint8_t)(v >> 8 * i);
}

static void flat_pad(struct buf *b, size_t from, size_t align)
{
    while (!b->failed && (b->len - from) % align)
        buf_byte(b, 0);
}

/* A vtable has the place of each member in its table; here it stands in front of the table. */
static size_t flat_table(struct buf *b, const struct flat_member *m, size_t n, size_t ret_place[FLAT_MEMBERS])
{
    uint16_t offset[FLAT_MEMBERS] = {0};
    size_t numbers = 0, end = 4; /* behind the distance to the vtable */
    for (size_t i = 0; i < n; i++) {
        offset[m[i].number] = (uint16_t)end;
        end += m[i].size;
        numbers = m[i].number + 1 > numbers ? m[i].number + 1 : numbers;
    }
    const size_t vtable_size = 4 + 2 * numbers;
    while (!b->failed && (b->len + vtable_size) % 8 != 4) /* so that members of 8 bytes stand at multiples of 8 */
        buf_byte(b, 0);
    size_t vtable = b->len, table = vtable + vtable_size;
    put_le(b, vtable_size, 2);
    put_le(b, end, 2);
    for (size_t i = 0; i < numbers; i++)
        put_le(b, offset[i], 2);
    put_le(b, table - vtable, 4);
    for (size_t i = 0; i < n; i++) {
        ret_place[i] = b->len;
        put_le(b, m[i].value, m[i].size);
    }
    flat_pad(b, 0, 4);
    return table;
}

/* Makes a place refer to the object at `to`. */
static void flat_refer(struct buf *b, size_t place, size_t to)
{
    set(b, place, to - place, 4);
}

/* Writes a text, and makes the place refer to it. */
static void flat_text(struct buf *b, size_t place, const char *text, size_t len)
{
    flat_pad(b, 0, 4);
    flat_refer(b, place, b->len);
    put_le(b, len, 4);
    buf_add(b, text, len);
    buf_byte(b, 0);
    flat_pad(b, 0, 4);
}

/* Writes the head of a vector, and makes the place refer to it. align: alignment of its elements, 4 or 8. The caller
 * then writes the n elements. */
static void flat_vector(struct buf *b, size_t place, size_t n, size_t align)
{
    while (!b->failed && (b->len + 4) % align)
        buf_byte(b, 0);
    flat_refer(b, place, b->len);
    put_le(b, n, 4);
}

/* Writes a vector of n references. Returns the place of the first one; the others follow, 4 bytes each. */
static size_t flat_references(struct buf *b, size_t place, size_t n)
{
    flat_vector(b, place, n, 4);
    size_t first = b->len;
    for (size_t i = 0; i < n; i++)
        put_le(b, 0, 4);
    return first;
}

enum { VERSION_5 = 4, HEADER_SCHEMA = 1, HEADER_DICTIONARY = 2, HEADER_BATCH = 3 };
enum { IPC_INT = 2, IPC_FLOATING_POINT = 3, IPC_UTF8 = 5, IPC_BOOL = 6, IPC_TIMESTAMP = 10 };
enum { PRECISION_DOUBLE = 2, UNIT_NANOSECOND = 3, ALIGN = 8, MOST_BUFFERS = 3 };

/* ---- messages ---- */

/* Begins the metadata of a message. *ret_header: the place of the message's header. */
static void begin_message(struct buf *b, unsigned header, uint64_t body, size_t *ret_header)
{
    const struct flat_member members[] = {{3, 8, body}, {2, 4, 0}, {0, 2, VERSION_5}, {1, 1, header}};
    size_t place[FLAT_MEMBERS];
    static const uint8_t root[4];
    buf_add(b, root, sizeof(root));
    size_t table = flat_table(b, members, 4, place);
    flat_refer(b, 0, table);
    *ret_header = place[1];
}

/* Puts the metadata into the stream. */
static void end_message(struct buf *metadata, struct buf *ret)
{
    flat_pad(metadata, 0, ALIGN);
    buf_le32(ret, UINT32_MAX);
    buf_le32(ret, (uint32_t)metadata->len);
    buf_add(ret, metadata->at, metadata->len);
    ret->failed = ret->failed || metadata->failed;
    buf_done(metadata);
}

/* ---- schema ---- */

/* Writes the metadata of the C interface as pairs of key and value. */
static void write_pairs(struct buf *b, size_t place, const char *at)
{
    int32_t n, len;
    memcpy(&n, at, sizeof(n));
    at += sizeof(n);
    size_t reference = flat_references(b, place, (size_t)n);
    for (int32_t i = 0; i < n; i++, reference += 4) {
        const struct flat_member members[] = {{0, 4, 0}, {1, 4, 0}};
        size_t places[FLAT_MEMBERS];
        flat_refer(b, reference, flat_table(b, members, 2, places));
        for (int k = 0; k < 2; k++) {
            memcpy(&len, at, sizeof(len));
            flat_text(b, places[k], at + sizeof(len), (size_t)len);
            at += sizeof(len) + (size_t)len;
        }
    }
}

static unsigned type_of(const struct ArrowSchema *f)
{
    if (f->dictionary)
        return IPC_UTF8;
    switch (f->format[0]) {
    case 'b': return IPC_BOOL;
    case 'g': return IPC_FLOATING_POINT;
    case 't': return IPC_TIMESTAMP;
    default: return IPC_INT;
    }
}

static size_t write_int(struct buf *b, const char *format)
{
    const struct flat_member members[] = {
        {0, 4, format[0] == 'i' || format[0] == 'I' ? 32 : 64},
        {1, 1, format[0] == 'i' || format[0] == 'l'},
    };
    size_t place[FLAT_MEMBERS];
    return flat_table(b, members, 2, place);
}

static void write_type(struct buf *b, size_t at, const struct ArrowSchema *f)
{
    const struct flat_member precision = {0, 2, PRECISION_DOUBLE}, timestamp[] = {{1, 4, 0}, {0, 2, UNIT_NANOSECOND}};
    size_t place[FLAT_MEMBERS];
    switch (type_of(f)) {
    case IPC_INT: flat_refer(b, at, write_int(b, f->format)); break;
    case IPC_FLOATING_POINT: flat_refer(b, at, flat_table(b, &precision, 1, place)); break;
    case IPC_TIMESTAMP:
        flat_refer(b, at, flat_table(b, timestamp, 2, place));
        flat_text(b, place[0], "UTC", 3);
        break;
    default: flat_refer(b, at, flat_table(b, NULL, 0, place));
    }
}

static size_t write_field(struct buf *b, const struct ArrowSchema *f, size_t number)
{
    struct flat_member members[FLAT_MEMBERS] = {{0, 4, 0}, {3, 4, 0}, {5, 4, 0}};
    size_t place[FLAT_MEMBERS], inner[FLAT_MEMBERS], n = 3, metadata = 0, dictionary = 0;
    if (f->metadata)
        members[metadata = n++] = (struct flat_member){6, 4, 0};
    if (f->dictionary)
        members[dictionary = n++] = (struct flat_member){4, 4, 0};
    members[n++] = (struct flat_member){1, 1, 1}; /* nullable */
    members[n++] = (struct flat_member){2, 1, type_of(f)};
    size_t table = flat_table(b, members, n, place);
    flat_text(b, place[0], f->name, strlen(f->name));
    write_type(b, place[1], f);
    flat_references(b, place[2], 0); /* no children */
    if (metadata)
        write_pairs(b, place[metadata], f->metadata);
    if (dictionary) {
        const struct flat_member encoding[] = {{0, 8, number}, {1, 4, 0}};
        flat_refer(b, place[dictionary], flat_table(b, encoding, 2, inner));
        flat_refer(b, inner[1], write_int(b, "i"));
    }
    return table;
}

void arrow_ipc_schema(const struct ArrowSchema *schema, struct buf *ret)
{
    const struct flat_member members[] = {{1, 4, 0}, {2, 4, 0}, {0, 2, 0}};
    struct buf b = {0};
    size_t header, place[FLAT_MEMBERS];
    begin_message(&b, HEADER_SCHEMA, 0, &header);
    flat_refer(&b, header, flat_table(&b, members, 3, place));
    size_t reference = flat_references(&b, place[0], (size_t)schema->n_children);
    for (int64_t i = 0; i < schema->n_children; i++, reference += 4)
        flat_refer(&b, reference, write_field(&b, schema->children[i], (size_t)i));
    if (schema->metadata)
        write_pairs(&b, place[1], schema->metadata);
    end_message(&b, ret);
}

/* ---- batches ---- */

/* The buffers of a column, as they are in a body. */
struct part {
    const void *at;
    size_t len;
};

static size_t value_width(const struct ArrowSchema *f)
{
    return f->format[0] == 'i' || f->format[0] == 'I' ? 4 : 8;
}

static size_t parts_of_column(const struct ArrowSchema *f, const struct ArrowArray *a, struct part *ret)
{
    const size_t n = (size_t)a->length, bits = (n + 7) / 8;
    ret[0] = (struct part){a->buffers[0], a->buffers[0] ? bits : 0};
    ret[1] = (struct part){a->buffers[1], f->format[0] == 'b' ? bits : n * value_width(f)};
    return 2;
}

static size_t parts_of_texts(const struct ArrowArray *a, struct part *ret)
{
    const int32_t *ends = a->buffers[1];
    ret[0] = (struct part){NULL, 0};
    ret[1] = (struct part){ends, ((size_t)a->length + 1) * sizeof(*ends)};
    ret[2] = (struct part){a->buffers[2], (size_t)ends[a->length]};
    return 3;
}

static void put_le64(struct buf *b, uint64_t v)
{
    buf_le32(b, (uint32_t)v);
    buf_le32(b, (uint32_t)(v >> 32));
}

/* A body, and the metadata of its arrays. */
struct body {
    struct buf nodes, buffers, bytes;
    size_t n_nodes, n_buffers;
};

static void add_array(struct body *body, const struct ArrowArray *a, const struct part *part, size_t n)
{
    put_le64(&body->nodes, (uint64_t)a->length);
    put_le64(&body->nodes, (uint64_t)a->null_count);
    body->n_nodes++;
    for (size_t i = 0; i < n; i++) {
        put_le64(&body->buffers, body->bytes.len);
        put_le64(&body->buffers, part[i].len);
        buf_add(&body->bytes, part[i].at ? part[i].at : "", part[i].len);
        flat_pad(&body->bytes, 0, ALIGN);
    }
    body->n_buffers += n;
}

/* Writes a table RecordBatch. Returns where it stands. */
static size_t write_batch(struct buf *b, const struct body *body, int64_t length)
{
    const struct flat_member members[] = {{0, 8, (uint64_t)length}, {1, 4, 0}, {2, 4, 0}};
    size_t place[FLAT_MEMBERS];
    size_t table = flat_table(b, members, 3, place);
    flat_vector(b, place[1], body->n_nodes, 8);
    buf_add(b, body->nodes.at, body->nodes.len);
    flat_vector(b, place[2], body->n_buffers, 8);
    buf_add(b, body->buffers.at, body->buffers.len);
    return table;
}

static void write_body(struct buf *metadata, struct body *body, struct buf *ret)
{
    metadata->failed = metadata->failed || body->nodes.failed || body->buffers.failed || body->bytes.failed;
    end_message(metadata, ret);
    buf_add(ret, body->bytes.at, body->bytes.len);
    buf_done(&body->nodes);
    buf_done(&body->buffers);
    buf_done(&body->bytes);
}

static void write_dictionary(size_t number, const struct ArrowArray *words, struct buf *ret)
{
    const struct flat_member members[] = {{0, 8, number}, {1, 4, 0}};
    struct part part[MOST_BUFFERS];
    struct body body = {0};
    struct buf b = {0};
    size_t header, place[FLAT_MEMBERS];
    add_array(&body, words, part, parts_of_texts(words, part));
    begin_message(&b, HEADER_DICTIONARY, body.bytes.len, &header);
    flat_refer(&b, header, flat_table(&b, members, 2, place));
    flat_refer(&b, place[1], write_batch(&b, &body, words->length));
    write_body(&b, &body, ret);
}

void arrow_ipc_batch(const struct ArrowSchema *schema, const struct ArrowArray *array, struct buf *ret)
{
    struct part part[MOST_BUFFERS];
    struct body body = {0};
    struct buf b = {0};
    size_t header;
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->dictionary)
            write_dictionary((size_t)i, array->children[i]->dictionary, ret);
        add_array(&body, array->children[i], part, parts_of_column(schema->children[i], array->children[i], part));
    }
    begin_message(&b, HEADER_BATCH, body.bytes.len, &header);
    flat_refer(&b, header, write_batch(&b, &body, array->length));
    write_body(&b, &body, ret);
}

void arrow_ipc_end(struct buf *ret)
{
    buf_le32(ret, UINT32_MAX);
    buf_le32(ret, 0);
}
