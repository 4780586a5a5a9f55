/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The overhead budget: the CPU time of the recorder, its helpers and the wrapper as a share of one core. Pure.
 *
 * There is one account. It starts with what a start may cost, grows by the share, and all CPU time that is spent is
 * subtracted. A sample is delayed until the account has what recent samples cost. Example with 1 %: 10 ms at the start;
 * samples of 0.2 ms every 10 ms use them up within a second, and after that there is a sample every 20 ms. If samples
 * are delayed for long, expensive reads are left out, in steps, so that samples become cheaper; each step is undone
 * when the account allows it again.
 */
#ifndef RECORDER_SAMPLER_BUDGET_H
#define RECORDER_SAMPLER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* The table of collectors (recorder/sampler/collector.h) says what is left out at each level. */
enum budget_level {
    BUDGET_ALL,    /* everything that was asked for is read */
    BUDGET_LESS,   /* without the most expensive reads */
    BUDGET_SPARSE, /* and reads of medium cost at most once a second */
    BUDGET_LEAST,  /* and all but the cheapest reads at most once a second */
    BUDGET_MAX
};

struct budget {
    uint64_t ppm; /* 0: no limit */
    enum budget_level level;
    int64_t left_ns;    /* what may be spent; below 0: debt */
    uint64_t at_ns;     /* when it last grew */
    uint64_t sample_ns; /* what a sample costs, moving average */
    uint64_t checked_ns;
    bool strained, eased; /* since checked_ns: a sample was delayed for long; no sample was delayed */
};

/* A second account, with half of the share, for reads that block the process that is read: CPU time of the helper while
 * it holds the mmap lock of a target. */
struct allowance {
    int64_t left_ns;
    uint64_t at_ns; /* when it last grew */
};

void budget_init(struct budget *b, uint64_t ppm);

/* CPU time was spent since the last call: on a sample, by helpers, on other things (events). now_ns is relative to the
 * start of the recording. Cost that can't be delayed or divided delays samples for a limited time only: events by one
 * second, a helper's read of a large process by two. */
void budget_spend(struct budget *b, uint64_t now_ns, uint64_t sample_ns, uint64_t helpers_ns, uint64_t events_ns);

/* When the account allows the next sample, which is planned for next_ns: at next_ns or later. interval_ns: the planned
 * interval. */
uint64_t budget_wait(struct budget *b, uint64_t now_ns, uint64_t next_ns, uint64_t interval_ns);

/* When a sample may be taken at the edge of a phase: now, also on credit, which later samples pay for. Only if the
 * account is half a second in debt already, as after ten edges at once of 0.5 ms each with 1 %, it waits until it is
 * not. */
uint64_t budget_wait_edge(const struct budget *b, uint64_t now_ns);

/* Returns true if the level changed, which it does at most four times a second. */
bool budget_update(struct budget *b, uint64_t now_ns);

/* How long to wait after something that cost cost_ns, so that it takes 1/parts of the budget. Example with 1 %: a read
 * of 1 ms that may take half of it (2 parts) pauses for 200 ms. */
uint64_t budget_pause(const struct budget *b, uint64_t cost_ns, unsigned parts);

void allowance_init(struct allowance *a);
/* May a read of about cost_ns be done? If so, subtracts it. An urgent read may overdraw the account once. */
bool allowance_take(struct allowance *a, const struct budget *b, uint64_t now_ns, uint64_t cost_ns, bool urgent);
/* Replaces the estimate by the real cost. */
void allowance_correct(struct allowance *a, uint64_t estimated_ns, uint64_t spent_ns);

#endif
