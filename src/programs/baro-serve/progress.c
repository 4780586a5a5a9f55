/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/progress.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

#define HANGS_NS (5 * NS_PER_SEC)

void progress_init(struct progress *p)
{
    *p = (struct progress){.thread = pthread_self(), .tid = (pid_t)syscall(SYS_gettid)};
}

void progress_begin(struct progress *p)
{
    p->cpu_ns = 0;
    p->moved_ns = clock_monotonic_ns();
}

static uint64_t read_clock(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) == 0 ? (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec : 0;
}

/* Is it runnable? On a busy machine it may wait for a CPU for long. */
static bool is_runnable(const char *folder, pid_t id)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "%s/%d/stat", folder, (int)id);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    fd_close(fd);
    if (n < 0)
        return false;
    text[n] = 0;
    const char *name_end = strrchr(text, ')');
    return name_end && strncmp(name_end, ") R", 3) == 0;
}

bool progress_hangs(struct progress *p, pid_t child)
{
    clockid_t clock;
    uint64_t now_ns = clock_monotonic_ns(), cpu_ns = 0;
    if (pthread_getcpuclockid(p->thread, &clock) == 0)
        cpu_ns = read_clock(clock);
    if (child > 0 && clock_getcpuclockid(child, &clock) == 0)
        cpu_ns += read_clock(clock);
    if (cpu_ns != p->cpu_ns) {
        p->cpu_ns = cpu_ns;
        p->moved_ns = now_ns;
    }
    return now_ns - p->moved_ns >= HANGS_NS && !is_runnable("/proc/self/task", p->tid) &&
           !(child > 0 && is_runnable("/proc", child));
}
