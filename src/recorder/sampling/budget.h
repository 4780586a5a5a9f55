/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The overhead budget: the CPU time of the recorder, its helpers and the wrapper as a share of one core, or of what a
 * job of many cores uses. Pure.
 *
 * There is one account. It begins with what a start may cost, grows by the share, and is charged with all CPU time that
 * is used. A sample is delayed until the account has as much as recent samples cost. Example with 1 %: the account
 * begins with 10 ms. Samples of 0.2 ms every 10 ms use these up within a second; after that there is a sample every 20
 * ms. If samples are delayed for long, expensive reads are left out, level by level, so that samples become cheaper; a
 * level is undone when the account allows it.
 */
#ifndef RECORDER_SAMPLING_BUDGET_H
#define RECORDER_SAMPLING_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* The levels. The table of collectors (recorder/sampling/collector.h) says what each leaves out. */
enum budget_level {
    BUDGET_ALL,    /* everything that was asked for is read */
    BUDGET_LESS,   /* without the most expensive reads */
    BUDGET_SPARSE, /* and reads of medium cost at most once a second */
    BUDGET_LEAST,  /* and all but the cheapest reads at most once a second */
    BUDGET_MAX
};

struct budget {
    uint64_t ppm; /* 0: no limit */
    double scale; /* of the share, for a job of many cores: budget_note_job() */
    uint64_t job_at_ns, job_cpu_ns;
    enum budget_level level;
    int64_t left_ns;    /* the balance of the account; negative: debt */
    uint64_t at_ns;     /* when the account last grew */
    uint64_t sample_ns; /* cost of a sample: moving average */
    uint64_t checked_ns;
    bool strained, eased; /* since checked_ns: a sample was delayed for long; no sample was delayed */
};

/* A second account, with a quarter of the share, for reads that block the process that is read: CPU time of the helper
 * while it holds the mmap lock of a target. */
struct read_budget {
    int64_t left_ns;
    uint64_t at_ns; /* when it last grew */
};

void budget_init(struct budget *b, uint64_t ppm);

/* Charges the CPU time that was used since the last call: for a sample, by helpers, for other things (events). now_ns
 * is relative to the start of the recording. Costs that cannot be delayed or divided delay samples for a limited time
 * only: events for one second, a helper's read of a large process for two. */
void budget_spend(struct budget *b, uint64_t now_ns, uint64_t sample_ns, uint64_t helpers_ns, uint64_t events_ns);

/* Returns when the account allows the next sample: next_ns, for which it is planned, or later. interval_ns: the planned
 * interval. */
uint64_t budget_wait(struct budget *b, uint64_t now_ns, uint64_t next_ns, uint64_t interval_ns);

/* Returns when a sample may be taken at the begin or end of a phase: now, even if the account has nothing left, so that
 * later samples are delayed. It waits only if the debt is already as large as the budget of half a second. Example with
 * 1 %: after ten such samples of 0.5 ms at once, the debt is 5 ms. */
uint64_t budget_wait_edge(const struct budget *b, uint64_t now_ns);

/* Notes the CPU time of the job, once a second. A job that keeps more than two cores busy pays half of the share of
 * what it uses. Example with 1 %: a compile on 16 cores starts 1,400 processes a second. Their events alone cost 2.6 %
 * of a core, and the budget is 8 %. */
void budget_note_job(struct budget *b, uint64_t now_ns, uint64_t cpu_ns);

/* Updates the level, at most four times a second. Returns whether it changed. */
bool budget_update(struct budget *b, uint64_t now_ns);

/* Returns how long to wait after something that cost cost_ns, so that it takes 1/parts of the budget. Example with 1 %:
 * a read of 1 ms that may take half of the budget (2 parts) waits 200 ms. */
uint64_t budget_pause(const struct budget *b, uint64_t cost_ns, unsigned parts);

void read_budget_init(struct read_budget *a);
/* Does the account allow a read of about cost_ns? If so, subtracts it. An urgent read may overdraw the account once. */
bool read_budget_take(struct read_budget *a, const struct budget *b, uint64_t now_ns, uint64_t cost_ns, bool urgent);
/* Replaces the estimated cost by the real one. */
void read_budget_correct(struct read_budget *a, uint64_t estimated_ns, uint64_t spent_ns);

#endif
