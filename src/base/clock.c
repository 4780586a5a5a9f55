/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <errno.h>
#include <time.h>

static uint64_t now(clockid_t id)
{
    struct timespec t;
    if (clock_gettime(id, &t) < 0)
        return 0;
    return (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
    return now(CLOCK_MONOTONIC);
}

uint64_t clock_boottime_ns(void)
{
    return now(CLOCK_BOOTTIME);
}

int64_t clock_realtime_ns(void)
{
    return (int64_t)now(CLOCK_REALTIME);
}

uint64_t clock_thread_cpu_ns(void)
{
    return now(CLOCK_THREAD_CPUTIME_ID);
}

/* include/linux/posix-timers.h: the complement of the pid, shifted by three bits; 0 is user and system time by ticks, 2
 * the scheduler's precise clock, and a clear third bit means the whole thread group. */
#define CPUCLOCK_PROF 0
#define CPUCLOCK_SCHED 2

static int process_clock_ns(pid_t pid, unsigned which, uint64_t *ret)
{
    struct timespec t;
    clockid_t id = (clockid_t)((~(unsigned)pid << 3) | which);
    if (clock_gettime(id, &t) < 0)
        return -errno;
    *ret = (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec;
    return 0;
}

int clock_process_cpu_ns(pid_t pid, uint64_t *ret)
{
    return process_clock_ns(pid, CPUCLOCK_SCHED, ret);
}

int clock_process_ticks_ns(pid_t pid, uint64_t *ret)
{
    return process_clock_ns(pid, CPUCLOCK_PROF, ret);
}
