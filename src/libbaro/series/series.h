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

/* A curve that uses the growth of a counter. */
struct term {
    size_t curve;
    bool first; /* while this counter is absent, the curve has no value */
    bool per;   /* the growth of this counter is part of the divisor */
};

/* The readings that rates of one metric are taken from; shared by all curves of that metric. */
struct counter {
    struct term *term;
    size_t n_terms;
    int kind, metric, exit_metric;
    int brief_metric; /* of brief lives of a machine; -1: none */
    bool real;        /* its values are doubles */
    uint64_t read_ns; /* entities: when they were read last; SERIES_NEVER: not so far */
    struct last_table last;
};

struct curve {
    int kind;
    uint32_t id;
    char *name;      /* NULL: any */
    uint32_t called; /* for processes: number of the name, from 1 on; 0: any name */
    int metric;
    int counter;      /* index of its first counter; -1: it is a curve of values */
    double scale;     /* factor from growth per nanosecond to the unit of the curve */
    bool share;       /* growth is divided by that of other counters, not by time */
    double per;       /* growth of these counters since since_ns */
    uint64_t read_ns; /* entities: when they were read last, as in struct counter */
    uint64_t own_ns;  /* for a curve of one entity: when that was read last */
    size_t row;       /* its row in the sample with that reading */
    struct baro_bucket *at;
    bool has;  /* curves of values: `value` holds since since_ns; rates: growth is counted since then */
    bool fell; /* a counter fell since then */
    uint64_t since_ns;
    double value; /* the value that holds, or the growth since since_ns */
    bool known;   /* the sample that is being read has a value */
    double now;   /* curves of values: the value in that sample */
    struct bounds {
        bool unsure; /* the value is an incomplete or old sum: baro_bucket.unsure_ns */
        double high, at_least;
    } bounds, bounds_now;  /* bounds of `value`, and of `now` */
    struct stretches held; /* rates: growth that was not added to buckets yet */
};

struct baro_series {
    struct last_table called; /* by process: number of its last name, if a curve has that name */
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
    bool from_begin; /* reading began with the tape's first sample: until then tasks had used nothing */
    bool from_start; /* that, and the tape has the start of the job: all that its processes had used belongs to the
                        recording */
    bool failed;     /* out of memory */
};

bool series_one_of_a_kind(int kind);

/* Adds a value that held from a to b to the buckets. Until series_finish(), `mean` is the sum of value times
 * nanoseconds. */
void series_spread(const struct baro_series *s, struct curve *c, uint64_t a, uint64_t b, double value);
/* Does the same for a value of which only bounds are known. */
void series_spread_unsure(const struct baro_series *s, struct curve *c, uint64_t a, uint64_t b);
/* Counts a sample at t_ns with its value, for a curve of values. */
void series_point(const struct baro_series *s, struct curve *c, uint64_t t_ns, double value);
/* Divides the sums in `mean` by the time that they cover. */
void series_finish(struct baro_series *s);

/* Returns the number of a name for which a curve exists; 0: no curve has that name. */
uint32_t series_name_number(const struct baro_series *s, const char *name);
/* Finds the last name of each process, if a curve asks for names. Moves the cursor. Returns 0 or a negative code. */
int series_find_names(struct baro_series *s, struct baro_tape *tape, struct baro_error *err);
/* Returns the number of a process's last name; 0: no curve asks for it. */
uint32_t series_called(const struct baro_series *s, uint32_t id);
/* Does the same for a process that has ended, even if no sample has it. */
uint32_t series_called_at_exit(const struct baro_series *s, const struct baro_exit *e);

#endif
