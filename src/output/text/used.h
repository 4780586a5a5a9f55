/* SPDX-License-Identifier: Apache-2.0 */
/* What the job used of each resource, in a line each: "5.54 s · 0.76 of 2 cores, peak 1.03". */
#ifndef OUTPUT_TEXT_USED_H
#define OUTPUT_TEXT_USED_H

#include "output/text/lines.h"

struct used {
    const char *label;
    const char *curve; /* fact of the timeline that is drawn beside it; NULL: none */
    double full;       /* the value of a full block of its curve; 0: the largest */
    enum lines_tone tone;
    bool is_minor;    /* the first to go if there is too little room */
    bool is_small;    /* so little that a short text leaves it out */
    struct buf *text; /* names in it are escaped (text_escaped) */
};

typedef void used_visit(void *context, const struct used *u);

/* Calls `visit` for CPU, memory, I/O, GPU, network and directories, those that were used; of a tape
 * without a job for the machine. */
void used_rows(const struct baro_summary *s, struct report_style style, used_visit *visit, void *context);
/* Writes how long the job waited, and for what; nothing if it did not, or if that is not known. */
void used_waiting(const struct baro_summary *s, struct buf *ret);

#endif
