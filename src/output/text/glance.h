/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the short block: a label, a curve or bars over one time axis, and figures. For the files of this folder. */
#ifndef OUTPUT_TEXT_GLANCE_H
#define OUTPUT_TEXT_GLANCE_H

#include "output/text/parts.h"

#define GLANCE_ROWS_MOST 32u

/* What may be dropped where there are too many rows, what is dropped first comes last. */
enum glance_drop {
    DROP_NEVER,
    DROP_PHASE,
    DROP_VERDICT,
    DROP_COMMAND,
    DROP_RESOURCE, /* network, directories */
    DROP_REST,     /* "9 more" */
};

struct glance {
    const struct baro_summary *s;
    struct report_style style;
    struct axis axis; /* columns 0: nothing is drawn */
    unsigned label;   /* columns of the labels */
    struct glance_row {
        struct buf text;
        enum glance_drop drop;
    } row[GLANCE_ROWS_MOST];
    unsigned n;
};

/* Begins a row with its label in so many columns; a mark such as "✗ " stands before it. If there are too many rows,
 * the last one is written anew. */
struct lines glance_row(struct glance *g, enum glance_drop drop, const char *mark, enum lines_tone tone,
                        const char *label, unsigned columns);
/* Ends a row with this text, cut to what is left of the line. Empties it. */
void glance_end(struct glance *g, struct lines *l, struct buf *text);

/* glance_commands.c: the heaviest tasks, or the heaviest commands if there are no tasks */
void glance_commands(struct glance *g);

#endif
