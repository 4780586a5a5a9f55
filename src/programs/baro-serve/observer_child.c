/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/observer_child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "programs/common/find_program.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef BARO_BIN /* from the folder of libexec to that of programs; the build knows both */
#define BARO_BIN "../../bin"
#endif

#define PAUSE_LEAST_NS NS_PER_SEC
#define PAUSE_MOST_NS (60 * NS_PER_SEC) /* after it has run for this long, the next pause is the shortest again */
#define STOP_NS (5 * NS_PER_SEC)
#define CHECK_MS 50 /* if there is no pidfd */

/* Finds baro, beside this program or in the folder of programs. */
static bool find_program(char ret[PATH_MAX])
{
    return (program_beside("baro", ret) && access(ret, X_OK) == 0) ||
           (program_beside(BARO_BIN "/baro", ret) && access(ret, X_OK) == 0);
}

int observing_init(struct observing *o, const struct cli *cli, const char *folder, const struct serve_settings *s,
                   struct baro_error *err)
{
    size_t n = 0;
    o->cli = cli;
    o->pid_fd = -1;
    o->pause_ns = PAUSE_LEAST_NS;
    if (!s->observes)
        return 0;
    if (!find_program(o->program))
        return error_set(err, -ENOENT,
                         "--cgroup and --tasks: the program baro, which records, is neither beside "
                         "baro-serve nor in %s from there",
                         BARO_BIN);
    o->argv[n++] = "baro";
    o->argv[n++] = "observe";
    o->argv[n++] = "--dir";
    o->argv[n++] = folder;
    memcpy(o->argv + n, s->observe, (size_t)s->n_observe * sizeof(*s->observe));
    o->is_wanted = true;
    return 0;
}

/* Runs in the child of a process with threads, so it makes system calls only. */
static _Noreturn void become_observer(const struct observing *o, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(0);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(STDERR_FILENO, STDOUT_FILENO); /* standard output is for the URL */
    execv(o->program, (char *const *)o->argv);
    _exit(127);
}

static void pause_before_next(struct observing *o, uint64_t now_ns)
{
    if (now_ns - o->started_ns >= PAUSE_MOST_NS)
        o->pause_ns = PAUSE_LEAST_NS;
    o->due_ns = now_ns + o->pause_ns;
    o->pause_ns = o->pause_ns * 2 > PAUSE_MOST_NS ? PAUSE_MOST_NS : o->pause_ns * 2;
}

static void start(struct observing *o, uint64_t now_ns)
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become_observer(o, parent);
    o->started_ns = now_ns;
    if (pid < 0) {
        pause_before_next(o, now_ns);
        cli_note(o->cli, "can't start baro observe: %s; it is tried again", strerror(errno));
        return;
    }
    o->pid = pid;
    o->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
    o->starts++;
    o->is_running = true;
}

/* Has it ended? If so, reaps it. */
static bool has_ended(struct observing *o, int *ret_status)
{
    if (!o->pid || waitpid(o->pid, ret_status, WNOHANG) == 0)
        return false;
    fd_close(o->pid_fd);
    o->pid_fd = -1;
    o->pid = 0;
    o->is_running = false;
    return true;
}

int observing_turn(struct observing *o)
{
    uint64_t now_ns = clock_monotonic_ns();
    int status = 0;
    if (!o->is_wanted)
        return -1;
    if (has_ended(o, &status)) {
        pause_before_next(o, now_ns);
        bool killed = WIFSIGNALED(status);
        cli_note(o->cli, "baro observe ended unexpectedly (%s %d); it is started again in %llu s",
                 killed ? "signal" : "status", killed ? WTERMSIG(status) : WEXITSTATUS(status),
                 (unsigned long long)((o->due_ns - now_ns) / NS_PER_SEC));
    }
    if (!o->pid && now_ns >= o->due_ns)
        start(o, now_ns);
    if (o->pid)
        return o->pid_fd >= 0 ? -1 : CHECK_MS;
    return (int)((o->due_ns - now_ns) / NS_PER_MS) + 1;
}

void observing_stop(struct observing *o)
{
    if (o->pid)
        kill(o->pid, SIGTERM);
}

void observing_done(struct observing *o)
{
    uint64_t until_ns = clock_monotonic_ns() + STOP_NS;
    int status;
    while (o->pid && !has_ended(o, &status)) {
        struct pollfd ended = {.fd = o->pid_fd, .events = POLLIN};
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= until_ns) {
            cli_note(o->cli, "baro observe does not end, and is killed; the next one goes on with its tapes");
            kill(o->pid, SIGKILL);
            return;
        }
        poll(&ended, 1, CHECK_MS);
    }
}
