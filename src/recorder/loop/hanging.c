/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/loop/hanging.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "kernel/proc/procfs.h"
#include "recorder/helper/worker.h"

#define CHECK_NS NS_PER_SEC
#define HANGS_NS (5 * NS_PER_SEC)

struct watched {
    struct worker_shared worker;
    _Atomic uint64_t since_ns; /* when the observer began its current call (CLOCK_MONOTONIC); 0: it is in no call */
};

/* Is the process asleep in the kernel? A process that runs, waits for a CPU or was stopped does not hang. */
static bool is_asleep(int proc_fd, pid_t pid)
{
    struct pid_stat st;
    return proc_read_stat(proc_fd, pid, &st) == 0 && (st.state == 'S' || st.state == 'D');
}

static void watch(const struct worker_child *c)
{
    const struct hanging *h = c->context;
    struct watched *w = c->shared;
    struct baro_error line = BARO_ERROR_INIT;
    uint64_t said = 0; /* when the call began that was reported as hanging; 0: none */
    int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (;;) {
        worker_rest(c, CHECK_NS);
        worker_idle(&w->worker);
        uint64_t since = atomic_load(&w->since_ns), now = clock_monotonic_ns();
        if (said && since != said) {
            error_set(&line, -ETIMEDOUT, "the file system of %.200s answers again, after %llu s", h->dir,
                      (unsigned long long)((now - said) / NS_PER_SEC));
            h->say(h->context, line.text);
            said = 0;
        } else if (since && !said && now > since + HANGS_NS && is_asleep(proc_fd, getppid())) {
            said = since;
            error_set(&line, -ETIMEDOUT, "the file system of %.200s does not answer: nothing is recorded until it does",
                      h->dir);
            h->say(h->context, line.text);
        }
    }
}

void hanging_begin(struct hanging *h, const char *dir, void (*say)(void *context, const char *line), void *context)
{
    static const int kept = STDERR_FILENO;
    *h = (struct hanging){.dir = dir, .say = say, .context = context};
    const struct worker_options o = {
        .shared_bytes = sizeof(struct watched), .live = watch, .context = h, .kept = &kept, .n_kept = 1};
    if (worker_new(&h->worker, &o, NULL) == 0)
        worker_start(h->worker);
}

void hanging_end(struct hanging *h)
{
    worker_free(h->worker);
    *h = (struct hanging){0};
}

static void set_since(const struct hanging *h, uint64_t ns)
{
    struct watched *w = worker_shared(h->worker);
    atomic_store(&w->since_ns, ns);
}

void hanging_enter(struct hanging *h)
{
    if (h && h->worker && h->depth++ == 0)
        set_since(h, clock_monotonic_ns());
}

void hanging_leave(struct hanging *h)
{
    if (h && h->worker && --h->depth == 0)
        set_since(h, 0);
}
