/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows and columns for machines. A column is an identity (who, when), a metric of the registry or of the tape, or a
 * figure that derive/ makes; a row is a process at a sample, the job at a sample, an exit or an event. A cell is the
 * value where they meet. Encoders walk columns and know no metric by name.
 */
#ifndef ENCODE_ROW_H
#define ENCODE_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/tape.h"
#include "base/error.h"
#include "sample/sample.h"

/* From ROW_HOST on: the machine, in the order of the kinds. Their rows are of the time when it was looked at. */
enum row_entity {
    ROW_PROCESS,
    ROW_JOB,
    ROW_EVENT,
    ROW_EXIT,
    ROW_HOST,
    ROW_CPU,
    ROW_DISK,
    ROW_FS,
    ROW_NET,
    ROW_SENSOR,
    ROW_CGROUP,
    ROW_ENTITIES
};

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
    COLUMN_ID,  /* of the machine: which entity, where two of one name came after each other */
    COLUMN_LABEL,
    COLUMN_CORES,  /* CPU time a second since the row before of the same process, CPU or control group, or of the job or
                      the host */
    COLUMN_LOSSY,  /* events were lost since the sample before */
    COLUMN_STATUS, /* exit: the status, where it ended by one */
    COLUMN_SIGNAL, /* exit: the signal, where one ended it */
    COLUMN_SOURCE, /* exit: who told */
    COLUMN_ORIGIN, /* how it came to be known */
    COLUMN_SAMPLED, /* exit: a sample saw it */
    COLUMN_EVENT,   /* event: its kind */
    COLUMN_NUMBER,
    COLUMN_TEXT,
    COLUMN_METRIC, /* of the entity's own kind */
    COLUMN_SUM,    /* job: the sum of a metric of processes */
};

struct column {
    enum column_kind kind;
    int metric;
    const char *name; /* borrowed from the table or the tape */
    const struct baro_metric *describes; /* COLUMN_METRIC, COLUMN_SUM */
};

struct columns {
    enum row_entity entity;
    struct column *at;
    size_t n;
    bool sums, cores;
};

/* list NULL: all that the tape was asked to hold. Otherwise names separated by commas. Returns 0, BARO_E_SYNTAX with
 * the unknown name in err and in ret_unknown (may be NULL; 64 bytes), or -ENOMEM. */
int columns_choose(struct columns *ret, enum row_entity entity, const char *list, const struct baro_tape *tape,
                   char *ret_unknown, struct baro_error *err);
void columns_done(struct columns *c);
/* All names that columns_choose() takes, for suggestions: fills at most cap - 1 and ends with NULL. */
void columns_names(enum row_entity entity, const struct baro_tape *tape, const char **ret, size_t cap);

struct row_memory; /* what the row before said, for rates */
struct row_memory *row_memory_new(void);
void row_memory_free(struct row_memory *m);

struct row {
    enum row_entity entity;
    const struct baro_header *header;
    uint64_t t_ns;
    const struct baro_sample *sample; /* process, job, host */
    const struct baro_entity *machine; /* a part of it */
    const struct baro_process *process;
    const struct baro_exit *exit;
    const struct baro_event *event;
    struct row_memory *memory; /* NULL: no rates */
    double cores;              /* filled by row_begin() */
    int cores_absent;
    const char *(*user)(void *context, uint32_t uid); /* NULL: users are shown as numbers */
    void *user_context;
};

/* To be called once for each row, in the order of the tape: works out what needs the row before. */
void row_begin(struct row *r);

enum cell_kind { CELL_ABSENT, CELL_U64, CELL_I64, CELL_REAL, CELL_BOOL, CELL_TEXT };

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

void row_cell(const struct row *r, const struct column *c, struct cell *ret);

#endif
