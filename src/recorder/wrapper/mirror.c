/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper stops when the command stops, by the same signal, so that the shell sees and prints what it would without
 * baro. A stopped process can't do anything, so there is a small process beside it, the watcher. It stops the wrapper,
 * and continues it when the command continues or ends while the wrapper is stopped. The wrapper kills the watcher once
 * it has seen that the command goes on.
 *
 * The watcher was cloned with SIGCONT as its exit signal: whatever ends it, even SIGKILL, the kernel continues the
 * wrapper. So no message can get lost, and the recorder has no part in it. For the same reason the watcher must not end
 * merely because the command goes on: with `fg` the shell continues both, and a Ctrl-Z right after it stops both again,
 * the wrapper by the default action before it has run. If the watcher had ended, the wrapper would either be continued
 * without the shell knowing, or stay stopped with no process to notice the command's end.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/namespace.h"
#include "base/span.h"
#include "recorder/wrapper/wrapper.h"

#define CHECK_NS (20 * NS_PER_MS) /* interval of checks whether the command goes on; a pidfd reports its end */
#define SETTLE_NS NS_PER_MS       /* the kernel reports a stop some microseconds before the last thread has stopped */
#define SETTLE_CHECKS 50u
#define STATE_EVERY 50u  /* the state is read at every 50th check, although the clock alone would do */
#define WATCHERS_MOST 3u /* for one stop, in case they are killed */
#define CANT_WATCH 2     /* exit status of a watcher that can read neither clock nor state of the command */

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* ---- the watcher ---- */

struct watched {
    pid_t wrapper, command;
    int end_fd;    /* a pidfd; -1: before Linux 5.3 */
    bool has_proc; /* /proc is of this PID namespace */
    bool has_clock;
    uint64_t cpu_ns; /* does not change while the command is stopped */
};

/* The state of a process's first thread. 0: not known, because /proc is missing or that of another PID namespace. */
static char thread_state(const struct watched *c, pid_t pid)
{
    char path[64], text[512];
    struct span rest, word;

    if (!c->has_proc)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    ssize_t len = fd_read_file(AT_FDCWD, path, text, sizeof(text));
    const char *after = len > 0 ? memrchr(text, ')', (size_t)len) : NULL;
    if (!after)
        return 0;
    rest = span_of(after + 1, (size_t)(text + len - after - 1));
    scan_blanks(&rest);
    if (!scan_word(&rest, &word))
        return 0;
    return *word.at;
}

/* Waits up to ns for the command's end. Returns true if it has ended. */
static bool ends_within(const struct watched *c, uint64_t ns)
{
    const struct timespec t = {(time_t)(ns / NS_PER_SEC), (long)(ns % NS_PER_SEC)};
    struct pollfd end = {.fd = c->end_fd, .events = POLLIN};

    return ppoll(&end, 1, &t, NULL) > 0;
}

static bool clock_moved(struct watched *c)
{
    uint64_t now;

    if (clock_process_cpu_ns(c->command, &now) < 0)
        return c->has_clock; /* the process had a clock before, so it has ended */
    bool moved = !c->has_clock || now != c->cpu_ns;
    c->has_clock = true;
    c->cpu_ns = now;
    return moved;
}

/* If the first thread has ended and others live on, its state ('Z') says nothing about them. Without a pidfd, the end
 * of the whole command can only be seen by that state. */
static char command_state(const struct watched *c)
{
    char state = thread_state(c, c->command);

    return state == 'Z' && c->end_fd >= 0 ? 0 : state;
}

static bool stands(char state)
{
    return state == 'T' || state == 't';
}

/* Waits until the command has really stopped. From then on each instruction that it executes advances its clock. */
static bool settle(struct watched *c)
{
    bool ended = false;
    char state;

    for (unsigned i = 0; !ended && clock_moved(c) && c->has_clock && i < SETTLE_CHECKS; i++)
        ended = ends_within(c, SETTLE_NS);
    state = command_state(c);
    if (!state && !c->has_clock)
        _exit(CANT_WATCH);
    return !ended && (state ? stands(state) : c->has_clock);
}

/* A thread that is marked as stopped may still execute a few instructions, on a busy machine later than expected. So if
 * the clock advanced, the command goes on only if its state does not say that it is stopped. */
static bool went_on(struct watched *c, bool read_state)
{
    bool moved = c->has_clock && clock_moved(c);
    char state = moved || read_state || !c->has_clock ? command_state(c) : 'T';

    return state ? !stands(state) : moved || !c->has_clock;
}

/* The command was seen to go on. Does it go on while the wrapper is stopped? It may not: both may have been continued,
 * and may be about to stop again, the wrapper first. A command that is about to stop is runnable (or in uninterruptible
 * sleep), so in these states its clock must have advanced while the wrapper was stopped. One that sleeps is not about
 * to stop, because the stop signal would have woken it. Example: `fg`, and Ctrl-Z 1 ms later on a busy CPU. The wrapper
 * is in state 'T', the command in 'R', and the clock is the same in both checks: the command may be stopping, and the
 * next check decides. */
