/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/tape/parity.h"

#include <string.h>

void parity_add(struct parity *p, uint64_t offset, const uint8_t *at, size_t len)
{
    if (offset != p->from + p->len)
        *p = (struct parity){.from = offset};
    while (len > 0) {
        size_t column = p->len % PARITY_COLUMNS, n = PARITY_COLUMNS - column;
        n = n < len ? n : len;
        for (size_t i = 0; i < n; i++)
            p->at[column + i] ^= at[i];
        p->len += n;
        at += n;
        len -= n;
    }
}

/* 1.6 to 3 % of what is covered. */
static size_t columns_for(uint64_t len)
{
    size_t columns = PARITY_COLUMNS;
    while (columns > 128 && columns * 32 > len)
        columns /= 2;
    return columns;
}

void parity_write(struct buf *out, const struct parity *p)
{
    uint8_t folded[PARITY_COLUMNS] = {0};
    size_t columns = columns_for(p->len);
    for (size_t i = 0; i < PARITY_COLUMNS; i++)
        folded[i % columns] ^= p->at[i];
    buf_varint(out, p->from);
    buf_varint(out, p->len);
    buf_add(out, folded, columns);
}

bool parity_scan(struct span in, struct parity_view *ret)
{
    if (!scan_varint(&in, &ret->from) || !scan_varint(&in, &ret->len))
        return false;
    ret->at = (const uint8_t *)in.at;
    ret->columns = in.len;
    return in.len >= 16 && in.len <= 64 << 10 && (in.len & (in.len - 1)) == 0 && ret->len > 0 &&
           ret->len <= PARITY_COVERS_MOST && ret->from + ret->len >= ret->from;
}
