/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated kernel to test the ledger with: processes fork, burn CPU time, end, are reaped, ignored or orphaned, and
 * the kernel's rules decide which process gets whose counters. What a recorder reads is declared here and defined by
 * the test. */
#ifndef TESTS_LIVES_H
#define TESTS_LIVES_H

#include <string.h>

#include "recorder/job/job.h"

#define TICK 10000000ull /* 10 ms, as cutime is shown */
#define PROCESSES 400
#define WRAPPER 1

enum life { FREE, LIVES, ZOMBIE };
enum recorder { SCANS, INFORMED, LATE };

#define QUEUE 4096
#define SOCKET 20 /* messages that fit */
#define PATIENCE (10 * TICK)

struct event {
    bool fork;
    int32_t pid, ppid;
    uint64_t t, usage;
};

struct message {
    int32_t pid;
    uint64_t start, t, own_user, own_system, reaped_user, reaped_system, reaped_faults, total_user, total_system;
    bool ignores;
};

/* The most that the usage of an event lacks of the CPU time of a process. */
#define CUT 400000u
#define STEAL 8000000u

struct process {
    enum life life;
    int parent; /* index, -1: the wrapper */
    int32_t pid;
    uint64_t start, own_user, own_system, reaped_user, reaped_system, reaped_faults;
    bool ignores;  /* SIGCHLD: its children's counters go nowhere */
    uint64_t tick; /* in which it was orphaned */
};

struct kernel {
    uint64_t number, seed, clock;
    struct process at[PROCESSES];
    int n;
    uint64_t truth, lost;         /* all CPU time that was used; what the kernel added to no other process */
    uint64_t lost_ends;           /* processes that ended so */
    bool all_reap;                /* no process ignores SIGCHLD */
    bool has_steal;               /* the records of ends have up to STEAL too much */
    uint64_t truth_before, ticks; /* truth at the start of the last tick */
    struct job job;
    uint64_t exits, exit_cpu, forks;
    struct baro_exit last_exit;
    bool events; /* forks and ends are reported at once, with a usage that lacks the last part before the end */
    enum recorder recorder;
    bool restless; /* time also passes during a tick */
    struct event event[QUEUE];
    struct message message[SOCKET];
    size_t n_events, n_messages, dropped;
    bool delays;                       /* rows have run delays and context switches */
    uint64_t kept[JOB_MAX];            /* totals of these at the last step */
    uint64_t total_user, total_system; /* reaped by the wrapper */
};

/* The clock ticks as the kernel's does. */
static uint64_t now(const struct kernel *k)
{
    return k->clock * TICK;
}

static uint64_t dice(struct kernel *k, uint64_t n)
{
    k->seed ^= k->seed << 13;
    k->seed ^= k->seed >> 7;
    k->seed ^= k->seed << 17;
    return k->seed % n;
}

static void gone(struct kernel *k, struct member *m);

static int fork_from(struct kernel *k, int parent)
{
    for (int i = 0; i < PROCESSES; i++) {
        if (k->at[i].life != FREE || (k->restless && k->at[i].tick == k->ticks))
            continue;
        /* pids are reused at once (but not by the kernel whose time passes during ticks, where more reuses could
         * coincide than in reality): only the start time distinguishes the processes */
        k->at[i] = (struct process){
            .life = LIVES, .parent = parent, .pid = 100 + i, .start = ++k->clock, .ignores = dice(k, 20) == 0};
        k->at[i].ignores &= !k->all_reap;
        k->forks++;
        if (i >= k->n)
            k->n = i + 1;
        if (k->recorder == LATE) {
            assert_true(k->n_events < QUEUE);
            k->event[k->n_events++] =
                (struct event){true, k->at[i].pid, parent >= 0 ? k->at[parent].pid : WRAPPER, now(k), 0};
        } else if (k->events) {
            struct member *known = tree_find(&k->job.tree, k->at[i].pid);
            if (known)
                gone(k, known);
            assert_non_null(job_add(&k->job, k->at[i].pid,
                                    parent >= 0 ? tree_find(&k->job.tree, k->at[parent].pid) : NULL, BARO_ORIGIN_EVENT,
                                    now(k)));
        }
        return i;
    }
    return -1;
}

