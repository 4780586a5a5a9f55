/* SPDX-License-Identifier: Apache-2.0 */
/* Directories (`--du`) and the kinds that only the tape has at the moment that baro show shows. */
#ifndef PROGRAMS_BARO_READ_SHOW_KINDS_H
#define PROGRAMS_BARO_READ_SHOW_KINDS_H

#include "baro/tape.h"
#include "output/rows/csv_json.h"

/* One line for each entity, a few of each kind; nothing if the sample has none. */
void show_kinds_text(const struct baro_tape *tape, const struct baro_record *record, struct buf *b);

/* Adds a member "entities" whose members are the kinds, each an array of its entities; nothing if the sample has none.
 * Returns 0 or a negative code. */
int show_kinds_json(const struct baro_tape *tape, const struct baro_record *record, struct json *j,
                    struct baro_error *err);

/* Writes the value of a member: the entities of a kind, or only those called `only`. memory: for rates, or NULL.
 * Returns 0 or a negative code. */
int show_kind_json(const struct baro_tape *tape, const struct baro_record *record, int kind, const char *only,
                   struct baro_previous *memory, struct json *j, struct baro_error *err);

#endif
