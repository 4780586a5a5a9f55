/* SPDX-License-Identifier: Apache-2.0 */
/* The phases that the job was in at the moment that baro show shows. */
#ifndef PROGRAMS_BARO_READ_SHOW_PHASES_H
#define PROGRAMS_BARO_READ_SHOW_PHASES_H

#include "baro/tape.h"
#include "baro/timeline.h"
#include "output/rows/csv_json.h"

/* It has a cursor of its own, which goes on where it was as the tape grows. */
struct show_phases {
    struct baro_tape *tape;
    struct baro_timeline *timeline; /* NULL: not opened */
};

/* Reads what was added to the tape. Returns 0 or a negative code. */
int show_phases_read(struct show_phases *p, const char *path, struct baro_error *err);
void show_phases_done(struct show_phases *p);

/* Writes one line, "in phase epoch number=3 since +1.543s"; nothing if the job has no phases. */
void show_phases_text(const struct show_phases *p, uint64_t t_ns, struct buf *b);
/* Adds a member "phases", an array. */
void show_phases_json(const struct show_phases *p, uint64_t t_ns, struct json *j);

#endif
