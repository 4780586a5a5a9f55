/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/schedule.h"

#include "base/clock.h"

#define AUTO_SHARE 100u
#define AUTO_LEAST (10 * NS_PER_MS)
#define AUTO_MOST NS_PER_SEC
#define AUTO_STRETCH 8u
#define DENSE_NS (10 * NS_PER_MS)
#define LEAST_LEFT 4u /* a quarter of the share is for samples, whatever events cost */

uint64_t schedule_interval(uint64_t fixed_ns, uint64_t elapsed_ns)
{
    if (fixed_ns)
        return fixed_ns;
    uint64_t interval = elapsed_ns / AUTO_SHARE;
    return interval < AUTO_LEAST ? AUTO_LEAST : interval > AUTO_MOST ? AUTO_MOST : interval;
}

uint64_t schedule_next(uint64_t fixed_ns, uint64_t due_ns, uint64_t now_ns, uint64_t *ret_missed)
{
    uint64_t next = due_ns + schedule_interval(fixed_ns, due_ns);
    *ret_missed = 0;
    if (next > now_ns)
        return next;
    /* After a stall of hours the grid is entered again by a division, not by a walk. */
    uint64_t interval = schedule_interval(fixed_ns, now_ns);
    *ret_missed = (now_ns - next) / interval + 1;
    return next + *ret_missed * interval;
}

static uint64_t smooth(uint64_t before, uint64_t now)
{
    return before ? (before * 3 + now) / 4 : now;
}

void schedule_note(struct schedule_cost *c, uint64_t sample_ns, uint64_t events_ns, uint64_t passed_ns)
{
    c->spent_ns += sample_ns;
    c->sample_ns = smooth(c->sample_ns, sample_ns);
    c->events_ppm = smooth(c->events_ppm, passed_ns ? (uint64_t)((double)events_ns * 1e6 / (double)passed_ns) : 0);
}

uint64_t schedule_wait(const struct schedule_cost *c, uint64_t ppm, uint64_t due_ns, uint64_t next_ns)
{
    uint64_t most = due_ns + AUTO_STRETCH * schedule_interval(0, due_ns), least = ppm / LEAST_LEFT;
    if (!ppm || c->spent_ns < DENSE_NS)
        return next_ns;
    most = most < due_ns + AUTO_MOST ? most : due_ns + AUTO_MOST;
    uint64_t left = ppm > c->events_ppm + least ? ppm - c->events_ppm : least;
    double pause = (double)c->sample_ns * 1e6 / (double)(left ? left : 1);
    uint64_t until = pause < (double)(most - due_ns) ? due_ns + (uint64_t)pause : most;
    return until > next_ns ? until : next_ns;
}
