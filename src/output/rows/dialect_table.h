/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of dialects. Except for the registry, this is the only place that names quantities; the names are those of
 * other programs. */
#ifndef OUTPUT_ROWS_DIALECT_TABLE_H
#define OUTPUT_ROWS_DIALECT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "baro/metric.h"

enum dialect_from {
    FROM_TIME,
    FROM_PID,      /* pid of the command, or of the first target */
    FROM_CHILDREN, /* all processes of the job except that one */
    FROM_JOB,
    FROM_SUM, /* over the processes of the job */
    FROM_HOST,
    FROM_FS,      /* sum over filesystems except those below /proc, /sys, /dev, /run */
    FROM_DISK,    /* sum over all disks, including those that lie on top of others */
    FROM_NET,     /* sum over all interfaces except lo */
    FROM_NOTHING, /* not recorded */
    FROM_TASK,    /* rows of processes: the name of the task, else of the program */
    FROM_PROCESS, /* rows of processes: the value of the process, or that of its exit if it has ended */
    FROM_CORES,   /* rows of processes: what it used since the previous sample */
    FROM_GPU,     /* sum over GPUs, without their MIG instances */
};

enum dialect_form {
    FORM_EPOCH,    /* seconds since 1970, to the microsecond */
    FORM_EPOCH_MS, /* to the millisecond */
    FORM_ISO,      /* UTC, to the millisecond, with +00:00 */
    FORM_COUNT,
    FORM_KIB,
    FORM_GIB,     /* two decimals */
    FORM_MIB,     /* four decimals */
    FORM_GB,      /* in 10^9 bytes, two decimals */
    FORM_GROWN,   /* growth since the previous row */
    FORM_TICKS,   /* growth of a time since the previous row, in clock ticks */
    FORM_GROWN_S, /* growth of a time since the previous row, in seconds, six decimals */
    FORM_CORES,   /* growth of all columns of these two forms, per time since the previous row; four decimals */
    FORM_PERCENT, /* growth as a share of all CPU time, one decimal */
    FORM_TEXT,
    FORM_SECONDS, /* three decimals */
    FORM_OF_CORE, /* cores as percent of one, one decimal */
    FORM_SHARE,   /* growth of a time, divided by the time since the previous row; four decimals */
    FORM_USED,    /* of how many devices this share is above 0 */
};

enum dialect_gpu_rows { DIALECT_NO_GPU, DIALECT_GPU_SMI, DIALECT_GPU_DMON };

struct dialect_column {
    const char *name;
    enum dialect_from from;
    /* Stem of the metric of the kind that `from` means; NULL if `from` needs none. Of FROM_HOST and FROM_FS also
     * several, "a+b" or "a-b-c"; the first one of each sign decides whether the value is known, because some kernels do
     * not have the others. */
    const char *metric;
    enum dialect_form form;
};

struct dialect_table {
    const char *name;
    const char *what;    /* a line for `baro export --list`; the first row of a name has it */
    enum baro_kind kind; /* BARO_KIND_PROCESS, BARO_KIND_HOST */
    bool quoted;         /* everything except numbers is quoted, even the empty text of an absent value */
    bool nan;   /* a value that is not recorded is written as nan: programs that read the original's output fail on an
                   empty cell */
    bool whole; /* there is no row if a value is absent */
    bool each;  /* kind process: a row for each process, instead of one for the job */
    bool last;  /* kind process: one more row after the end: the rest, and the memory of the row before */
    enum dialect_gpu_rows gpu; /* a row for each GPU, as nvidia-smi writes it; such a dialect has no columns here */
    const char *end;           /* end of a line */
    const struct dialect_column *columns;
    size_t n;
};

#define DIALECT_COLUMNS 24
#define DIALECT_TERMS 4

extern const struct dialect_table dialect_tables[];
extern const size_t dialect_table_count;

#endif
