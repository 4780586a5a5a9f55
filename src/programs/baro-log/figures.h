/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a whole recording: its facts, and what it needed. They take a walk over the tape, or come from the
 * catalogue. */
#ifndef PROGRAMS_BARO_LOG_FIGURES_H
#define PROGRAMS_BARO_LOG_FIGURES_H

#include "baro/advice.h"
#include "programs/common/tape_rows.h"

#define FIGURES_EACH_MOST 60000000000u /* CPU time in nanoseconds for reading a tape */

struct figures {
    struct baro_need need;
    size_t n; /* tape_figures_count() */
    struct figure {
        double value; /* NAN: absent */
        uint8_t flags;
    } at[];
};

/* The facts that are figures: numbers that a recording has once. */
size_t tape_figures_count(void);
const struct baro_fact *tape_figures_fact(size_t i);
/* Finds one by "job.cpu_ns", "cpu_ns", "cpu" or a short name such as "memory". Returns -1 if there is none. */
int tape_figures_find(const char *name);
/* "job.cpu_ns" */
void tape_figures_name(size_t i, struct buf *ret);
void tape_figures_put(const struct baro_fact *fact, struct figure f,
                      struct buf *ret); /* for people; "-" if it is absent */

/* Walks over a tape. Returns NULL if it can't be read. */
struct figures *tape_figures_read(const struct tape_row *row, struct baro_error *err);

#endif
