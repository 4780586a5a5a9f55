/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows and columns for programs. A row is a process at a sample, the job at a sample, an entity at a reading, an exit
 * or an event. A column is part of a row's identity (which process, when), a metric of its kind, or a value that is
 * computed from others (cores). A cell is the value of a column in a row. Encoders walk rows and columns; they know no
 * metric by name, so that kinds and metrics which only the tape defines are written like all others.
 */
#ifndef OUTPUT_ROWS_ROW_H
#define OUTPUT_ROWS_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/baro.h"
#include "base/buf.h"

/* Whose rows: an enum baro_kind, or a kind of the tape's own; or events, which have no metrics and so no kind. */
#define ROW_EVENT (-1)
#define ROW_NO_SUCH (-2)

/* Finds what rows a word means: "event" or the name of a kind. ROW_NO_SUCH: none that a tape has rows of. */
int row_kind_find(const char *name, const struct baro_tape *tape);
/* The names that it takes: fills at most cap - 1 and ends with NULL. */
void row_kind_names(const struct baro_tape *tape, const char **ret, size_t cap);

enum column_kind {
    COLUMN_TIME, /* UTC, RFC 3339 */
    COLUMN_T,    /* ns since the tape began */
    COLUMN_PID,
    COLUMN_START, /* clock ticks since boot: with the pid the identity of a process */
    COLUMN_PPID,
    COLUMN_UID,
    COLUMN_USER,
    COLUMN_NAME,
    COLUMN_CMDLINE,
    COLUMN_AGE, /* ns since the values were read */
    COLUMN_ID,  /* of an entity: differs for two of the same name of which one replaced the other */
    COLUMN_LABEL,
    COLUMN_ATTRIBUTES, /* of an entity, as text: "device=0, mode=fast" */
    COLUMN_GIVEN,      /* of a mark or phase, as JSON: {"loss": 0.12} */
    COLUMN_PHASE,      /* the innermost phase that the row lies in */
    COLUMN_OWNER,      /* pid of the process that an entity belongs to */
    COLUMN_CORES,   /* CPU time per second since the previous row of the same process, CPU or control group, or of the
                       job or the host */
    COLUMN_LOSSY,   /* events were lost since the previous sample */
    COLUMN_STATUS,  /* exit: the status, if it ended by one */
    COLUMN_SIGNAL,  /* exit: the signal, if one ended it */
    COLUMN_SOURCE,  /* exit: where its values come from */
    COLUMN_ORIGIN,  /* how the recorder found it */
    COLUMN_SAMPLED, /* exit: at least one sample has it */
    COLUMN_EVENT,   /* event: its kind */
    COLUMN_NUMBER,
    COLUMN_TEXT,
    COLUMN_METRIC,  /* of the row's own kind */
    COLUMN_SUM,     /* job: the sum of a metric over its processes */
    COLUMN_DERIVED, /* baro_derived_get(): from the row and the previous one of the same process, entity, ... */
    COLUMN_BOUNDS,  /* job: the names of those sums that lack the value of a process */
};

struct column {
    enum column_kind kind;
    int id;                              /* of the metric; COLUMN_DERIVED: the number of the derived metric; else -1 */
    const char *name;                    /* borrowed from the table or the tape */
    const struct baro_metric *describes; /* COLUMN_METRIC, COLUMN_SUM */
};

struct columns {
    int kind; /* of the rows */
    struct column *at;
    size_t n;
    bool cores;   /* one of them is COLUMN_CORES */
    bool phase;   /* one of them is COLUMN_PHASE */
    bool derived; /* one of them is COLUMN_DERIVED: row_memory_keep() has to be called */
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

struct row_memory; /* values of previous rows, for rates */
struct row_memory *row_memory_new(void);
void row_memory_free(struct row_memory *m);
/* For derived metrics: called when all rows of a sample are done, with the kind that they are of. 0 or -ENOMEM. */
int row_memory_keep(struct row_memory *m, const struct baro_sample *s, int kind);

struct row {
    int kind; /* what it is a row of, as above */
    const struct baro_header *header;
    uint64_t t_ns;
    const struct baro_sample *sample; /* process, job, host */
    const struct baro_entity *entity;
    const struct baro_process *process;
    const struct baro_exit *exit;
    const struct baro_event *event;
    struct row_memory *memory; /* NULL: no rates */
    double cores;              /* set by row_begin() */
    int cores_absent;
    const struct baro_sample *before; /* the same: what row_memory_keep() kept, and who the row is of in it, or NULL */
    const struct baro_process *process_before;
    const struct baro_entity *entity_before;
    const char *(*user)(void *context, uint32_t uid); /* NULL: users are shown as numbers */
    void *user_context;
    const struct row_names *names;        /* of entities that values name; NULL: those of the sample are enough */
    struct row_time *time;                /* NULL: the text of times is not kept */
    struct buf *attributes;               /* room for their text, and for other lists; NULL: these are absent */
    const struct baro_timeline *timeline; /* NULL: phases are absent */
};

/* The time of the previous row as text: all rows of a sample have the same. Begins as all zero. */
struct row_time {
    int64_t realtime_ns;
    char text[32];
    size_t len;
};

/* Names of tasks, for rows that have no sample. Begins as all zero. */
#define ROW_NAMES_MOST 64u
struct row_names {
    size_t n;
    struct {
        uint32_t id;
        char text[64];
    } at[ROW_NAMES_MOST];
};
void row_names_note(struct row_names *names, const struct baro_sample *s);
/* The name of the task with this id, in the sample or among the names (either may be NULL); NULL: not known. */
const char *row_task_name(const struct row_names *names, const struct baro_sample *s, uint64_t id);

/* Called once for each row, in the order of the tape: computes what depends on previous rows. */
void row_begin(struct row *r);

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

/* A derived metric of a row: 0 or why it is absent (BARO_ABSENT_NOT_YET in the first row of a process, entity, ...). */
int row_derived(const struct row *r, int derived, double *ret);

/* The cells of a row: row_read() first, then each. */
void row_read(const struct row *r, const struct columns *c);
void row_cell(const struct row *r, const struct columns *c, size_t i, struct cell *ret);
/* Those sums of a job's row that are lower bounds, as "pss_bytes uss_bytes" (COLUMN_BOUNDS). */
void row_bounds(const struct row *r, struct cell *ret);

#endif
