/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The overhead budget: the recorder's own CPU as a share of one core. Pure. When the share is spent, expensive reads thin out first,
 * in steps; each step is taken back when there is room again.
 */
#ifndef COLLECT_BUDGET_H
#define COLLECT_BUDGET_H

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
    uint64_t checked_ns, checked_cpu_ns;
    uint64_t smaps_tokens_ns; /* time that targets may still be held up by smaps reads */
    uint64_t tokens_at_ns;
};

void budget_init(struct budget *b, uint64_t ppm);
/* Tells the recorder's CPU so far. Returns true if the level changed. Levels change four times a second at most. */
bool budget_update(struct budget *b, uint64_t now_ns, uint64_t cpu_ns);
/* Text for an event: what is left out at this level. */
const char *budget_text(enum budget_level level);
/* May a smaps read of about cost_ns go ahead? Takes it off the account if so. A peak may overdraw. */
bool budget_take_smaps(struct budget *b, uint64_t now_ns, uint64_t cost_ns, bool peak);
void budget_correct_smaps(struct budget *b, uint64_t estimated_ns, uint64_t spent_ns);

#endif
