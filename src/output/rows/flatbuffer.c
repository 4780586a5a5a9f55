/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/flatbuffer.h"

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

void flat_pad(struct buf *b, size_t from, size_t align)
{
    while (!b->failed && (b->len - from) % align)
        buf_byte(b, 0);
}

/* A vtable has the place of each member in its table; here it stands in front of the table. */
size_t flat_table(struct buf *b, const struct flat_member *m, size_t n, size_t ret_place[FLAT_MEMBERS])
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

void flat_refer(struct buf *b, size_t place, size_t to)
{
    set(b, place, to - place, 4);
}

void flat_text(struct buf *b, size_t place, const char *text, size_t len)
{
    flat_pad(b, 0, 4);
    flat_refer(b, place, b->len);
    put_le(b, len, 4);
    buf_add(b, text, len);
    buf_byte(b, 0);
    flat_pad(b, 0, 4);
}

void flat_vector(struct buf *b, size_t place, size_t n, size_t align)
{
    while (!b->failed && (b->len + 4) % align)
        buf_byte(b, 0);
    flat_refer(b, place, b->len);
    put_le(b, n, 4);
}

size_t flat_references(struct buf *b, size_t place, size_t n)
{
    flat_vector(b, place, n, 4);
    size_t first = b->len;
    for (size_t i = 0; i < n; i++)
        put_le(b, 0, 4);
    return first;
}
