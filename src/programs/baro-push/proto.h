/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire format of protobuf, as much as messages to stores of metrics need: fields with their numbers, one after the
 * other. A reader takes a field that is not there as 0 or "". The numbers are those of the specifications: prompb of
 * Prometheus (remote.proto, types.proto, io/prometheus/write/v2), opentelemetry/proto of OTLP.
 */
#ifndef PROGRAMS_BARO_PUSH_PROTO_H
#define PROGRAMS_BARO_PUSH_PROTO_H

#include "base/buf.h"

void proto_number(struct buf *b, unsigned field, uint64_t v); /* nothing if it is 0 */
void proto_fixed(struct buf *b, unsigned field, uint64_t v);  /* fixed64, sfixed64 */
void proto_double(struct buf *b, unsigned field, double v);
void proto_text(struct buf *b, unsigned field, const char *text);

/* A message inside of the message, or packed numbers. Returns what proto_end() takes. */
size_t proto_begin(struct buf *b, unsigned field);
void proto_end(struct buf *b, size_t begun);

struct proto_field {
    unsigned number;
    uint64_t value;    /* of a number */
    struct span bytes; /* of a text or a message; else empty */
};

/* Takes the next field. Returns 1, 0 at the end, or -1 if this is no message. */
int proto_next(struct span *s, struct proto_field *ret);

#endif
