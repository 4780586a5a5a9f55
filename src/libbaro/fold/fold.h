/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fold: what samples say of a job and of the machine around it, taken from each sample once. All that groups or
 * sums counters over time is made from this: facts of a summary, phases, points for curves and verdicts.
 *
 *     fold_add()  a sample -> cells: each term, each metric of an entity, over the whole recording
 *                          -> the row of this sample, which windows (window.h) and points (points.h) take
 *
 * Adding a sample takes O(processes + entities), and allocates nothing once the entities are known.
 */
#ifndef LIBBARO_FOLD_FOLD_H
#define LIBBARO_FOLD_FOLD_H

#include "libbaro/fold/cell.h"
#include "libbaro/fold/entities.h"
#include "libbaro/fold/groups.h"
#include "libbaro/interval/derive.h"
#include "libbaro/sample/sample.h"

enum fold_term {
#define TERM(id, from, metric) FOLD_##id,
#include "libbaro/fold/terms.def"
    FOLD_TERMS
};
enum {
    FOLD_OF_MACHINE = FOLD_HOST_TIME, /* the counters from here on are read with the machine, at its own times */
    FOLD_COUNTERS = FOLD_RSS,         /* terms below it are counters */
    FOLD_SUMS = FOLD_PROCESSES - FOLD_RSS,
    FOLD_GAUGES = FOLD_PROCESSES + 1 - FOLD_RSS,
    FOLD_ROW = FOLD_PROCESSES + 1 /* terms below it are in a row */
};
_Static_assert(FOLD_COUNTERS <= 32, "a bit for each counter: fold_row.fell");

#define FOLD_NAMES 64u
#define FOLD_NAME_ROOM 32u

/* What is kept of a sample. Counters of the job are as they were read; those of the machine say how much they have
 * grown since the first reading. */
struct fold_row {
    uint64_t t_ns, host_ns; /* host_ns: when the machine was read last; 0: not yet */
    uint64_t value[FOLD_ROW];
    uint8_t absent[FOLD_ROW];
    uint32_t fell;  /* a bit for each counter: it fell at this reading, and its growth since the row before is a lower
                       bound */
    bool is_stale;  /* pss and uss: derive_is_stale() */
    uint8_t runner; /* number of the name of a process that ran, from 1; 0: none */
    struct derive_able able;
};

/* Packets that the machine has received: those of the interfaces of the last reading, and the growth of all. */
struct fold_packets {
    struct fold_interface {
        uint32_t id;
        uint64_t received;
    } * at, *next; /* next: room for those of the next reading */
    size_t n, cap, cap_next;
    uint64_t grown;
    bool fell; /* one fell at the last reading */
};

struct fold {
    uint64_t readings;                    /* how often the machine was read */
    struct fold_cell cell[FOLD_TERMS];    /* over the whole recording */
    struct derive_peak cores, host_cores; /* of the job, of the machine */
    struct derive_sum sum[FOLD_SUMS];     /* of the last sample */
    struct fold_row row;                  /* the same */
    struct fold_groups groups;            /* control groups that the job is in */
    struct fold_packets packets;
    struct fold_entities gpus, meters, directories, tasks;
    uint64_t blocked_ns, late_ns;          /* late_ns: as in struct derive_able */
    char name[FOLD_NAMES][FOLD_NAME_ROOM]; /* names of processes that ran when a sample was taken */
    unsigned n_names;
    bool has_foreign_groups; /* the control groups are those of processes of the machine, not the job's */
    bool has_unread;         /* the threads of some process were not known */
    bool failed;             /* out of memory: entities are missing */
};

void fold_init(struct fold *f);
void fold_done(struct fold *f);
void fold_add(struct fold *f, const struct baro_sample *s);
void fold_add_exit(struct fold *f, const struct baro_exit *e);

/* Growth of a term per nanosecond of the time in which it was seen to grow. Returns 0 or enum baro_absent. */
int fold_share(const struct fold *f, enum fold_term term, double *ret);

#endif
