/* SPDX-License-Identifier: Apache-2.0 */
/* Points as messages of a protocol. */
#ifndef PROGRAMS_BARO_PUSH_ENCODE_H
#define PROGRAMS_BARO_PUSH_ENCODE_H

#include "base/buf.h"
#include "programs/baro-push/identity.h"
#include "programs/baro-push/points.h"

/* n points of a tape, those of a series in order of time. */
struct batch {
    const struct points *points;
    const struct identity *identity;
    const struct point *at;
    size_t n;
};

/* Each writes a message; returns 0 or -ENOMEM. */
int remote_write_encode(const struct batch *batch, bool is_version_2, struct buf *ret); /* in snappy's block format */
int otlp_encode(const struct batch *batch, struct buf *ret);

/* Reads the answer to a message of OTLP: how many points were refused, and why (valid until the next call). Returns
 * false if it is none. */
bool otlp_answer(const void *at, size_t len, uint64_t *ret_refused, char *ret_why, size_t size);

/* Sorts the positions of points by their series; points of a series stay in order. Returns NULL if out of memory. */
size_t *batch_by_series(const struct batch *batch);

#endif
