/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a whole recording: its facts, and what it needed. They take a walk over the tape, or come from the
 * catalogue. */
#ifndef PROGRAMS_BARO_LOG_FIGURES_H
#define PROGRAMS_BARO_LOG_FIGURES_H

#include "baro/advice.h"
#include "programs/common/tape_rows.h"

struct figures {
    struct baro_need need;
    size_t n; /* figures_count() */
    struct figure {
        double value; /* NAN: absent */
        uint8_t flags;
    } at[];
};

/* The facts that are figures: numbers that a recording has once. */
size_t figures_count(void);
const struct baro_fact *figures_fact(size_t i);
/* Finds one by "job.cpu_ns", "cpu_ns", "cpu" or a short name such as "memory". Returns -1 if there is none. */
int figures_find(const char *name);
/* "job.cpu_ns" */
void figures_name(size_t i, struct buf *ret);
void figures_value(size_t i, struct figure f, struct buf *ret); /* for people; "-" if it is absent */

/* Walks over a tape. Returns NULL if it can't be read. */
struct figures *figures_read(const struct tape_row *row, struct baro_error *err);

#endif
