/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/budget.h"

#include "base/clock.h"

/* A start is dearer than what follows (first samples, the helper's fork): this much is free. */
#define GRACE_NS (30 * NS_PER_MS)
#define CHECK_NS (NS_PER_SEC / 4)
#define TOKENS_MOST (40 * NS_PER_MS)

void budget_init(struct budget *b, uint64_t ppm)
{
    *b = (struct budget){.ppm = ppm, .smaps_tokens_ns = TOKENS_MOST / 2};
}

static uint64_t share(const struct budget *b, uint64_t ns)
{
    return (uint64_t)((double)ns * (double)b->ppm / 1e6);
}

bool budget_update(struct budget *b, uint64_t now_ns, uint64_t cpu_ns)
{
    if (!b->ppm || now_ns < b->checked_ns + CHECK_NS)
        return false;
    uint64_t window = now_ns - b->checked_ns, spent = cpu_ns - b->checked_cpu_ns;
    b->checked_ns = now_ns;
    b->checked_cpu_ns = cpu_ns;
    enum budget_level before = b->level;
    bool over = cpu_ns > GRACE_NS + share(b, now_ns) && spent > share(b, window);
    bool room = spent < share(b, window) / 2 && cpu_ns < GRACE_NS + share(b, now_ns);
    if (over && b->level + 1 < BUDGET_MAX)
        b->level++;
    else if (room && b->level > BUDGET_ALL)
        b->level--;
    return b->level != before;
}

const char *budget_text(enum budget_level level)
{
    switch (level) {
    case BUDGET_ALL:
        return "all is read again";
    case BUDGET_NO_SMAPS:
        return "pss and uss only at peaks";
    case BUDGET_SPARSE:
        return "pss and uss only at peaks; status, threads and descriptors once a second at most";
    default:
        return "pss and uss only at peaks; all but stat once a second at most";
    }
}

/* Reading smaps_rollup holds the target's mmap lock: 13 ns per 4 KiB page. The account grows by half the overhead share. */
bool budget_take_smaps(struct budget *b, uint64_t now_ns, uint64_t cost_ns, bool peak)
{
    if (!b->ppm)
        return true;
    uint64_t grown = b->smaps_tokens_ns + share(b, now_ns - b->tokens_at_ns) / 2;
    b->smaps_tokens_ns = grown > TOKENS_MOST ? TOKENS_MOST : grown;
    b->tokens_at_ns = now_ns;
    bool enough = b->smaps_tokens_ns >= cost_ns;
    if (!enough && (!peak || b->smaps_tokens_ns == 0))
        return false;
    b->smaps_tokens_ns -= enough ? cost_ns : b->smaps_tokens_ns;
    return true;
}

void budget_correct_smaps(struct budget *b, uint64_t estimated_ns, uint64_t spent_ns)
{
    if (spent_ns > estimated_ns) {
        uint64_t more = spent_ns - estimated_ns;
        b->smaps_tokens_ns -= more < b->smaps_tokens_ns ? more : b->smaps_tokens_ns;
    } else {
        b->smaps_tokens_ns += estimated_ns - spent_ns;
    }
}