static bool is_ahead(struct watched *c)
{
    char state = thread_state(c, c->wrapper);
    bool moved;

    if (state && !stands(state))
        return false;
    clock_moved(c);
    if (ends_within(c, SETTLE_NS))
        return true;
    moved = clock_moved(c) || !c->has_clock;
    state = thread_state(c, c->wrapper);
    if (state && !stands(state))
        return false;
    state = command_state(c);
    return !state || (!stands(state) && (moved || (state != 'R' && state != 'D')));
}

/* Loops until the wrapper kills us, or the command ends. */
static _Noreturn void stand_by(struct watched *c)
{
    bool on = false;

    for (unsigned i = 0; !ends_within(c, CHECK_NS); i++) {
        on = went_on(c, on || i % STATE_EVERY == 0);
        if (!on || !is_ahead(c))
            continue;
        if (getppid() != c->wrapper)
            break;
        if (kill(c->wrapper, SIGCONT) < 0)
            break;
    }
    _exit(0);
}

static _Noreturn void run_watcher(const struct wrapper *w, int signal)
{
    struct watched c = {.wrapper = w->self, .command = w->command, .end_fd = -1};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != w->self)
        _exit(0);
    setpgid(0, 0); /* signals that stop the process group must not stop the watcher */
    fd_close(w->link);
    fd_close(w->stderr_fd);
    fd_close(w->folder_fd);
    fd_close(w->beside_fd);
    prctl(PR_SET_NAME, "baro-watcher");
    c.end_fd = (int)syscall(SYS_pidfd_open, c.command, 0u);
    int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    c.has_proc = proc >= 0 && namespace_proc_is_own(proc);
    if (!settle(&c) || kill(w->self, signal) < 0)
        _exit(0);
    stand_by(&c);
}

/* ---- the wrapper ---- */

/* fork(2) with SIGCONT as the exit signal; only a wait with __WALL finds such a child. */
static pid_t watcher_fork(void)
{
    return (pid_t)syscall(SYS_clone, (unsigned long)SIGCONT, 0ul, 0ul, 0ul, 0ul);
}

/* The stop signal is blocked first: otherwise the SIGCONT of the watcher's end would undo a stop that comes between. */
void mirror_end(struct wrapper *w)
{
    if (w->watcher) {
        sigmask_set(SIG_BLOCK, SIGMASK_OF(w->stopped_by));
        kill(w->watcher, SIGKILL);
        waitpid(w->watcher, NULL, __WALL);
        w->watcher = 0;
    }
    w->stopped_by = 0;
}

/* If no watcher can run, the wrapper goes on: ending as the command ended is worth more than mirroring its stop. */
static void mirror_begin(struct wrapper *w)
{
    const struct timespec at_once = {0, 0};
    siginfo_t info;

    if (sigmask_wait(SIGMASK_OF(SIGCONT), &info, &at_once) > 0)
        signal_handle(w, &info); /* the signal is newer than the command's stop, and stopping would discard it */
    if (!w->stopped_by || w->self <= 1 || w->watchers++ == WATCHERS_MOST) { /* process 1 can't stop */
        w->stopped_by = 0;
        return;
    }
    sigmask_wait(SIGMASK_OF(w->stopped_by), &info, &at_once); /* a key press must stop both of us only once */
    if (w->stopped_by != SIGSTOP)
        signal_reset(w->stopped_by);
    w->watcher = watcher_fork();
    if (w->watcher == 0)
        run_watcher(w, w->stopped_by);
    if (w->watcher < 0)
        w->watcher = w->stopped_by = 0;
    else
        sigmask_set(SIG_UNBLOCK, SIGMASK_OF(w->stopped_by)); /* TSTP, TTIN, TTOU don't stop an orphaned group */
}

static void watcher_reap(struct wrapper *w)
{
    int status;

    if (!w->watcher || waitpid(w->watcher, &status, WNOHANG | __WALL) != w->watcher)
        return;
    w->watcher = 0;
    sigmask_set(SIG_BLOCK, SIGMASK_OF(w->stopped_by));
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANT_WATCH)
        w->stopped_by = 0;
}

bool mirror_has_news(const struct wrapper *w)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)w->command, &info, WSTOPPED | WCONTINUED | WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid;
}

void mirror_update(struct wrapper *w)
{
    const struct timespec at_once = {0, 0};
    siginfo_t info = {0}, dropped;

    watcher_reap(w);
    /* A SIGCONT that continued the command's group as well is not forwarded; nor is that of the watcher's end. */
    if (w->stopped_by && mirror_has_news(w))
        sigmask_wait(SIGMASK_OF(SIGCONT), &dropped, &at_once);
    while (w->command && !w->command_ended &&
           waitid(P_PID, (id_t)w->command, &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 && info.si_pid) {
        mirror_end(w);
        if (info.si_code == CLD_CONTINUED) {
            link_report(w, LINK_CONTINUED, 0);
        } else if (info.si_code == CLD_STOPPED) {
            link_report(w, LINK_STOPPED, info.si_status);
            w->stopped_by = info.si_status;
            w->watchers = 0;
        }
        info = (siginfo_t){0};
    }
    if (w->stopped_by && !w->watcher && view_leaves(w))
        mirror_begin(w);
    if (!w->stopped_by)
        view_let_return(w);
}
