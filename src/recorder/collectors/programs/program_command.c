/* SPDX-License-Identifier: Apache-2.0 */
/* The command of a collector program: its start, its end, and what it leaves behind. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "recorder/collectors/programs/program_child.h"

#define PAUSE_FIRST NS_PER_SEC
#define PAUSE_MOST (64 * NS_PER_SEC)
#define LIVED (60 * NS_PER_SEC) /* a command that fails later than this did not fail at once */
#define GRACE (100 * NS_PER_MS) /* from SIGTERM to SIGKILL */
#define KILLED_WITHIN (300 * NS_PER_MS)
#define CHECK_EVERY 500000 /* ns */

/* Runs in a fork. A failure here shows in what the command prints to standard error. */
static _Noreturn void execute(const struct runner *r, int out, int err, pid_t parent)
{
    const struct program_options *o = r->options;
    char text[32];
    sigset_t none;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    setsid();
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int null = open("/dev/null", O_RDONLY);
    if (dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        _exit(127);
    if (null > STDERR_FILENO)
        close(null);
    if (o->folder && chdir(o->folder) < 0) {
        /* then the directory stays the same */
    }
    snprintf(text, sizeof(text), "%llu.%03llu", (unsigned long long)(o->interval_ns / NS_PER_SEC),
             (unsigned long long)(o->interval_ns / NS_PER_MS % 1000));
    setenv("BARO_INTERVAL", text, 1);
    snprintf(text, sizeof(text), "%d", r->job_pid);
    if (r->job_pid)
        setenv("BARO_PID", text, 1);
    else
        unsetenv("BARO_PID");
    execl("/bin/sh", "sh", "-c", o->command, (char *)NULL);
    static const char words[] = "/bin/sh can't be executed\n";
    if (write(STDERR_FILENO, words, sizeof(words) - 1) < 0)
        _exit(126);
    _exit(127);
}

void runner_note_failure(struct runner *r, enum program_failure why)
{
    uint64_t now = clock_monotonic_ns();
    r->status.failures++;
    r->status.failure = (uint8_t)why;
    r->status.wait_status = r->wait_status;
    r->pause_ns = !r->pause_ns || (r->started_ns && now - r->started_ns >= LIVED) ? PAUSE_FIRST
                  : r->pause_ns < PAUSE_MOST                                      ? r->pause_ns * 2
                                                                                  : PAUSE_MOST;
    r->start_ns = now + r->pause_ns;
    r->repeats = false;
}

void runner_forget_output(struct runner *r)
{
    r->out_fd = fd_close(r->out_fd);
    r->err_fd = fd_close(r->err_fd);
    r->len = r->n_words = 0;
    r->frame = (struct reading_frame){0};
    r->skipping = false;
}

static bool open_pipes(int out[2], int err[2])
{
    if (pipe2(out, O_CLOEXEC) < 0)
        return false;
    if (pipe2(err, O_CLOEXEC) < 0) {
        close(out[0]);
        close(out[1]);
        return false;
    }
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(err[0], F_SETFL, O_NONBLOCK);
    return true;
}

void runner_start(struct runner *r)
{
    int out[2], err[2];
    pid_t self = getpid(), pid = -1;
    runner_forget_output(r);
    reading_parser_init(r->parser);
    r->status.starts++;
    r->status.words[0] = 0;
    r->started_ns = r->reading_ns = clock_monotonic_ns();
    r->readings = 0;
    r->ended = r->silent = false;
    if (open_pipes(out, err)) {
        pid = fork();
        if (pid == 0)
            execute(r, out[1], err[1], self);
        int error = errno;
        close(out[1]);
        close(err[1]);
        r->out_fd = out[0];
        r->err_fd = err[0];
        errno = error;
    }
    if (pid < 0) {
        r->status.error_number = errno;
        runner_forget_output(r);
        runner_note_failure(r, PROGRAM_REFUSED);
        return;
    }
    r->pid = pid;
    setpgid(pid, pid); /* until it has called setsid() */
    atomic_store(&r->shared->group, pid);
}

/* ---- ends ---- */

static void publish_cpu(struct runner *r)
{
    struct rusage u;
    if (getrusage(RUSAGE_CHILDREN, &u) < 0)
        return;
    uint64_t ns = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NS_PER_SEC +
                  (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000u;
    atomic_store(&r->shared->children_cpu_ns, ns);
}

void runner_reap(struct runner *r)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != r->pid)
            continue;
        r->pid = 0;
        r->wait_status = status;
        r->ended = true;
    }
    publish_cpu(r);
}

/* Do we still have any child? */
static bool alone(struct runner *r)
{
    siginfo_t info;
    runner_reap(r);
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

/* Signals all our children, also those that left the process group. (Without CONFIG_PROC_CHILDREN only the group.) */
static void kill_children(void)
{
    char path[64], text[4096];
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    ssize_t n = fd_read_file(AT_FDCWD, path, text, sizeof(text));
    struct span rest = span_of(text, n > 0 ? (size_t)n : 0);
    uint64_t pid;
    for (scan_blanks(&rest); scan_u64(&rest, &pid) && scan_char(&rest, ' ');) { /* one that is cut off has no blank */
        if (pid > 1 && pid <= INT32_MAX)
            kill((pid_t)pid, SIGKILL);
    }
}

void runner_kill_all(struct runner *r)
{
    uint64_t until = clock_monotonic_ns() + KILLED_WITHIN;
    int32_t group = atomic_load(&r->shared->group);
    if (group > 1 && !alone(r))
        kill(-group, SIGKILL);
    while (!alone(r) && clock_monotonic_ns() < until) {
        kill_children();
        nanosleep(&(struct timespec){.tv_nsec = CHECK_EVERY}, NULL);
    }
    atomic_store(&r->shared->group, 0);
}

_Noreturn void runner_end(struct runner *r)
{
    int32_t group = atomic_load(&r->shared->group);
    uint64_t until = clock_monotonic_ns() + GRACE;
    if (group > 1 && !alone(r)) {
        kill(-group, SIGTERM);
        kill(-group, SIGCONT);
        while (!alone(r) && clock_monotonic_ns() < until)
            nanosleep(&(struct timespec){.tv_nsec = CHECK_EVERY}, NULL);
    }
    runner_kill_all(r);
    _exit(0);
}
