/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper stops when the command stops, by the same signal, so that the shell sees and says what it would have. A
 * stopped process can do nothing about itself, so a small process stands by, the watcher. It stops the wrapper, and
 * continues it when the command goes on or ends while the wrapper stands still. The wrapper kills the watcher once it
 * has seen by itself that the command goes on.
 *
 * The watcher was cloned with SIGCONT as the signal of its end: whatever ends it, SIGKILL too, the kernel continues the
 * wrapper. So no message can get lost, and the recorder has no part in it. For the same reason the watcher must not end
 * merely because the command goes on: with `fg` the shell continues both, and a Ctrl-Z right after it stops both again,
 * the wrapper by the default action, before it has run. A watcher that had ended would continue the wrapper behind the
 * shell's back, or leave it stopped with nobody to see the command's end.
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
#include "run/wrapper.h"

#define LOOK_NS (20 * NS_PER_MS) /* how soon it is seen that the command goes on; its end is told by a pidfd, at once */
#define SETTLE_NS NS_PER_MS  /* the kernel tells of a stop some microseconds before the last thread stands still */
#define SETTLE_LOOKS 50u
#define STATE_EVERY 50u      /* looks; the clock alone would do */
#define WATCHERS_MOST 3u     /* for one stop, should somebody kill them */
#define CANT_WATCH 2         /* exit status of a watcher that can see nothing of the command */

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* ---- the watcher ---- */

struct watched {
    const struct filter *filter;
    pid_t wrapper, command;
    int end_fd;      /* a pidfd; -1: before Linux 5.3 */
    bool has_proc;   /* /proc is of this PID namespace */
    bool has_clock;
    uint64_t cpu_ns; /* stands still as long as the command does */
};

/* The state of a process's first thread. 0: not known; there is no /proc, or it is that of another PID namespace. */
static char state_of(const struct watched *c, pid_t pid)
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

/* Waits for its end for so long. True: it has ended. */
static bool ends_within(const struct watched *c, uint64_t ns)
{
    const struct timespec t = {(time_t)(ns / NS_PER_SEC), (long)(ns % NS_PER_SEC)};
    struct pollfd end = {.fd = c->end_fd, .events = POLLIN};

    return ppoll(&end, 1, &t, NULL) > 0;
}

static bool clock_moved(struct watched *c)
{
    uint64_t now;

    if (filter_lacks(c->filter, FILTER_CPU_CLOCK) || clock_process_cpu_ns(c->command, &now) < 0)
        return c->has_clock; /* it had one a moment ago: it is gone */
    bool moved = !c->has_clock || now != c->cpu_ns;
    c->has_clock = true;
    c->cpu_ns = now;
    return moved;
}

/* Where the first thread of a command has ended and others live on, its state says nothing of them. Without a pidfd a
 * command that has ended altogether is told by that state alone. */
static char command_state(const struct watched *c)
{
    char state = state_of(c, c->command);

    return state == 'Z' && c->end_fd >= 0 ? 0 : state;
}

static bool stands(char state)
{
    return state == 'T' || state == 't';
}

/* Is it known to stand still? From here on each of its instructions moves its clock. */
static bool settle(struct watched *c)
{
    bool ended = false;
    char state;

    for (unsigned i = 0; !ended && clock_moved(c) && c->has_clock && i < SETTLE_LOOKS; i++)
        ended = ends_within(c, SETTLE_NS);
    state = command_state(c);
    if (!state && !c->has_clock)
        _exit(CANT_WATCH);
    return !ended && (state ? stands(state) : c->has_clock);
}

/* A thread that is marked as stopped may still have a few instructions to go, and on a busy machine they may wait: a
 * clock that moved is believed only where the state does not say that the command stands still. */
static bool went_on(struct watched *c, bool look_at_state)
{
    bool moved = c->has_clock && clock_moved(c);
    char state = moved || look_at_state || !c->has_clock ? command_state(c) : 'T';

    return state ? !stands(state) : moved || !c->has_clock;
}

/*
 * The command was seen to go on. Does it, while the wrapper stands still? Both may have been continued and be stopping
 * again, the wrapper first. A command that is about to stop is runnable (or in a system call that can't be
 * interrupted), so in these states it must have run while the wrapper stood still; one that sleeps has nothing to stop
 * it, for that would have woken it. Example: `fg` and Ctrl-Z 1 ms later on a busy CPU. The wrapper is 'T', the command
 * 'R' and its clock the same in both looks: it may be stopping, and the next look tells.
 */