static void pass_on(struct kernel *k, struct process *p)
{
    uint64_t user = p->own_user + p->reaped_user, system = p->own_system + p->reaped_system;
    if (p->parent >= 0) {
        k->at[p->parent].reaped_user += user;
        k->at[p->parent].reaped_system += system;
        k->at[p->parent].reaped_faults += 1 + p->reaped_faults; /* no process lives without one */
        return;
    }
    k->total_user += user;
    k->total_system += system;
    if (k->recorder == LATE)
        return;
    k->job.wrapper.total[LEDGER_CPU_USER] = k->total_user;
    k->job.wrapper.total[LEDGER_CPU_SYSTEM] = k->total_system;
}

static void fill(struct kernel *k, struct member *m);
static bool read_again(void *context, struct member *m);
static void gather(struct kernel *k, struct member *m);

/* The wrapper reads a zombie before it reaps it, and reports it. */
static void told_by_wrapper(struct kernel *k, struct process *p)
{
    struct member *m = tree_find(&k->job.tree, p->pid);
    if (!m || (m->reading.stat_was_read && m->row.key.start != p->start))
        return;
    fill(k, m);
    member_make_usage(m)->has_cpu = true;
    member_make_usage(m)->cpu_ns = p->own_user + p->own_system;
    job_reaped(&k->job, m, now(k));
    gather(k, m);
    job_settle(&k->job, now(k), read_again, k); /* as its children's successor, before its usage moves to the wrapper */
    job_gone(&k->job, m, now(k), now(k));
}

static void send(struct kernel *k, const struct process *p)
{
    k->dropped += k->n_messages == SOCKET;
    if (k->n_messages == SOCKET)
        return;
    k->message[k->n_messages++] = (struct message){p->pid,        p->start,        now(k),           p->own_user,
                                                   p->own_system, p->reaped_user,  p->reaped_system, p->reaped_faults,
                                                   k->total_user, k->total_system, p->ignores};
}

static void let_go(const struct kernel *k, struct process *p)
{
    p->life = FREE;
    p->tick = k->ticks;
}

static void reap(struct kernel *k, int i)
{
    struct process *p = &k->at[i];
    if (p->parent < 0 && k->recorder != LATE)
        told_by_wrapper(k, p);
    pass_on(k, p);
    if (p->parent < 0 && k->recorder == LATE)
        send(k, p);
    let_go(k, p);
}

static void end(struct kernel *k, int i)
{
    struct process *p = &k->at[i];
    for (int c = 0; c < k->n; c++) {
        if (k->at[c].life != FREE && k->at[c].parent == i)
            k->at[c].parent = -1;
    }
    p->life = ZOMBIE;
    if (k->recorder == LATE) {
        uint64_t all = p->own_user + p->own_system, cut = dice(k, CUT);
        assert_true(k->n_events < QUEUE);
        k->event[k->n_events++] = (struct event){false, p->pid, 0, (++k->clock, now(k)), all > cut ? all - cut : 0};
    }
    struct member *m = k->recorder == INFORMED ? tree_find(&k->job.tree, p->pid) : NULL;
    if (m && (!m->reading.stat_was_read || m->row.key.start == p->start)) {
        uint64_t all = p->own_user + p->own_system, cut = dice(k, CUT);
        job_ended(&k->job, m, now(k));
        member_make_usage(m)->has_cpu = true;
        member_make_usage(m)->cpu_ns = all > cut ? all - cut : 0;
        member_moved(m);
    }
    if (p->parent >= 0 && k->at[p->parent].ignores) {
        k->lost += p->own_user + p->own_system + p->reaped_user + p->reaped_system;
        k->lost_ends++;
        let_go(k, p);
    }
}

#endif
