/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An upper bound of the memory that processes held between two samples: the sum of the high-water marks of those that
 * were alive at the same moment. A process counts from its start to its end, so processes that followed each other do
 * not add up.
 *
 * Example: samples at 2 s and 3 s see eleven processes with 71 MB together. At 3 s ten of them have a mark of 53 MB,
 * and one of 60 MB: between the samples they can have held 590 MB, and not more.
 *
 * A process did not reach its mark again between two samples if it had too few page faults for that: one fault maps 2
 * MiB at most. If a process ended and its last mark is not known, the CPU time that it used after it was read last says
 * how far it can have grown; and no process had more than the largest mark of all (wait4(2)).
 *
 * A child begins with a copy of its parent's pages, and exec(2) begins a new mark. So until exec(2) the child held as
 * much as its parent, and its later mark does not show that. wait4(2) reports the larger of both.
 */
#ifndef LIBBARO_SUMMARY_TOGETHER_H
#define LIBBARO_SUMMARY_TOGETHER_H

#include "libbaro/interval/derive.h"
#include "libbaro/sample/sample.h"

/* A process that began or ended between two samples. end_ns: UINT64_MAX: it is alive. */
struct together_life {
    uint64_t begin_ns, end_ns;
    uint64_t known;  /* the most bytes that it held */
    uint64_t unsure; /* the same if its last mark is not known: an upper bound, at most the largest mark of all */
};

/* A process in the last sample. */
struct together_row {
    uint32_t id;
    int32_t pid;
    bool is_zombie;
    uint64_t rss, mark, faults, cpu_ns;
};

#define TOGETHER_SINGLE 8u
/* Bytes that a process can map in a nanosecond of CPU time. Measured on one machine: 5 of memory of its own in huge
 * pages, 17 of a file in the page cache. */
#define TOGETHER_GROWTH_MOST 16u

/* The most that was held at one moment. */
struct together_sum {
    uint64_t known;
    uint64_t single[TOGETHER_SINGLE]; /* the largest values that are unsure */
    uint64_t rest, n_rest;            /* the others */
    uint64_t at_once;                 /* as in struct together */
};

struct together_edge {
    uint64_t t_ns;
    uint32_t life;
    bool is_end;
};

struct together {
    struct together_row *row, *next; /* next: for the sample that is being added */
    struct together_life *life;
    struct together_edge *edge;
    size_t n_rows, cap_rows, cap_next, n_lives, cap_lives, cap_edges;
    uint64_t sampled_ns; /* the last sample */
    uint64_t at_once;    /* no more processes were alive at one time; 0: not known */
    /* The largest sum so far: [0] with unsure values unchanged; [1] with each unsure value limited to the largest
     * mark at that time. */
    struct together_sum most[2];
    uint64_t copies;      /* since the last sample: memory that children held beyond their own marks, as copies of their
                             parents */
    uint64_t copies_most; /* the most of that in any interval */
    bool is_unread;       /* a process had no mark: it may have held more than the sample says */
    bool failed;          /* out of memory */
};

/* For other values than rss: a process that began or ended since the last interval; and the end of an interval, with
 * the sum of those that were alive all the time. mark: as below. */
void together_add_life(struct together *t, const struct together_life *l);
void together_end_interval(struct together *t, uint64_t always, uint64_t mark);

/* is_final: the mark of the exit is the one that it ended with. attached: what a process had used before the recording
 * is not in its exit. */
void together_add_exit(struct together *t, const struct baro_exit *e, bool is_final, bool attached);
/* mark: the largest mark of any process so far. */
void together_add_sample(struct together *t, const struct baro_sample *s, const struct derive_ticks *ticks,
                         uint64_t mark);
/* Returns the largest sum in bytes. mark: the largest mark of all; UINT64_MAX: it is not known. ret_unsure: the sum
 * depends on processes whose mark is not known, or copies of parents may add more than 3 % to it. */
uint64_t together_most(const struct together *t, uint64_t mark, bool *ret_unsure);
void together_done(struct together *t);

#endif
