/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper process of a collector program: its turns.
 *
 * It is a child subreaper: whatever the command starts and leaves behind becomes its child, so that all of it can be
 * found and ended, and nothing of it is ever taken for a process of the job. It ends when the other end of its control
 * socket is closed, which the recorder does at its end, and the kernel does if the recorder is killed.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "recorder/collectors/programs/program_child.h"
#include "recorder/helper/detach.h"

#define DEADLINE_LEAST (10 * NS_PER_SEC) /* 10 s, or 10 intervals */
#define DEADLINE_INTERVALS 10

static void publish_status(struct runner *r)
{
    struct program_shared *s = r->shared;
    uint32_t turn = atomic_load_explicit(&s->turn, memory_order_relaxed);
    atomic_store_explicit(&s->turn, turn + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    memcpy(&s->status, &r->status, sizeof(s->status));
    atomic_store_explicit(&s->turn, turn + 2, memory_order_release);
}

static uint64_t deadline(const struct runner *r)
{
    uint64_t ns = DEADLINE_INTERVALS * r->options->interval_ns;
    return ns < DEADLINE_LEAST ? DEADLINE_LEAST : ns;
}

/* All output from before its end is there; processes that it left running are not part of it any more. */
static void finish_start(struct runner *r, enum program_failure killed_for)
{
    runner_kill_all(r);
    r->bytes += READING_BYTES;
    while (runner_read_output(r))
        continue;
    runner_take_readings(r, true);
    runner_read_errors(r);
    runner_forget_output(r);
    r->ended = false;
    if (killed_for != PROGRAM_FINE) {
        runner_note_failure(r, killed_for);
    } else if (!WIFEXITED(r->wait_status) || WEXITSTATUS(r->wait_status)) {
        runner_note_failure(r, PROGRAM_ENDED);
    } else if (!r->readings) {
        runner_note_failure(r, PROGRAM_EMPTY);
    } else {
        uint64_t now = clock_monotonic_ns(), next = r->started_ns + r->options->interval_ns;
        r->repeats = true;
        r->pause_ns = 0;
        r->start_ns = next > now ? next : now;
    }
}

static void on_time(struct runner *r)
{
    uint64_t now = clock_monotonic_ns();
    if (r->ended) {
        finish_start(r, PROGRAM_FINE);
    } else if (r->pid && r->repeats && now >= r->started_ns + deadline(r)) {
        finish_start(r, PROGRAM_LATE);
    } else if (r->pid && !r->silent && now >= r->reading_ns + deadline(r)) {
        r->silent = true;
        r->status.silences++;
    } else if (!r->pid && now >= r->start_ns) {
        runner_start(r);
    }
}

static uint64_t next_due(const struct runner *r)
{
    uint64_t due = UINT64_MAX;
    if (!r->pid)
        return r->start_ns;
    if (r->repeats)
        due = r->started_ns + deadline(r);
    if (!r->silent && r->reading_ns + deadline(r) < due)
        due = r->reading_ns + deadline(r);
    if (r->bytes < BYTES_LEAST) {
        uint64_t refilled = r->bytes_ns + NS_PER_SEC / (BYTES_PER_SEC / BYTES_LEAST);
        due = refilled < due ? refilled : due;
    }
    return due;
}

static void wait_turn(struct runner *r)
{
    bool free = r->bytes >= BYTES_LEAST; /* else it has to wait, as it printed too much */
    struct pollfd p[] = {{.fd = r->control_fd, .events = POLLIN},
                         {.fd = r->signal_fd, .events = POLLIN},
                         {.fd = free ? r->out_fd : -1, .events = POLLIN},
                         {.fd = free ? r->err_fd : -1, .events = POLLIN}};
    uint64_t due = next_due(r), now = clock_monotonic_ns(), left = due > now ? due - now : 0;
    struct timespec t = {(time_t)(left / NS_PER_SEC), (long)(left % NS_PER_SEC)};
    if (ppoll(p, 4, due == UINT64_MAX ? NULL : &t, NULL) < 0 && errno != EINTR)
        runner_end(r);
    if (p[0].revents)
        runner_end(r);
    struct signalfd_siginfo info;
    while (read(r->signal_fd, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGTERM) /* from the kernel: the recorder has ended */
            runner_end(r);
    }
    runner_refill(r);
    if (p[2].revents)
        runner_read_output(r);
    if (p[3].revents)
        runner_read_errors(r);
    runner_reap(r);
}

static bool prepare_pipes(struct runner *r)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGTERM, SIG_DFL);
    r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *text = mmap(NULL, READING_BYTES + 1, PROT_READ | PROT_WRITE, flags, -1, 0);
    void *parser = mmap(NULL, sizeof(*r->parser), PROT_READ | PROT_WRITE, flags, -1, 0);
    if (r->signal_fd < 0 || text == MAP_FAILED || parser == MAP_FAILED)
        return false;
    r->text = text;
    r->parser = parser;
    return true;
}

_Noreturn void program_child(const struct program_child_options *o)
{
    struct runner r = {.options = o->options,
                       .job_pid = o->pid,
                       .shared = o->shared,
                       .control_fd = o->control_fd,
                       .out_fd = -1,
                       .err_fd = -1,
                       .bytes = BYTES_AT_ONCE,
                       .bytes_ns = clock_monotonic_ns()};
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != o->parent)
        _exit(0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    helper_detach(&o->control_fd, 1);
    prctl(PR_SET_NAME, "baro-collect");
    if (!prepare_pipes(&r))
        _exit(1);
    for (;;) {
        on_time(&r);
        r.status.unfinished = (uint32_t)r.len;
        publish_status(&r);
        wait_turn(&r);
    }
}
