/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/sampling/schedule.h"

#include "base/clock.h"

#define AUTO_SHARE 100u
#define AUTO_LEAST (10 * NS_PER_MS)
#define AUTO_MOST NS_PER_SEC
#define LOOK_SHARE 8u
#define LOOK_MOST (250 * NS_PER_MS)
#define QUIET_LEAST (30 * NS_PER_MS)
#define QUIET_MOST (30 * NS_PER_SEC)
#define PERIOD_SPARSE NS_PER_SEC
#define PERIOD_MOST (20 * NS_PER_SEC)
#define OF_THE_TIME 200u        /* a turn takes at most a 200th of the time */
#define OF_THE_BUDGET 10000000u /* and at most a tenth of the budget */

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
    /* Not a loop over the missed times, which would be long if the machine was stopped for hours. */
    uint64_t interval = schedule_interval(fixed_ns, now_ns);
    *ret_missed = (now_ns - next) / interval + 1;
    return next + *ret_missed * interval;
}

uint64_t schedule_check(uint64_t quiet_ns, uint64_t now_ns)
{
    uint64_t pause = (now_ns - quiet_ns) / LOOK_SHARE, interval = schedule_interval(0, now_ns);
    pause = pause < LOOK_MOST ? pause : LOOK_MOST;
    return now_ns + (pause > interval ? pause : interval);
}

uint64_t schedule_quiet(uint64_t quiet_ns, uint64_t now_ns, bool alone)
{
    uint64_t pause = (now_ns - quiet_ns) / 2, most = alone ? QUIET_MOST : AUTO_MOST;
    return pause < QUIET_LEAST ? QUIET_LEAST : pause < most ? pause : most;
}

uint64_t schedule_period(uint64_t least_ns, uint64_t cost_ns, uint64_t overhead_ppm, enum budget_level level)
{
    uint64_t period = level >= BUDGET_SPARSE ? PERIOD_SPARSE : least_ns;
    uint64_t times = overhead_ppm ? OF_THE_BUDGET / overhead_ppm : OF_THE_TIME;
    times = times > OF_THE_TIME ? times : OF_THE_TIME;
    if (cost_ns > period / times)
        period = cost_ns < PERIOD_MOST / times ? cost_ns * times : PERIOD_MOST;
    return period;
}
