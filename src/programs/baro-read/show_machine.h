/* SPDX-License-Identifier: Apache-2.0 */
/* The machine at the moment that baro show shows. It is read less often than the processes, so it has a time of its
 * own. */
#ifndef PROGRAMS_BARO_READ_SHOW_MACHINE_H
#define PROGRAMS_BARO_READ_SHOW_MACHINE_H

#include "baro/tape.h"
#include "output/rows/csv_json.h"

/* Stores the last reading before that of the sample at t_ns in `memory`, for rates. It moves the cursor. Returns 0
 * or a negative code. */
int show_machine_before(struct baro_tape *tape, uint64_t t_ns, struct baro_previous *memory, struct baro_error *err);

/* Writes one line; nothing if the machine was not read until then. */
void show_machine_line(const struct baro_tape *tape, const struct baro_record *record, struct baro_previous *memory,
                       struct buf *b);
/* Writes the value of a member: an object, or null. Returns 0 or a negative code. */
int show_machine_json(struct baro_tape *tape, const struct baro_record *record, struct baro_previous *memory,
                      struct json *j, struct baro_error *err);

#endif