static bool is_ahead(struct watched *c)
{
    char state = state_of(c, c->wrapper);
    bool moved;

    if (state && !stands(state))
        return false;
    clock_moved(c);
    if (ends_within(c, SETTLE_NS))
        return true;
    moved = clock_moved(c) || !c->has_clock;
    state = state_of(c, c->wrapper);
    if (state && !stands(state))
        return false;
    state = command_state(c);
    return !state || (!stands(state) && (moved || (state != 'R' && state != 'D')));
}

/* Until the wrapper kills us, or the command ends. */
static _Noreturn void stand_by(struct watched *c)
{
    bool on = false;

    for (unsigned i = 0; !ends_within(c, LOOK_NS); i++) {
        on = went_on(c, on || i % STATE_EVERY == 0);
        if (!on || !is_ahead(c))
            continue;
        if (!filter_lacks(c->filter, FILTER_PARENT) && getppid() != c->wrapper)
            break;
        if (kill(c->wrapper, SIGCONT) < 0)
            break;
    }
    _exit(0);
}

static _Noreturn void watch(const struct wrapper *w, int signal)
{
    struct watched c = {.filter = w->filter, .wrapper = w->self, .command = w->command, .end_fd = -1};
    bool may_name = !filter_lacks(w->filter, FILTER_PRCTL);

    if (may_name)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!filter_lacks(w->filter, FILTER_PARENT) && getppid() != w->self)
        _exit(0);
    if (!filter_lacks(w->filter, FILTER_SETSID))
        setsid(); /* out of reach of what stops the group */
    fd_close(w->link);
    fd_close(w->stderr_fd);
    fd_close(w->folder_fd);
    if (may_name)
        prctl(PR_SET_NAME, "baro-watcher");
    if (!filter_lacks(w->filter, FILTER_PIDFD))
        c.end_fd = (int)syscall(SYS_pidfd_open, c.command, 0u);
    int proc = filter_lacks(w->filter, FILTER_PROC_SELF) ? -1 : open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    c.has_proc = proc >= 0 && namespace_proc_is_own(proc);
    if (!settle(&c) || kill(w->self, signal) < 0)
        _exit(0);
    stand_by(&c);
}

/* ---- the wrapper ---- */

/* fork(2), but its end is told by SIGCONT, and waited for only where it is asked for by __WALL. */
static pid_t watcher_fork(void)
{
    return (pid_t)syscall(SYS_clone, (unsigned long)SIGCONT, 0ul, 0ul, 0ul, 0ul);
}

/* The signal is held back first: the SIGCONT of the watcher's end would undo a stop that comes in between. */
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

/* Where no watcher can be had the wrapper goes on: it ends as the command ends, which is worth more than the mirror. */
static void mirror_begin(struct wrapper *w)
{
    const struct timespec at_once = {0, 0};
    siginfo_t info;

    if (sigmask_wait(SIGMASK_OF(SIGCONT), &info, &at_once) > 0)
        signal_handle(w, &info); /* newer than the command's stop, and our stopping would discard it */
    if (!w->stopped_by || w->self <= 1 || w->watchers++ == WATCHERS_MOST) { /* process 1 does not stop */
        w->stopped_by = 0;
        return;
    }
    sigmask_wait(SIGMASK_OF(w->stopped_by), &info, &at_once); /* one key press stops both of us once */
    if (w->stopped_by != SIGSTOP)
        signal_reset(w->stopped_by);
    w->watcher = watcher_fork();
    if (w->watcher == 0)
        watch(w, w->stopped_by);
    if (w->watcher < 0)
        w->watcher = w->stopped_by = 0;
    else
        sigmask_set(SIG_UNBLOCK, SIGMASK_OF(w->stopped_by)); /* of an orphaned group TSTP, TTIN and TTOU stop nobody */
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
    /* What continued the command with its group is not passed on; nor is the watcher's end. */
    if (w->stopped_by && mirror_has_news(w))
        sigmask_wait(SIGMASK_OF(SIGCONT), &dropped, &at_once);
    while (w->command && !w->command_ended &&
           waitid(P_PID, (id_t)w->command, &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 && info.si_pid) {
        mirror_end(w);
        if (info.si_code == CLD_CONTINUED) {
            link_tell(w, LINK_CONTINUED, 0);
        } else if (info.si_code == CLD_STOPPED) {
            link_tell(w, LINK_STOPPED, info.si_status);
            w->stopped_by = info.si_status;
            w->watchers = 0;
        }
        info = (siginfo_t){0};
    }
    if (w->stopped_by && !w->watcher)
        mirror_begin(w);
}
