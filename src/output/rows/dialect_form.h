/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and times in the form of the original programs, which are written in Python. */
#ifndef OUTPUT_ROWS_DIALECT_FORM_H
#define OUTPUT_ROWS_DIALECT_FORM_H

#include <stdint.h>

#include "base/buf.h"

/* Writes a float as Python does: no zeros at the end, but one after the point if it is whole. */
void form_float(struct buf *b, double v, int digits);
/* Writes seconds since 1970 as such a float, to the microsecond. */
void form_epoch(struct buf *b, int64_t realtime_ns);
void form_epoch_ms(struct buf *b, int64_t realtime_ns);
/* UTC, to the millisecond, with +00:00. */
void form_iso(struct buf *b, int64_t realtime_ns);

#endif
