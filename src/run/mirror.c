/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper stops when the command stops, by the same signal, so that the shell sees and says what it would have. A
 * stopped process can do nothing about itself, so a small process stands by, the watcher. It stops the wrapper, waits
 * until the command goes on or ends, and ends itself. The wrapper is woken by the kernel: the watcher was cloned with
 * SIGCONT as the signal of its end, so whatever ends it, SIGKILL too, continues the wrapper, and always after the stop
 * that the watcher itself sent. No message can get lost, and the recorder has no part in it.
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

/* The state of the command's first thread. 0: it can't be told; there is no /proc, or it is that of another PID
 * namespace. */
static char state_of(const struct watched *c)
{
    char path[64], text[512];
    struct span rest, word;

    if (!c->has_proc)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)c->command);
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

/* Its first thread may have ended and have left others, which is not told by its state. */
static bool is_standing(const struct watched *c, char state)
{
    return state == 'T' || state == 't' || (c->has_clock && (!state || (state == 'Z' && c->end_fd >= 0)));
}

/* Is it known to stand still? From here on each of its instructions moves its clock. */
static bool settle(struct watched *c)
{
    bool ended = false;
    char state;

    for (unsigned i = 0; !ended && clock_moved(c) && c->has_clock && i < SETTLE_LOOKS; i++)
        ended = ends_within(c, SETTLE_NS);
    state = state_of(c);
    if (!state && !c->has_clock)
        _exit(CANT_WATCH);
    return !ended && is_standing(c, state);
}

/* A thread that is marked as stopped may still have a few instructions to go, and on a busy machine they may wait: a
 * clock that moved is believed only where the state does not say that the command stands still. */
static bool went_on(struct watched *c, bool look_at_state)
{
    bool moved = c->has_clock && clock_moved(c);
    char state = moved || look_at_state || !c->has_clock ? state_of(c) : 'T';

    return state ? !is_standing(c, state) : moved || !c->has_clock;
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
    for (unsigned i = 0; !went_on(&c, i % STATE_EVERY == 0) && !ends_within(&c, LOOK_NS); i++)
        ;
    _exit(0);
}

/* ---- the wrapper ---- */

/* fork(2), but its end is told by SIGCONT, and waited for only where it is asked for by __WALL. */
static pid_t watcher_fork(void)
{
    return (pid_t)syscall(SYS_clone, (unsigned long)SIGCONT, 0ul, 0ul, 0ul, 0ul);
}

static void watcher_ended(struct wrapper *w)
{
    w->watcher = 0;
    sigmask_set(SIG_BLOCK, SIGMASK_OF(w->stopped_by));
}

void mirror_end(struct wrapper *w)
{
    if (w->watcher) {
        kill(w->watcher, SIGKILL);
        waitpid(w->watcher, NULL, __WALL);
        watcher_ended(w);
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
    watcher_ended(w);
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
