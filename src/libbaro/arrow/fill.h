/* SPDX-License-Identifier: Apache-2.0 */
/* The values of rows, column by column. */
#ifndef LIBBARO_ARROW_FILL_H
#define LIBBARO_ARROW_FILL_H

#include "baro/steps.h"
#include "baro/tape.h"
#include "baro/timeline.h"
#include "libbaro/arrow/build.h"
#include "libbaro/sample/row.h"

/* Rows are filled in chunks of this size: their values stay in the cache while the columns are filled. */
enum { CHUNK_ROWS = 256, TASK_NAMES = 256 };

/* The state that the rows of a stream share. */
struct filling {
    const struct baro_header *header;
    struct baro_tape *tape; /* for wall-clock times */
    uint64_t time_of;       /* the last wall-clock time, and the instant that it belongs to */
    int64_t realtime_ns;
    bool has_time;
    struct baro_previous *previous;       /* NULL: no column needs the row before */
    const struct baro_timeline *timeline; /* NULL: no row or column is a phase */
    const struct baro_steps *steps;       /* NULL: no row is a step */
    const char *(*user)(void *context, uint32_t uid);
    void *user_context;
    struct buf text; /* reused for each text */
    uint32_t batch;  /* the number of the batch */
    /* Names of the tasks in earlier samples, for rows without a sample (exits). */
    size_t n_names;
    struct {
        uint32_t id;
        char text[256];
    } names[TASK_NAMES];
};

/* Rows of the same time: at most CHUNK_ROWS processes or entities, otherwise one row. */
struct chunk {
    int kind;
    uint64_t t_ns;
    size_t n, first; /* first: its place in the sample */
    const struct baro_sample *sample;
    struct baro_process *const *process; /* n of them, as entity; or NULL */
    struct baro_entity *const *entity;
    const struct baro_exit *exit;
    const struct baro_event *event;
    size_t item;              /* of BARO_ROWS_PHASE and _STEP: its position in the timeline or among the steps */
    double cores[CHUNK_ROWS]; /* chunk_compare() sets them */
    uint8_t cores_absent[CHUNK_ROWS];
};

/* The entities that a process may belong to; NULL: none. */
const struct baro_entities *fill_named(const struct baro_sample *s);

/* Compares rows with the rows before. Must be called once for each row, in order, even if no column uses the row. */
void chunk_compare(struct chunk *k, struct filling *f);
/* Adds a value for each row. */
void chunk_fill(struct chunk *k, struct filling *f, struct column *c);

#endif
