/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that reads a task file. There is one at a time, and the observer waits for it only in its turns, so that
 * a file server that hangs does not delay samples.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "recorder/observe/state.h"

#define READ_WITHIN (10 * NS_PER_SEC)
#define STEP_NS 200000

size_t reader_left(struct reader *r)
{
    for (size_t i = r->n_left; i-- > 0;) {
        pid_t got = waitpid(r->left[i], NULL, WNOHANG);
        if (got == r->left[i] || (got < 0 && errno != EINTR))
            r->left[i] = r->left[--r->n_left];
    }
    return r->n_left;
}

int reader_start(struct reader *r, struct task_entry *f, const struct jobs_options *o)
{
    if (r->pid > 0)
        return 0;
    if (reader_left(r) == READERS_LEFT_MOST)
        return -EBUSY;
    snprintf(r->path, sizeof(r->path), "%s/%s", o->tasks_dir, f->name);
    r->pid = o->read_tasks(r->path, &r->fd);
    if (r->pid < 0)
        return r->pid;
    r->entry = f;
    r->is_late = false;
    r->cpu_ns = 0;
    r->began_ns = clock_monotonic_ns();
    buf_clear(&r->lines);
    return 0;
}

/* Kills the process. If it waits for a file server, it may end only when that answers. */
static void stop(struct reader *r)
{
    kill(r->pid, SIGKILL);
    r->left[r->n_left++] = r->pid; /* reader_start() has checked that there is room */
    r->pid = 0;
    r->fd = fd_close(r->fd);
    reader_left(r);
}

/* Reads what has arrived. Returns false if nothing arrived until until_ns. */
static bool read_part(struct reader *r, uint64_t until_ns)
{
    char part[8192];
    uint64_t now = clock_monotonic_ns(), left = until_ns > now ? until_ns - now : 0;
    struct timespec t = {(time_t)(left / NS_PER_SEC), (long)(left % NS_PER_SEC)};
    struct pollfd p = {.fd = r->fd, .events = POLLIN};
    if (ppoll(&p, 1, &t, NULL) <= 0)
        return false;
    ssize_t n = read(r->fd, part, sizeof(part));
    if (n > 0 && r->lines.len < TASK_FILE_LINES_MOST)
        buf_add(&r->lines, part, (size_t)n);
    else if (n == 0 || (n < 0 && errno != EINTR))
        r->fd = fd_close(r->fd);
    return true;
}

static uint64_t ns_of(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * NS_PER_SEC + (uint64_t)t->tv_usec * 1000;
}

bool reader_wait(struct reader *r, uint64_t until_ns)
{
    struct rusage used = {0};
    int status;
    while (r->fd >= 0 && read_part(r, until_ns))
        ;
    if (r->fd >= 0 && clock_monotonic_ns() > r->began_ns + READ_WITHIN) {
        r->is_late = true;
        stop(r);
        return true;
    }
    while (r->fd < 0) {
        pid_t got = wait4(r->pid, &status, WNOHANG, &used);
        if (got == r->pid || (got < 0 && errno != EINTR)) {
            r->status = got == r->pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
            r->cpu_ns = ns_of(&used.ru_utime) + ns_of(&used.ru_stime);
            r->pid = 0;
            return true;
        }
        if (clock_monotonic_ns() >= until_ns)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
    }
    return false;
}

void reader_cancel(struct reader *r, const struct task_entry *f)
{
    if (r->entry != f)
        return;
    r->entry = NULL;
    if (r->pid > 0)
        stop(r);
}

void reader_done(struct reader *r)
{
    if (r->pid > 0)
        stop(r);
    r->pid = 0;
    r->entry = NULL;
    r->fd = -1;
}
