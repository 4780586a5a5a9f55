/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of one kind, from the records of a tape: what every writer of rows keeps between two records. */
#ifndef OUTPUT_ROWS_SOURCE_H
#define OUTPUT_ROWS_SOURCE_H

#include "output/rows/row.h"

struct row_source {
    struct baro_tape *tape; /* borrowed */
    struct columns columns;
    struct baro_previous *memory;
    struct row_names names;
    struct row_time time;
    struct buf attributes;
    const struct baro_timeline *timeline;             /* NULL: phases are absent */
    const struct baro_steps *steps;                   /* NULL: there are no rows of steps */
    const char *(*user)(void *context, uint32_t uid); /* NULL: users are shown as numbers */
    void *user_context;
    bool of_every_sample; /* the machine and entities have rows also in samples for which they were not read anew */
    bool is_last;         /* no sample follows: the rows of this one stay valid, with what they point to */
    uint64_t read_ns;     /* when those of the last sample were read; UINT64_MAX: they were not yet */
};

/* Chooses columns as columns_choose() does. Call row_source_done() also if it fails. */
int row_source_init(struct row_source *s, struct baro_tape *tape, int kind, const char *list, char *ret_unknown,
                    struct baro_error *err);
void row_source_done(struct row_source *s);

/* Takes a row. A result other than 0 ends the rows. */
typedef int row_put(void *context, const struct columns *c, const struct output_row *r);
/* Passes on the rows of a record; put NULL: they are noted only, for the rates of the next ones. Records come in the
 * order of the tape. Returns 0, the result of put, or -ENOMEM. */
int row_source_record(struct row_source *s, const struct baro_record *record, row_put *put, void *context);
int row_source_sample(struct row_source *s, const struct baro_sample *sample, row_put *put, void *context);
/* Passes on the rows of ROW_PHASE or ROW_STEP: those of s->timeline or s->steps. Returns 0, or the result of put. */
int row_source_list(struct row_source *s, row_put *put, void *context);

#endif
