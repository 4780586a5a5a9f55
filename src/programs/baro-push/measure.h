/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is pushed, and what it is called: each metric of a group is a measure, with its name for Prometheus (the same as
 * in /metrics of baro serve) and for OpenTelemetry (a semantic convention where there is one).
 */
#ifndef PROGRAMS_BARO_PUSH_MEASURE_H
#define PROGRAMS_BARO_PUSH_MEASURE_H

#include "baro/baro.h"
#include "output/rows/family.h"

/* The conventions that the names in measure.c are of. */
#define MEASURE_SCHEMA "https://opentelemetry.io/schemas/1.44.0"

enum measure_group {
    GROUP_JOB,     /* the row of the job */
    GROUP_SUM,     /* sums over its processes */
    GROUP_MISSING, /* how many processes a sum lacks */
    GROUP_RECORDER,
    GROUP_TASK,
    GROUP_CGROUP, /* the job's own */
    GROUP_GPU,
    GROUP_HOST,
    GROUP_DISK,
    GROUP_FS,
    GROUP_NET,
    GROUP_SENSOR,
    GROUP_ENERGY,
    GROUP_PHASE,
    GROUP_STATE, /* does the job run, how did it end: measure_state */
    GROUP_INFO,  /* what the job is called: 1 */
    MEASURE_GROUPS
};

enum measure_state { STATE_RUNNING, STATE_EXIT_STATUS, STATE_SAMPLE_TIME, MEASURE_STATES };

struct measure_of {
    int kind;              /* whose metrics it has; -1: none */
    const char *name;      /* in the names of its families */
    const char *label;     /* Prometheus' label for the name of an entity; NULL: there is one row */
    const char *attribute; /* OpenTelemetry's */
    size_t most;           /* most rows of a sample */
};
extern const struct measure_of measure_groups[MEASURE_GROUPS];

enum measure_shape { SHAPE_GAUGE, SHAPE_COUNTER, SHAPE_UPDOWN };

struct measure {
    bool is_there; /* it is a number */
    struct family family;
    const struct baro_metric *metric; /* NULL: a fact of a phase, or a count */
    enum baro_unit unit;
    bool is_real; /* a fact whose value is a double */
    int fact;     /* of a phase */
    enum measure_shape shape;
    char own_name[96];                             /* barograph.KIND.STEM */
    const char *otlp, *otlp_unit, *key, *of_value; /* key NULL: it has no attribute of its own */
};

/* How many there are in a group, and one of them; borrowed, constant. */
int measure_count(enum measure_group group);
const struct measure *measure_get(enum measure_group group, int id);

/* A value in the unit of its family. */
double measure_base(const struct measure *m, uint64_t raw);
/* A value in its unit of OpenTelemetry: true if it is an exact integer. */
bool measure_otlp(const struct measure *m, uint64_t raw, int64_t *ret, double *ret_real);

#endif
