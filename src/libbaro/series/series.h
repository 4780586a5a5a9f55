/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a series share: curves, the counters that they are taken from, and their buckets. */
#ifndef LIBBARO_SERIES_SERIES_H
#define LIBBARO_SERIES_SERIES_H

#include "baro/series.h"
#include "base/last_value.h"
#include "libbaro/interval/stretches.h"
#include "libbaro/sample/row.h"

#define SERIES_NEVER UINT64_MAX
#define SERIES_COUNT (-2) /* used as the metric of a curve: counts the processes */

/* A curve that a counter is part of. */
struct term {
    size_t curve;
    bool first; /* if it is absent, the curve has no value */
    bool per;   /* its growth divides */
};

/* The readings that rates of one metric are taken from; shared by all curves of that metric. */
struct counter {
    struct term *term;
    size_t n_terms;
    int kind, metric, exit_metric;
    bool real;        /* its values are doubles */
    uint64_t read_ns; /* entities: when they were read last; SERIES_NEVER: not so far */
    struct last_table last;
};

struct curve {
    int kind;
    uint32_t id;
    char *name;      /* NULL: any */
    uint32_t called; /* of processes: number of the name, from 1 on; 0: any */
    int metric;
    int counter;      /* index of the first; -1: a curve of values */
    double scale;     /* of growth per nanosecond */
    bool share;       /* growth is divided by that of other counters, not by time */
    double per;       /* the growth of these */
    uint64_t read_ns; /* as of a counter */
    uint64_t own_ns;  /* of one entity: when it was read itself */
    size_t row;       /* and where it was in the sample then */
    struct baro_bucket *at;
    bool has; /* values: one holds since since_ns. Rates: growth is counted since then */
    uint64_t since_ns;
    double value; /* that holds, or that grew since then */
    bool known;   /* in the sample that is being read */
    double now;   /* values: of that sample */
    struct bounds {
        bool unsure; /* the value is an incomplete or old sum: baro_bucket.unsure_ns */
        double high, at_least;
    } bounds, bounds_now;  /* of value, and of now */
    struct stretches held; /* rates: growth that no bucket has so far */
};

struct baro_series {
    struct last_table called; /* by process: number of the name that it had last, if a curve has that */
    uint32_t n_called;
    uint64_t from_ns, to_ns;
    size_t n_buckets;
    struct curve *curve;
    size_t n_curves;
    struct counter *counter;
    size_t n_counters;
    const struct baro_tape *tape;
    bool begun;      /* a sample was read */
    bool has_job;    /* the sample that is being read is of a job, and not of the machine alone */
    bool from_begin; /* the walk began with the tape's first record: tasks had used nothing before */
    bool from_start; /* the first sample is the tape's first: all that processes had used is of this recording */
    bool failed;     /* out of memory */
};

bool series_one_of_a_kind(int kind);

/* The value held from a to b. While the walk goes on, mean is the sum of value times nanoseconds. */
void series_spread(const struct baro_series *s, struct curve *c, uint64_t a, uint64_t b, double value);
/* The same of a value of which only bounds are known. */
void series_spread_unsure(const struct baro_series *s, struct curve *c, uint64_t a, uint64_t b);
/* A sample at that time, with the value of a curve of values. */
void series_point(const struct baro_series *s, struct curve *c, uint64_t t_ns, double value);
/* Means from sums. */
void series_finish(struct baro_series *s);

/* Returns the number of a name for which a curve exists; 0: no curve has that name. */
uint32_t series_name_number(const struct baro_series *s, const char *name);
/* Finds the last name of each process, if a curve asks for names. Moves the cursor. Returns 0 or a negative code. */
int series_find_names(struct baro_series *s, struct baro_tape *tape, struct baro_error *err);
/* Returns the number of a process's last name; 0: no curve asks for it. */
uint32_t series_called(const struct baro_series *s, uint32_t id);
/* The same for a process that has ended, even if no sample has it. */
uint32_t series_called_at_exit(const struct baro_series *s, const struct baro_exit *e);

#endif
