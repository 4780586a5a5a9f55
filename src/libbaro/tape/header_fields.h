/* SPDX-License-Identifier: Apache-2.0 */
/* struct baro_header as a list of fields with numbers and lengths, which later versions can read; and the limits as a
 * list of such fields. */
#ifndef LIBBARO_TAPE_HEADER_FIELDS_H
#define LIBBARO_TAPE_HEADER_FIELDS_H

#include "base/buf.h"
#include "base/span.h"
#include "libbaro/sample/sample.h"
#include "libbaro/tape/row_encoding.h"

enum { TAPE_ID_LEN = 32 };

void head_write(struct buf *out, const struct baro_header *h);
/* Gives the tape a random id. */
void head_new_id(struct baro_header *h);
/* Returns 0, BARO_E_CORRUPT or -ENOMEM; free with head_done() in any case. *ret_wanted: a bit for each of the tape's
 * process columns, which the schema maps to metrics. */
enum { WANTED_SIZE = COLUMNS_MAX / 8 };
int head_scan(struct span in, struct baro_header *ret, uint8_t ret_wanted[WANTED_SIZE]);
void head_done(struct baro_header *h);

void limits_write(struct buf *out, const struct baro_limits *l);
bool limits_scan(struct span in, struct baro_limits *ret);

#endif
