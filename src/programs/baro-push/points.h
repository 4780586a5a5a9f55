/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the records of a tape to points of series. A pusher that is started again adds all records from the beginning of
 * the tape, and sends the points after its position: so the points of a sample are the same each time they are made.
 */
#ifndef PROGRAMS_BARO_PUSH_POINTS_H
#define PROGRAMS_BARO_PUSH_POINTS_H

#include "base/map.h"
#include "programs/baro-push/measure.h"

/* A series of a tape: a measure, and the entity that it is of. */
struct series {
    enum measure_group group;
    int id;
    char *entity;     /* escaped; NULL: there is one row */
    uint64_t read_ns; /* when its last value was read, from the start of the tape */
    int64_t last_ms;  /* the time of its last point */
    bool is_live;     /* that point is a value */
    bool is_closed;   /* of a phase: it had ended when that value was read */
    uint64_t round;   /* the last sample that has it */
};

struct point {
    uint32_t series;
    bool is_end;      /* the series ends: no value */
    bool is_first;    /* of its sample */
    int64_t t_ns;     /* since 1970 */
    int64_t start_ns; /* when the counter was 0; 0: not known */
    uint64_t raw;
};

struct point_list {
    struct point *at;
    size_t n, cap;
};

struct points {
    struct baro_tape *tape; /* borrowed */
    struct baro_fold *fold; /* for phases; NULL: there were too many */
    struct series *at;
    size_t n, cap;
    struct map by_key;
    uint64_t round;   /* samples so far */
    uint64_t last_ns; /* time of the last one */
    uint64_t sent_ns; /* set by the caller: what was read until then was sent; 0: nothing */
    int64_t boot_ns;  /* since 1970; 0: not known */
    size_t n_phases;
    uint64_t phases_ns;      /* time of the last sample that has points of phases */
    bool has_changed;        /* a phase began or ended since then */
    bool has_phases, failed; /* failed: out of memory */
    bool wants_info;         /* baro_job_info is pushed */
    uint64_t left_out;       /* points that have no time of their own, and those of too many phases and entities */
};

int points_init(struct points *p, struct baro_tape *tape, bool wants_info, struct baro_error *err);
void points_done(struct points *p);
/* Adds a record of the tape; the points of a sample are added to the list, if it is not NULL. Returns 0 or -ENOMEM. */
int points_add(struct points *p, const struct baro_record *record, struct point_list *list);
/* Ends all series: the job is over. status: of its command, as a shell has it; -1: not known. */
int points_end(struct points *p, int status, struct point_list *list);

#endif
