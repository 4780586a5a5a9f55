/* SPDX-License-Identifier: Apache-2.0 */
/* What all collectors of a recording share. Only the sampler changes it; the collectors read it and fill the sample. */
#ifndef RECORDER_SAMPLING_SAMPLING_H
#define RECORDER_SAMPLING_SAMPLING_H

#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "kernel/proc/procfs.h"
#include "recorder/job/job.h"
#include "recorder/sampling/account.h"
#include "recorder/sampling/collector.h"

#define SAMPLING_HELPER_AFTER (100 * NS_PER_MS) /* when helpers for the machine and control groups are started */

struct cgroup_hierarchies;

struct sampler_options {
    int proc_fd;     /* directory descriptor of /proc; borrowed */
    uint64_t wanted; /* mask of process metrics */
    uint64_t overhead_ppm;
    bool cmdline;      /* read command lines */
    bool children;     /* descendants of members are members */
    bool helper;       /* a helper process may be started */
    bool host;         /* sample the machine, too */
    bool host_at_once; /* sample the machine from the first sample on; else after the job has run for some time */
    bool whole;        /* all processes of the machine are recorded */
    bool host_alone;   /* record the machine only: there is no job */
    int sys_fd;        /* directory descriptor of /sys; borrowed; -1: none */
    uint32_t clk_tck;
    uint64_t start_monotonic_ns;
    uint64_t page_size;
    int32_t self[2]; /* pids of barograph's own processes, which are never members: this one first; 0: none */
    /* children of the wrapper that were there before the command; start 0: not known */
    const struct baro_key *earlier;
    size_t n_earlier;
    struct clock_before before;
    struct stat own_exe;     /* the file that this process executes; st_ino 0: not known */
    struct baro_key starter; /* the process that started this one and is about to end: it is no member, although its
                                parent may be one; pid 0: none */
    int wake_fd;             /* waiting for the helper ends when this descriptor is readable; -1: none */
    /* Called in a tick that found members gone, before their exits are reported. It reads the events of their ends,
     * which the event sources have queued by then. */
    void (*catch_up)(void *context);
    void *catch_up_context;
    int root_fd;                             /* directory descriptor of "/"; borrowed */
    const struct cgroup_hierarchies *groups; /* control groups of the job; NULL: not sampled; borrowed */
    uint64_t memory_total;                   /* bytes of memory of the machine */
    struct account *account;                 /* shared with other recordings; NULL: the sampler has its own; borrowed */
    const char *gpu;          /* GPUs to read: "auto", or a list; NULL: neither GPUs nor meters of energy; borrowed */
    uint64_t gpu_interval_ns; /* 0: auto */
    void (*become)(char *program, char **argv); /* replaces this process by a program of barograph's own */
    struct namespaces *namespaces; /* namespaces before the job began; taken. NULL: listed when the sampler begins */
};

struct sampling {
    struct sampler_options options;
    struct collectors collectors;
    struct job *job;
    struct account *account;
    enum budget_level level_reported;
    struct baro_sample sample;
    unsigned need;       /* mask of enum baro_source: needed for the wanted metrics */
    uint32_t entity_ids; /* the last id that was given to a CPU, disk, control group ... */
    uint64_t now_ns;     /* time of the tick */
    uint64_t ticks;
    uint64_t thinned; /* reads that were left out for the budget */
    char *text;       /* that of the account, SAMPLING_TEXT bytes */
};

/* Returns the present time, since the tape began. (now_ns is when the tick began, or the last sampler_advance().) */
static inline uint64_t sampling_clock_ns(const struct sampling *g)
{
    return clock_monotonic_ns() - g->options.start_monotonic_ns;
}

/* Converts a time since the tape began to one of the account. */
static inline uint64_t sampling_account_ns(const struct sampling *g, uint64_t t_ns)
{
    return t_ns + g->options.start_monotonic_ns - g->account->start_ns;
}

/* Is it one of several recordings of this process? */
static inline bool sampling_is_shared(const struct sampling *g)
{
    return g->account->recordings > 0;
}

/* Is it the process that started the recorder, and not another one that has its pid by now? */
static inline bool sampling_is_starter(const struct sampling *g, int32_t pid, struct pid_stat *ret)
{
    const struct baro_key *k = &g->options.starter;
    return pid && pid == k->pid && proc_read_stat(g->options.proc_fd, pid, ret) == 0 && ret->starttime == k->start;
}

/* Is it a child of the wrapper from before the command? Example: sleep 7 & exec baro run -- true */
static inline bool sampling_is_earlier(const struct sampling *g, int32_t pid)
{
    for (size_t i = 0; i < g->options.n_earlier; i++) {
        const struct baro_key *k = &g->options.earlier[i];
        if (k->pid == pid && proc_read_start(g->options.proc_fd, pid) == k->start)
            return true;
    }
    return false;
}

/* Is it one of barograph's own processes, or was it there before the job? These are not members. */
static inline bool sampling_is_own(const struct sampling *g, int32_t pid)
{
    const int32_t *self = g->options.self;
    struct pid_stat st;
    bool is_helper = false;
    for (size_t i = 0; i < g->collectors.n; i++)
        is_helper |= worker_pid(collectors_worker(&g->collectors, i)) == pid;
    for (size_t i = 0; i < g->account->n_workers; i++)
        is_helper |= worker_pid(g->account->worker[i]) == pid;
    return pid == self[0] || pid == self[1] || is_helper || sampling_is_starter(g, pid, &st) ||
           sampling_is_earlier(g, pid);
}

#endif
