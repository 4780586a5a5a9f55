/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows and columns for programs. A row is a process at a sample, the job at a sample, an entity at a reading, an exit,
 * an event, a phase or a step. A column is part of a row's identity (which process, when), a metric of its kind, or a
 * value that is computed from others (cores). A cell is the value of a column in a row. Encoders walk rows and columns;
 * they know no metric by name, so that kinds and metrics which only the tape defines are written like all others.
 */
#ifndef OUTPUT_ROWS_ROW_H
#define OUTPUT_ROWS_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "baro/baro.h"
#include "base/buf.h"

/* The kind of a row: an enum baro_kind, or a kind that only the tape has; or one of these for events, phases and
 * steps, which have no metrics and so no kind. */
#define ROW_EVENT BARO_ROWS_EVENT
#define ROW_PHASE BARO_ROWS_PHASE
#define ROW_STEP BARO_ROWS_STEP

/* Is it a row of a list that is made from the whole tape? No record has it. */
static inline bool row_is_of_list(int kind)
{
    return kind == ROW_PHASE || kind == ROW_STEP;
}

/* The names that baro_rows_find() takes: fills at most cap - 1 and ends with NULL. */
void row_kind_names(const struct baro_tape *tape, const char **ret, size_t cap);

struct columns {
    int kind; /* kind of the rows */
    const struct baro_column **at;
    size_t n;
    struct baro_columns *chosen;
    bool cores;   /* one of them is BARO_COLUMN_CORES */
    bool phase;   /* one of them is BARO_COLUMN_PHASE */
    bool derived; /* one of them is BARO_COLUMN_DERIVED: baro_previous_keep() has to be called */
    /* For row_read(): the columns' metrics, and room for the values of a row. */
    int *metric;
    uint64_t *value;
    uint8_t *absent;
};

/* list NULL: all that the tape was asked to hold. Otherwise names separated by commas. Returns 0, BARO_E_SYNTAX with
 * the unknown name in err and in ret_unknown (may be NULL; 64 bytes), or -ENOMEM. */
int columns_choose(struct columns *ret, int kind, const char *list, const struct baro_tape *tape, char *ret_unknown,
                   struct baro_error *err);
void columns_done(struct columns *c);
/* All names that columns_choose() takes, for suggestions: fills at most cap - 1 and ends with NULL. */
void columns_names(int kind, const struct baro_tape *tape, const char **ret, size_t cap);

struct baro_previous *row_previous_new(void); /* NULL: out of memory, and rows have no rates */

struct output_row {
    int kind; /* kind of the row, as above */
    const struct baro_header *header;
    struct baro_tape *tape; /* for wall-clock times; NULL: they are what the header says */
    uint64_t t_ns;
    const struct baro_sample *sample; /* process, job, host */
    const struct baro_row *entity;
    const struct baro_row *process;
    const struct baro_row *exit;
    const struct baro_event *event;
    struct baro_previous *memory; /* NULL: no rates */
    double cores;                 /* set by row_begin() */
    int cores_absent;
    const struct baro_sample
        *before; /* the sample that baro_previous_keep() kept, and the row's process or entity in it; or NULL */
    const struct baro_row *process_before;
    const struct baro_row *entity_before;
    const char *(*user)(void *context, uint32_t uid); /* NULL: users are shown as numbers */
    void *user_context;
    const struct row_names *names; /* names of entities that values refer to; NULL: those of the sample are enough */
    struct row_time *time;         /* NULL: the text of times is not kept */
    struct buf *attributes;        /* room for their text, and for other lists; NULL: these are absent */
    const struct baro_timeline *timeline; /* NULL: phases are absent */
    const struct baro_steps *steps;       /* NULL: no row is a step */
    size_t item; /* the row is of ROW_PHASE or ROW_STEP: its position in the timeline, or among the steps */
};

/* Returns the wall-clock time of an instant, which takes into account that the clock was set or the machine
 * suspended. If tape is NULL, or its events can't be read, it is computed from the header alone. */
int64_t row_realtime_ns(struct baro_tape *tape, const struct baro_header *header, uint64_t t_ns);

/* The text of the previous row's time: all rows of a sample have the same time. All-zero at first. */
struct row_time {
    uint64_t t_ns;
    char text[32];
    size_t len;
};

/* Names of tasks, for rows that have no sample. Begins as all zero. */
#define ROW_NAMES_MOST 256u
struct row_names {
    size_t n;
    struct {
        uint32_t id;
        char text[256];
    } at[ROW_NAMES_MOST];
};
void row_names_note(struct row_names *names, const struct baro_sample *s);
/* The name of the task, or the control group, with this id, in the sample or among the names (either may be NULL);
 * NULL: not known. */
const char *row_task_name(const struct row_names *names, const struct baro_sample *s, uint64_t id);

/* Called once for each row, in the order of the tape: computes what depends on previous rows. */
void row_begin(struct output_row *r);

enum cell_kind { CELL_ABSENT, CELL_U64, CELL_I64, CELL_REAL, CELL_BOOL, CELL_TEXT, CELL_JSON };

struct cell {
    enum cell_kind kind;
    int absent;
    uint64_t u64;
    int64_t i64;
    double real;
    const char *text; /* raw bytes; may point into room */
    size_t len;
    char room[40];
};

static inline void cell_absent(struct cell *c, int reason)
{
    c->kind = CELL_ABSENT;
    c->absent = reason;
}

static inline void cell_u64(struct cell *c, uint64_t v)
{
    c->kind = CELL_U64;
    c->u64 = v;
}

static inline void cell_text(struct cell *c, const char *text)
{
    c->kind = CELL_TEXT;
    c->text = text;
    c->len = strlen(text);
}

/* Reads the cells of a row: call row_read() first, then the other function for each cell. */
void row_read(const struct output_row *r, const struct columns *c);
void row_cell(const struct output_row *r, const struct columns *c, size_t i, struct cell *ret);
/* list_cell.c: the same for a phase or a step, but for its time. */
void list_cell(const struct output_row *r, const struct baro_column *c, struct cell *ret);

#endif
