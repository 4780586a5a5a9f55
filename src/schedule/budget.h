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

enum budget_level {
    BUDGET_ALL,      /* everything that is wanted */
    BUDGET_NO_SMAPS, /* pss and uss only on a new peak of the tree */
    BUDGET_SPARSE,   /* besides: status, threads and descriptors of a process once a second at most */
    BUDGET_STAT,     /* besides: io once a second at most */
    BUDGET_MAX
};

struct budget {
    uint64_t ppm;          /* 0: no limit */
    enum budget_level level;
    int64_t left_ns;       /* what may be spent; below 0: debt */
    uint64_t at_ns;        /* when it last grew */
    uint64_t sample_ns;    /* what a sample costs, moving average */
    uint64_t checked_ns;
    bool strained, eased;  /* since checked_ns: a sample had to wait for long; none had to wait */
    int64_t smaps_left_ns; /* a second account, of half the share: CPU time of the helper, for which the targets' mmap
                              lock is held */
    uint64_t smaps_at_ns;
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

/* Text for an event: what is left out at this level. */
const char *budget_text(enum budget_level level);

/* How long to do without something that cost cost_ns, so that it takes one part in `parts` of the budget. */
uint64_t budget_pause(const struct budget *b, uint64_t cost_ns, unsigned parts);

/* May a smaps read of about cost_ns go ahead? Takes it off the account if so. A peak may overdraw. */
bool budget_take_smaps(struct budget *b, uint64_t now_ns, uint64_t cost_ns, bool peak);
void budget_correct_smaps(struct budget *b, uint64_t estimated_ns, uint64_t spent_ns);

#endif
