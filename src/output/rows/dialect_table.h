/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of dialects: besides the registry the only place that names quantities, with the names of other programs. */
#ifndef OUTPUT_ROWS_DIALECT_TABLE_H
#define OUTPUT_ROWS_DIALECT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "baro/metric.h"

enum dialect_from {
    FROM_TIME,
    FROM_PID,      /* of the command, or of the first target */
    FROM_CHILDREN, /* processes of the job except that one */
    FROM_JOB,
    FROM_SUM, /* over the processes of the job */
    FROM_HOST,
    FROM_USER,      /* the machine's CPU time in user mode, nice, and guests */
    FROM_SYSTEM,    /* in the kernel and in interrupts */
    FROM_CACHED,    /* memory of the page cache, and of the kernel's objects that can be given back */
    FROM_TAKEN,     /* memory less what is free, buffers and cache */
    FROM_FS,        /* sum over filesystems except those below /proc, /sys, /dev, /run */
    FROM_FS_TAKEN,  /* size less what ordinary users may still take */
    FROM_DISK,      /* sum over all disks, also those that lie over others */
    FROM_NET,       /* sum over all interfaces except lo */
    FROM_NOTHING,   /* not recorded */
    FROM_TASK,      /* each process: its task, else its program */
    FROM_PROCESS,   /* the same, its own value; that of its exit if it has ended */
    FROM_CORES,     /* the same: what it used since the sample before */
    FROM_GPU,       /* sum over GPUs, without their MIG instances */
    FROM_GPUS_USED, /* how many GPUs were used since their reading before, by the job where the rows are its */
};

enum dialect_form {
    FORM_EPOCH,    /* seconds since 1970, to the microsecond */
    FORM_EPOCH_MS, /* to the millisecond */
    FORM_ISO,      /* UTC, to the millisecond, with +00:00 */
    FORM_COUNT,
    FORM_KIB,
    FORM_GIB,     /* two decimals */
    FORM_MIB,     /* four decimals */
    FORM_GB,      /* of 10^9 bytes, two decimals */
    FORM_GROWN,   /* by how much it grew since the row before */
    FORM_TICKS,   /* the same of a time, in clock ticks */
    FORM_GROWN_S, /* the same in seconds, six decimals */
    FORM_CORES,   /* growth of all columns of these two forms over the time since the row before, four decimals */
    FORM_PERCENT, /* its growth as a share of all CPU time, one decimal */
    FORM_TEXT,
    FORM_SECONDS, /* three decimals */
    FORM_OF_CORE, /* cores as percent of one, one decimal */
    FORM_SHARE,   /* growth of a time per time since the row before, four decimals */
};

enum dialect_gpu_rows { DIALECT_NO_GPU, DIALECT_GPU_SMI, DIALECT_GPU_DMON };

struct dialect_column {
    const char *name;
    enum dialect_from from;
    const char *metric; /* its stem, of the kind that `from` says; NULL where that needs none */
    enum dialect_form form;
};

struct dialect_table {
    const char *name;
    const char *what;    /* for `baro export --list`; the first row of a name has it */
    enum baro_kind kind; /* BARO_KIND_PROCESS, BARO_KIND_HOST */
    bool quoted;         /* everything but numbers stands in quotes, also the empty text of what is absent */
    bool nan;            /* what is not recorded is written as nan: readers of the original fail on an empty cell */
    bool whole;          /* no row where a value is absent */
    bool each;           /* process: a row for each process, not for the job as a whole */
    bool last;           /* process: a row also for what came after the last sample of a living one */
    enum dialect_gpu_rows gpu; /* a row for each GPU, as nvidia-smi writes it; it has no columns of its own */
    const char *end;           /* of a line */
    const struct dialect_column *columns;
    size_t n;
};

#define DIALECT_COLUMNS 24

extern const struct dialect_table dialect_tables[];
extern const size_t dialect_table_count;

#endif
