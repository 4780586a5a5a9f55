/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The overhead budget: the CPU time of the recorder and its helpers as a share of one core. Pure.
 *
 * One account. It begins with what a start may cost, grows by the share, and everything that is spent is taken off. A
 * sample waits until the account has what the last samples cost. An example with 1 %: 10 ms at the start; samples of
 * 0.2 ms every 10 ms use them up within a second, after that there is a sample every 20 ms. Where samples have to wait
 * for long, expensive reads are thinned out, in steps, so that samples become cheaper; each step is taken back when
 * there is room again.
 */
#ifndef SCHEDULE_BUDGET_H
#define SCHEDULE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* What is left out at each level is said by the rows of the table of collectors (collect/collector.h). */
enum budget_level {
    BUDGET_ALL,    /* everything that is wanted is read */
    BUDGET_LESS,   /* without the most expensive reads */
    BUDGET_SPARSE, /* besides: reads of middling cost once a second at most */
    BUDGET_LEAST,  /* besides: all but the cheapest reads once a second at most */
    BUDGET_MAX
};

struct budget {
    uint64_t ppm; /* 0: no limit */
    enum budget_level level;
    int64_t left_ns;    /* what may be spent; below 0: debt */
    uint64_t at_ns;     /* when it last grew */
    uint64_t sample_ns; /* what a sample costs, moving average */
    uint64_t checked_ns;
    bool strained, eased; /* since checked_ns: a sample had to wait for long; none had to wait */
};

/* A second account, of half the share, for reads that hold up the process that is read: CPU time of the helper, for
 * which the mmap lock of its targets is held. */
struct allowance {
    int64_t left_ns;
    uint64_t at_ns; /* when it last grew */
};

void budget_init(struct budget *b, uint64_t ppm);

/* CPU time was spent since the last call: on a sample, by helpers, on the rest (events). now_ns: since the recording
 * began. What can't be put off or divided holds up samples for a limited time only, as without samples nothing would be
 * known: events a second, a helper's read of a large process two seconds. */
void budget_spend(struct budget *b, uint64_t now_ns, uint64_t sample_ns, uint64_t helpers_ns, uint64_t events_ns);

/* When the next sample, which is planned for next_ns, can be paid for: next_ns or later. interval_ns: the planned
 * distance of samples. */
uint64_t budget_wait(struct budget *b, uint64_t now_ns, uint64_t next_ns, uint64_t interval_ns);

/* Returns true if the level changed. It changes four times a second at most. */
bool budget_update(struct budget *b, uint64_t now_ns);

/* How long to do without something that cost cost_ns, so that it takes one part in `parts` of the budget. */
uint64_t budget_pause(const struct budget *b, uint64_t cost_ns, unsigned parts);

void allowance_init(struct allowance *a);
/* May a read of about cost_ns go ahead? Takes it off the account if so. An urgent one may overdraw it, once. */
bool allowance_take(struct allowance *a, const struct budget *b, uint64_t now_ns, uint64_t cost_ns, bool urgent);
/* What it cost is known now. */
void allowance_correct(struct allowance *a, uint64_t estimated_ns, uint64_t spent_ns);

#endif
