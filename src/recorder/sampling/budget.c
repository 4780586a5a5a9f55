/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/sampling/budget.h"

#include "base/clock.h"

/* A start may cost 12 ms, of which 2 ms are reserved for the end: the last sample is written whatever it costs. */
#define START_NS (10 * NS_PER_MS)
#define START_READ_BUDGET_NS (4 * NS_PER_MS)
#define READ_PART 4               /* what such reads may take of the budget: a quarter */
#define BURST_NS (NS_PER_SEC / 4) /* the account grows to the budget of this time at most */
#define HELPERS_NS (2 * NS_PER_SEC)
#define EVENTS_NS NS_PER_SEC
#define EDGES_NS (NS_PER_SEC / 2)
#define CHECK_NS (NS_PER_SEC / 4)
#define STRAINED 4u   /* a delay of so many intervals counts as long */
#define NO_LIMIT 0.01 /* without a limit, parts of the budget are parts of 1 % */

void budget_init(struct budget *b, uint64_t ppm)
{
    *b = (struct budget){.ppm = ppm, .scale = 1, .left_ns = START_NS, .eased = true};
}

static double rate(const struct budget *b)
{
    return (double)b->ppm * b->scale / 1e6;
}

static int64_t share(const struct budget *b, uint64_t ns)
{
    return (int64_t)((double)ns * rate(b));
}

void budget_note_job(struct budget *b, uint64_t now_ns, uint64_t cpu_ns)
{
    if (now_ns < b->job_at_ns + NS_PER_SEC)
        return;
    double used = cpu_ns > b->job_cpu_ns ? (double)(cpu_ns - b->job_cpu_ns) : 0,
           cores = used / (double)(now_ns - b->job_at_ns);
    b->scale = cores > 2 ? cores / 2 : 1;
    b->job_at_ns = now_ns;
    b->job_cpu_ns = cpu_ns;
}

/* Grows the account up to its limit. If it has more, from the initial amount, it keeps that. */
static int64_t grown(const struct budget *b, int64_t left, uint64_t since_ns, uint64_t now_ns)
{
    int64_t most = share(b, BURST_NS), sum = left + (now_ns > since_ns ? share(b, now_ns - since_ns) : 0);
    return left > most ? left : sum > most ? most : sum;
}

/* Subtracts the cost, but not below most_debt, which is negative. */
static int64_t less(int64_t left, uint64_t cost_ns, int64_t most_debt)
{
    int64_t after = left - (int64_t)cost_ns;
    return after >= most_debt ? after : left < most_debt ? left : most_debt;
}

void budget_spend(struct budget *b, uint64_t now_ns, uint64_t sample_ns, uint64_t helpers_ns, uint64_t events_ns)
{
    if (!b->ppm)
        return;
    if (sample_ns)
        b->sample_ns = b->sample_ns ? (b->sample_ns * 3 + sample_ns) / 4 : sample_ns;
    int64_t left = grown(b, b->left_ns, b->at_ns, now_ns) - (int64_t)sample_ns;
    left = less(left, helpers_ns, -share(b, HELPERS_NS));
    b->left_ns = less(left, events_ns, -share(b, EVENTS_NS));
    b->at_ns = now_ns > b->at_ns ? now_ns : b->at_ns;
}

uint64_t budget_wait(struct budget *b, uint64_t now_ns, uint64_t next_ns, uint64_t interval_ns)
{
    if (!b->ppm)
        return next_ns;
    int64_t most = share(b, BURST_NS), wanted = (int64_t)b->sample_ns < most ? (int64_t)b->sample_ns : most;
    int64_t lacking = wanted - grown(b, b->left_ns, b->at_ns, now_ns);
    uint64_t paid_ns = lacking > 0 ? now_ns + (uint64_t)((double)lacking / rate(b)) : now_ns;
    if (paid_ns <= next_ns)
        return next_ns;
    b->eased = false;
    b->strained |= paid_ns - next_ns > STRAINED * interval_ns;
    return paid_ns;
}

uint64_t budget_wait_edge(const struct budget *b, uint64_t now_ns)
{
    if (!b->ppm)
        return now_ns;
    int64_t lacking = -share(b, EDGES_NS) - grown(b, b->left_ns, b->at_ns, now_ns);
    return lacking > 0 ? now_ns + (uint64_t)((double)lacking / rate(b)) : now_ns;
}

bool budget_update(struct budget *b, uint64_t now_ns)
{
    if (!b->ppm || now_ns < b->checked_ns + CHECK_NS)
        return false;
    enum budget_level before = b->level;
    if (b->strained && b->level + 1 < BUDGET_MAX)
        b->level++;
    else if (b->eased && b->level > BUDGET_ALL)
        b->level--;
    b->checked_ns = now_ns;
    b->strained = false;
    b->eased = true;
    return b->level != before;
}

uint64_t budget_pause(const struct budget *b, uint64_t cost_ns, unsigned parts)
{
    return (uint64_t)((double)cost_ns * (double)parts / (b->ppm ? rate(b) : NO_LIMIT));
}

void read_budget_init(struct read_budget *a)
{
    *a = (struct read_budget){.left_ns = START_READ_BUDGET_NS};
}

/* An account that an expensive read has overdrawn recovers before the next one. */
bool read_budget_take(struct read_budget *a, const struct budget *b, uint64_t now_ns, uint64_t cost_ns, bool urgent)
{
    if (!b->ppm)
        return true;
    int64_t most = share(b, BURST_NS), part = a->left_ns;
    part += now_ns > a->at_ns ? share(b, now_ns - a->at_ns) / READ_PART : 0;
    a->left_ns = a->left_ns > most ? a->left_ns : part > most ? most : part;
    a->at_ns = now_ns > a->at_ns ? now_ns : a->at_ns;
    /* A read that costs more than the account can ever hold is allowed when the account is full. */
    bool enough = a->left_ns >= (int64_t)cost_ns || (a->left_ns >= most && most > 0);
    if (!enough && (!urgent || a->left_ns <= 0))
        return false;
    a->left_ns -= (int64_t)cost_ns;
    return true;
}

void read_budget_correct(struct read_budget *a, uint64_t estimated_ns, uint64_t spent_ns)
{
    a->left_ns += (int64_t)estimated_ns - (int64_t)spent_ns;
}
