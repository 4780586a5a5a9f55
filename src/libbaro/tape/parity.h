/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repair data of a tape. Each 32 KiB are followed by the XOR of their columns (byte i belongs to column i modulo the
 * number of columns), so a run of damaged bytes that is no longer than the number of columns can be computed from the
 * rest. A copy of the front of the file is at its end. Example: with 512 columns, any 512 consecutive bytes can be
 * repaired.
 */
#ifndef LIBBARO_TAPE_PARITY_H
#define LIBBARO_TAPE_PARITY_H

#include "base/buf.h"
#include "base/span.h"

enum { PARITY_COLUMNS = 512, PARITY_EVERY = 32 << 10, PARITY_COVERS_MOST = 1 << 20 };

struct parity {
    uint64_t from, len; /* in the file */
    uint8_t at[PARITY_COLUMNS];
};

/* Adds bytes that were written at an offset. If they don't continue the ones before, begins anew. */
void parity_add(struct parity *p, uint64_t offset, const uint8_t *at, size_t len);

/* Writes the payload of a parity frame; if few bytes are covered, it has fewer columns. */
void parity_write(struct buf *out, const struct parity *p);

struct parity_view {
    uint64_t from, len;
    const uint8_t *at;
    size_t columns; /* a power of two */
};
bool parity_scan(struct span in, struct parity_view *ret);

#endif
