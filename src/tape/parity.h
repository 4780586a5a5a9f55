/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes a damaged tape whole again: each 32 KiB of it are followed by the XOR of their columns (byte i belongs to
 * column i modulo the number of columns), so that a run of damaged bytes no longer than there are columns is computed
 * from the rest; and the front of the file stands once more at its end.
 */
#ifndef TAPE_PARITY_H
#define TAPE_PARITY_H

#include "base/buf.h"
#include "base/span.h"

enum { PARITY_COLUMNS = 512, PARITY_EVERY = 32 << 10, PARITY_COVERS_MOST = 1 << 20 };

struct parity {
    uint64_t from, len; /* in the file */
    uint8_t at[PARITY_COLUMNS];
};

/* Bytes that were written at an offset. Where they don't continue what was before, that is forgotten. */
void parity_add(struct parity *p, uint64_t offset, const uint8_t *at, size_t len);

/* The payload of a parity frame: for little that is covered there are fewer columns. */
void parity_write(struct buf *out, const struct parity *p);

struct parity_view {
    uint64_t from, len;
    const uint8_t *at;
    size_t columns; /* a power of two */
};
bool parity_scan(struct span in, struct parity_view *ret);

#endif
