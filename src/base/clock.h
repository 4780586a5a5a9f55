/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <sys/types.h>

#define NS_PER_SEC 1000000000ULL
#define NS_PER_MS 1000000ULL

uint64_t clock_monotonic_ns(void);
uint64_t clock_boottime_ns(void);
int64_t clock_realtime_ns(void);
uint64_t clock_thread_cpu_ns(void); /* CPU time of the calling thread */

/* CPU time of a whole thread group, living or zombie, of any user: through the dynamic POSIX clock id of
 * clock_getcpuclockid(3), without its checks. Returns 0, -EINVAL (no such process) or another -errno. */
int clock_process_cpu_ns(pid_t pid, uint64_t *ret);
/* The same by the ticks that hit it, which the kernel compares with RLIMIT_CPU. */
int clock_process_ticks_ns(pid_t pid, uint64_t *ret);

/* What a process had used when main() began. Its clock goes on over execve(2), so that is the time of the program that
 * executed ours: 50 ms of runc's init, 0.2 s of Python. It also has what the kernel, the loader and libc took to start
 * ours, which can't be told from the rest. */
struct clock_before {
    pid_t pid;
    uint64_t cpu_ns;
};

#endif
