/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of a parallel job, each with a tape of its own, as one job. */
#ifndef OUTPUT_RANKS_H
#define OUTPUT_RANKS_H

#include <stdbool.h>

#include "baro/advice.h"
#include "baro/header.h"
#include "baro/runset.h"
#include "base/buf.h"
#include "output/text/summary_text.h"

#define RANK_CELLS 64u   /* of the job's time, for curves */
#define RANK_COURSE 192u /* stretches of a summary at most */

struct rank {
    uint32_t number;
    char *tape;       /* as the user may name it */
    size_t node;      /* position */
    char boot_id[40]; /* of its machine; "": not known */
    int64_t start_ns; /* realtime */
    uint64_t wall_ns;
    int status;       /* of wait(2); -1: not known */
    struct rank_gpu { /* those that the job used */
        unsigned number;
        double busy_ratio, memory_peak, memory_total;
    } * gpu;
    size_t gpus;
    double cpu_ns, waited_ns;        /* waited: for a core; NAN: not known */
    double own_ns;                   /* CPU time with that of its recorder; 0: not known */
    double others_cores, watched_ns; /* what all others used of its machine, and for how long that was read */
    struct baro_need need;           /* size 0: the fold had no verdicts */
    /* the course in stretches: cores, and bytes of memory; below 0: not known. Later in cells of the job's time */
    uint64_t width_ns, origin_ns;
    float cores[RANK_COURSE], memory[RANK_COURSE];
    size_t stretches;
};

struct rank_node {
    char *name;
    size_t first, ranks;                  /* the first of its ranks, and how many they are */
    int64_t start_ns, end_ns;             /* realtime: of its first rank, of its last */
    double cpu_ns;                        /* of its ranks together */
    double cpus;                          /* of the machine */
    double cores_allowed, memory_allowed; /* the tightest limits; memory: NAN: not known */
    char *source;                         /* of the limit on memory; NULL: not known */
    bool is_shared;                       /* it is one limit of all of them together */
    double needed;                        /* the most that each needed, added up */
    unsigned needed_flags;
    float memory[RANK_CELLS]; /* of its ranks together, over the job's time */
    double memory_most;       /* the most of that */
    double others_cores;      /* what was none of the job's used of the machine; NAN: not known */
};

/* Which rank the others waited for, as far as it can be told. */
struct rank_slowest {
    enum { SLOWEST_NONE, SLOWEST_PHASE, SLOWEST_CPU, SLOWEST_WAIT } by;
    size_t rank;       /* position */
    char *phase;       /* by phase: the one that costs most */
    double took, mean; /* ns: what this rank took, and all on average */
    double cost;       /* ns: what all others together wait for it, if they wait for each other */
    size_t phases, of; /* by phase: it is the slowest in so many of so many */
};

struct ranks {
    char job[64], step[64];
    char *title;
    uint32_t count;  /* how many the job has; 0: not known */
    struct rank *at; /* in the order of their numbers; a column of the set each */
    size_t n, room;
    struct rank_node *node; /* in the order of their first ranks */
    size_t n_nodes, nodes_room;
    struct baro_runset *set;
    /* over the job's time */
    int64_t start_ns, end_ns;
    double cores_most, memory_most; /* the largest sums at one moment; NAN: not known */
    struct rank_slowest slowest;
};

/* Reads the number of a rank. Returns false for a text that is none. */
bool ranks_number(const char *text, uint32_t *ret);

int ranks_begin(struct ranks *r, struct baro_error *err);
/* Adds a rank; in the order of their numbers. fold: with a timeline, and with verdicts if need is wanted. Returns 0 or
 * -ENOMEM. */
int ranks_add(struct ranks *r, const char *tape, const struct baro_header *h, const struct baro_fold *fold,
              struct baro_error *err);
/* Call it after the last one. */
int ranks_finish(struct ranks *r, struct baro_error *err);
void ranks_done(struct ranks *r);
static inline const char *rank_node(const struct ranks *r, size_t rank)
{
    return r->node[r->at[rank].node].name;
}
int64_t rank_end_ns(const struct rank *rank); /* realtime */
uint64_t ranks_wall_ns(const struct ranks *r);

/* Writes the missing ranks as "3, 5-7 and 12 more". Returns how many are missing. */
uint64_t ranks_missing(const struct ranks *r, struct buf *ret);

/* baro_runset_spread() over all ranks. */
int ranks_spread(const struct ranks *r, size_t row, struct baro_spread *ret);

/* ---- words, for ranks_text() and reports ---- */
void ranks_put_number(const struct baro_fact *fact, double v, struct buf *b);
/* What all ranks used together, with its mark; nothing if that is not known. */
void ranks_put_all(const struct baro_fact *fact, const struct baro_spread *s, struct buf *b);
/* Visits the sentences of the head, which are escaped: "end": "exit 0 after 1.03 s"; "slowest": ... */
typedef void ranks_say(void *context, const char *label, struct buf *sentence);
void ranks_each_sentence(const struct ranks *r, ranks_say *say, void *context);
/* Visits the rows of the table: facts of the job, and the phases in which ranks differ most. label: raw bytes. */
typedef void ranks_visit(void *context, const char *label, const struct baro_fact *fact, const struct baro_spread *s);
void ranks_each_row(const struct ranks *r, ranks_visit *visit, void *context);

/* The cores of each rank over time, or of several together, in blocks. */
void ranks_picture(const struct ranks *r, struct report_style style, struct buf *ret);
void ranks_text(const struct ranks *r, struct report_style style, struct buf *ret);
void ranks_json(const struct ranks *r, struct buf *ret);
/* Writes what jobstats keeps in Slurm's AdminComment, before gzip and base64. */
void ranks_jobstats(const struct ranks *r, struct buf *ret);

#endif
