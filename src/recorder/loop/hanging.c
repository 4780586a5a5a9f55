/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/loop/hanging.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fmt.h"
#include "kernel/proc/procfs.h"
#include "recorder/helper/detach.h"

#define CHECK_NS NS_PER_SEC
#define HANGS_NS (5 * NS_PER_SEC)

struct watch {
    const char *dir;
    pid_t observer;
    _Atomic uint64_t *since_ns;
    void (*say)(void *context, const char *line);
    void *context;
};

/* Is the process asleep in the kernel? A process that runs, waits for a CPU or was stopped does not hang. */
static bool is_asleep(int proc_fd, pid_t pid)
{
    struct pid_stat st;
    return proc_read_stat(proc_fd, pid, &st) == 0 && (st.state == 'S' || st.state == 'D');
}

static void say_hangs(const struct watch *w)
{
    struct baro_error line = BARO_ERROR_INIT;
    error_set(&line, -ETIMEDOUT, "the file system of %.200s does not answer: nothing is recorded until it does",
              w->dir);
    w->say(w->context, line.text);
}

static void say_goes_on(const struct watch *w, uint64_t took_ns)
{
    struct baro_error line = BARO_ERROR_INIT;
    error_set(&line, -ETIMEDOUT, "the file system of %.200s answers again, after %llu s", w->dir,
              (unsigned long long)(took_ns / NS_PER_SEC));
    w->say(w->context, line.text);
}

static _Noreturn void watch(const struct watch *w)
{
    uint64_t said = 0; /* when the call began that was reported as hanging; 0: none */
    int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (;;) {
        nanosleep(&(struct timespec){.tv_sec = CHECK_NS / NS_PER_SEC}, NULL);
        uint64_t since = atomic_load(w->since_ns), now = clock_monotonic_ns();
        if (said && since != said) {
            say_goes_on(w, now - said);
            said = 0;
        } else if (since && !said && now > since + HANGS_NS && is_asleep(proc_fd, w->observer)) {
            said = since;
            say_hangs(w);
        }
    }
}

void hanging_begin(struct hanging *h, const char *dir, void (*say)(void *context, const char *line), void *context)
{
    void *at = mmap(NULL, sizeof(*h->since_ns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *h = (struct hanging){0};
    if (at == MAP_FAILED)
        return;
    const struct watch w = {dir, getpid(), at, say, context};
    h->since_ns = at;
    h->pid = fork();
    if (h->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != w.observer)
            _exit(0);
        helper_detach((const int[]){STDERR_FILENO}, 1);
        prctl(PR_SET_NAME, "baro-helper");
        if (chdir("/") < 0)
            _exit(1);
        watch(&w);
    }
}

void hanging_end(struct hanging *h)
{
    if (h->pid > 0) {
        kill(h->pid, SIGKILL);
        waitpid(h->pid, NULL, 0);
    }
    if (h->since_ns)
        munmap((void *)h->since_ns, sizeof(*h->since_ns));
    *h = (struct hanging){0};
}

void hanging_enter(struct hanging *h)
{
    if (h && h->since_ns && h->depth++ == 0)
        atomic_store(h->since_ns, clock_monotonic_ns());
}

void hanging_leave(struct hanging *h)
{
    if (h && h->since_ns && --h->depth == 0)
        atomic_store(h->since_ns, 0);
}
