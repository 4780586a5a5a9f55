/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a job (baro/steps.h), in five passes over the processes of the tape:
 *
 *     lives.c   records -> a life for each process: begin, end, parent, what it used
 *     tree.c    the window of the job, the tree, children by begin and by end
 *     choose.c  which processes are drivers, and which step each process belongs to
 *     share.c   one sweep over begins and ends: who shares each moment
 *     chain.c   backwards from the end: the chain of last finishers
 *
 * Life 0 is none of the tape: it lives over the whole window, and processes without a parent are its children. What is
 * its own is the time in which no process lived.
 */
#ifndef LIBBARO_STEPS_STEPS_H
#define LIBBARO_STEPS_STEPS_H

#include "baro/steps.h"
#include "base/map.h"
#include "base/names.h"
#include "base/parents.h"
#include "libbaro/interval/derive.h"

#define STEPS_LIVES_MOST 1000000u
#define STEPS_NONE UINT32_MAX
#define STEPS_GRAIN_NS 5000000u /* shorter gaps are the work of fork(2), exec(2) and a driver's loop */

struct life {
    struct parents_process is;
    uint64_t begin_ns, end_ns, begin_error_ns, end_error_ns; /* begin_ns: UINT64_MAX: not known yet */
    uint64_t from_ns, to_ns;                                 /* the same within the window of the job */
    uint64_t cpu_ns, base_cpu_ns, wait_ns, rss_bytes;
    struct life_io {
        uint64_t bytes, base_bytes;
        bool is_known;
    } read, write;          /* its own, without that of children that it waited for */
    uint64_t below_cpu_ns;  /* with all processes below it */
    double share_ns;        /* while it had no living descendant */
    uint32_t name, cmdline; /* in steps.names */
    uint32_t parent, step;
    uint32_t first, n;  /* its children, in steps.by_begin and steps.by_end */
    uint32_t at_once;   /* siblings that lived just before its end, and itself */
    uint32_t most;      /* of its children at once */
    uint32_t waits_for; /* the child that it does nothing but wait for, or STEPS_NONE */
    int status;
    bool has_cpu, has_wait, has_rss, has_status, has_ended;
    bool cpu_is_bound, rss_is_bound, io_is_bound;
    bool is_driver, is_idle;
};

struct step_row {
    struct baro_step is;
    uint32_t top, lead; /* lives: the topmost process; the one that names it */
    uint32_t n, n_wait; /* processes; those whose wait is known */
    uint64_t cpu_ns, wait_ns, rss_bytes, error_ns;
    double share_ns, alone_ns;
    bool has_rss, cpu_is_bound, rss_is_bound;
};

struct baro_steps {
    struct derive_ticks ticks;
    bool is_attached;
    struct life *life;
    uint32_t n;
    size_t room;
    struct map by_id; /* lives by the id that the tape gives a process */
    struct names names;
    uint64_t sampled_ns, last_ns, start_ns, end_ns; /* of the last sample, the last record, the job */
    uint64_t left_out;
    bool has_started, has_ended, is_detached, failed;
    struct baro_steps_process process; /* the one that was asked for last */
    /* made by baro_steps_finish() */
    uint64_t from_ns, to_ns;
    uint32_t *order, *by_begin, *by_end; /* order: each life after its parent */
    struct step_row *row;                /* in order of responsibility */
    uint32_t n_rows;
    struct baro_step_link *link;
    size_t n_links, room_links;
    struct pid_of_life {
        uint64_t start;
        int32_t pid;
        uint32_t step;
    } * by_pid;
};

static inline uint64_t life_length(const struct life *l)
{
    return l->to_ns - l->from_ns;
}

/* Did it use so little CPU time over its life? Not if that is not known. */
static inline bool life_used_less(const struct life *l, double cores)
{
    return l->has_cpu && (double)l->cpu_ns < cores * (double)life_length(l);
}

/* Each returns 0 or -ENOMEM. */
void steps_lives_add(struct baro_steps *s, const struct baro_record *record);
int steps_make_tree(struct baro_steps *s);
int steps_choose(struct baro_steps *s);
int steps_share(struct baro_steps *s);
int steps_chain(struct baro_steps *s);

#endif
