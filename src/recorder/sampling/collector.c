/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/sampling/collector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "recorder/sampling/schedule.h"

#define JITTER 16u /* samples may come a 16th of the period too early */

int collectors_add(struct collectors *c, const struct collector *is, void *state)
{
    if (c->n == COLLECTORS_MOST)
        return -ENOSPC;
    c->row[c->n].is = is;
    c->row[c->n++].state = state;
    return 0;
}

int collectors_add_own(struct collectors *c, const struct collector *is, struct sampling *sampling)
{
    void *state = calloc(1, is->state_size ? is->state_size : 1);
    int code = !state ? -ENOMEM : is->begin ? is->begin(state, sampling) : 0;
    if (code == 0)
        code = collectors_add(c, is, state);
    if (code == 0)
        c->row[c->n - 1].is_own = true;
    else
        free(state);
    return code;
}

void collectors_prepare(struct collectors *c)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->row[i].is->prepare)
            c->row[i].is->prepare(c->row[i].state);
    }
}

/* Is a turn of a row with a period due? The last turn always is, because it reads what the kernel has counted since the
 * previous turn. Example: the OOM kill that ended the job, 5 ms after the previous turn. */
static bool is_due(const struct collectors *c, size_t i, const struct collector_tick *t, uint64_t overhead_ppm)
{
    uint64_t period = schedule_period(c->row[i].is->period_ns, c->row[i].cost_ns, overhead_ppm, t->level);
    uint64_t age = t->now_ns - c->row[i].read_ns;
    if (!c->row[i].began)
        return true;
    return t->last ? age > 0 : age >= period - period / JITTER;
}

static void tick_with_period(struct collectors *c, size_t i, const struct collector_tick *t, uint64_t overhead_ppm)
{
    uint64_t begin = 0, end = 0;
    if (!is_due(c, i, t, overhead_ppm))
        return;
    clock_process_cpu_ns(0, &begin); /* not elapsed time: on a busy machine a turn may take long and cost little */
    if (!c->row[i].is->tick(c->row[i].state, t))
        return;
    clock_process_cpu_ns(0, &end);
    c->row[i].began = true;
    c->row[i].cost_ns = end - begin;
    c->row[i].read_ns = t->now_ns;
}

void collectors_tick(struct collectors *c, const struct collector_tick *t, uint64_t overhead_ppm)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->row[i].is_retired)
            continue;
        if (c->row[i].is->period_ns)
            tick_with_period(c, i, t, overhead_ppm);
        else
            c->row[i].is->tick(c->row[i].state, t);
    }
}

void collectors_hurry(struct collectors *c, const struct collector *is)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->row[i].is == is)
            c->row[i].began = false;
    }
}

void collectors_retire(struct collectors *c, const void *state)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->row[i].state == state)
            c->row[i].is_retired = true;
    }
}

bool collectors_are_quiet(struct collectors *c, uint64_t now_ns)
{
    for (size_t i = 0; i < c->n; i++) {
        if (!c->row[i].is_retired && c->row[i].is->is_quiet && !c->row[i].is->is_quiet(c->row[i].state, now_ns))
            return false;
    }
    return true;
}

struct worker *collectors_worker(const struct collectors *c, size_t i)
{
    return c->row[i].is->worker ? c->row[i].is->worker(c->row[i].state) : NULL;
}

void collectors_finish(struct collectors *c)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->row[i].is->finish)
            c->row[i].is->finish(c->row[i].state);
        worker_end(collectors_worker(c, i));
    }
}

void collectors_close(struct collectors *c, bool exiting)
{
    for (size_t i = 0; i < c->n; i++) {
        if (exiting)
            worker_reap(collectors_worker(c, i));
        else if (c->row[i].is->close)
            c->row[i].is->close(c->row[i].state);
        if (c->row[i].is_own && !exiting)
            free(c->row[i].state);
    }
    c->n = exiting ? c->n : 0;
}

void collectors_trouble(const struct collectors *c, collector_say *say, void *context)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->row[i].is->trouble)
            c->row[i].is->trouble(c->row[i].state, say, context);
    }
}

/* The lowest level at which the collector leaves something out. */
static int first_level(const struct collector *is)
{
    int level = BUDGET_ALL;
    while (level < BUDGET_MAX && !is->left_out[level])
        level++;
    return level;
}

const char *collectors_left_out(const struct collectors *c, enum budget_level level, char *text, size_t cap)
{
    size_t n = 0;
    *text = 0;
    for (int first = BUDGET_ALL; first <= (int)level; first++) {
        for (size_t i = 0; i < c->n && n < cap; i++) {
            const struct collector *is = c->row[i].is;
            if (is->left_out[level] && first_level(is) == first)
                n += (size_t)snprintf(text + n, cap - n, "%s%s", n ? "; " : "", is->left_out[level]);
        }
    }
    return n ? text : "all is read again";
}

bool collector_serves(const struct collector *is, enum baro_kind kind, int id)
{
    return baro_metric_get(kind, id) && is->kinds & COLLECTOR_KIND(kind) &&
           (!is->sources || metric_source(kind, id) & is->sources);
}
