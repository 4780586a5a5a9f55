/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's side of a collector program. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "recorder/collectors/programs/program_shared.h"

#define RETRY_FIRST NS_PER_SEC
#define RETRY_MOST (64 * NS_PER_SEC)
#define ENDS_WITHIN (500 * NS_PER_MS) /* the command has 100 ms of this to end; a busy machine may need the rest */
#define KILLED_WITHIN (20 * NS_PER_MS)
#define STATUS_TRIES 100

struct program {
    struct program_options options;
    struct program_shared *shared;
    struct reading *reading; /* a copy: it is checked before anything relies on it */
    struct program_status status;
    uint32_t slot;
    pid_t pid;
    int control_fd;
    uint32_t lost;               /* helper processes that were killed */
    struct program_status ended; /* sums of theirs */
    uint64_t ended_cpu_ns, retry_ns, pause_ns;
};

static void *map(size_t size, int flags)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

int program_new(struct program **ret, const struct program_options *options, struct baro_error *err)
{
    struct program *p = calloc(1, sizeof(*p));
    if (p) {
        p->options = *options;
        p->control_fd = -1;
        p->reading = map(sizeof(*p->reading), MAP_PRIVATE);
        p->shared = map(sizeof(*p->shared), MAP_SHARED);
    }
    if (!p || !p->reading || !p->shared) {
        program_free(p);
        return error_set(err, -ENOMEM, "out of memory");
    }
    *ret = p;
    return 0;
}

/* ---- the helper process ---- */

static void delay_restart(struct program *p)
{
    p->pause_ns = !p->pause_ns ? RETRY_FIRST : p->pause_ns < RETRY_MOST ? p->pause_ns * 2 : RETRY_MOST;
    p->retry_ns = clock_monotonic_ns() + p->pause_ns;
}

static void add_counts(struct program_status *sum, const struct program_status *one)
{
    sum->starts += one->starts;
    sum->failures += one->failures;
    sum->readings += one->readings;
    sum->silences += one->silences;
    sum->too_long += one->too_long;
    sum->bad_lines += one->bad_lines;
    sum->cut += one->cut;
}

/* Checks our children once: those in another session than ours were started by a helper process that was killed.
 * Returns whether there are any. */
static bool kill_strays(void)
{
    char path[64], text[4096];
    bool any = false;
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    ssize_t n = fd_read_file(AT_FDCWD, path, text, sizeof(text));
    struct span rest = span_of(text, n > 0 ? (size_t)n : 0);
    uint64_t pid;
    while (scan_u64(&rest, &pid) && scan_char(&rest, ' ')) { /* a truncated number has no blank */
        pid_t session = pid > 1 && pid <= INT32_MAX ? getsid((pid_t)pid) : -1;
        if (session < 0 || session == getsid(0))
            continue;
        kill((pid_t)pid, SIGKILL);
        any |= waitpid((pid_t)pid, NULL, WNOHANG) == 0;
    }
    return any;
}

/* The helper process was killed. Its children are ours now (start_helper()). */
static void end_strays(const struct program *p)
{
    uint64_t until = clock_monotonic_ns() + KILLED_WITHIN;
    int32_t group = atomic_load(&p->shared->group);
    if (group > 1)
        kill(-group, SIGKILL);
    while (kill_strays() && clock_monotonic_ns() < until)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static bool reap(struct program *p, int options)
{
    struct rusage u;
    int status;
    pid_t got = wait4(p->pid, &status, options, &u);
    if (got != p->pid && !(got < 0 && errno == ECHILD))
        return false;
    if (got == p->pid) {
        p->ended_cpu_ns += (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NS_PER_SEC;
        p->ended_cpu_ns += (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000u;
    }
    p->pid = 0;
    p->control_fd = fd_close(p->control_fd);
    if (got < 0 || WIFSIGNALED(status))
        end_strays(p);
    return true;
}

/* As the helper process wrote it last. */
static bool read_status(struct program *p, struct program_status *ret)
{
    struct program_shared *s = p->shared;
    for (int i = 0; i < STATUS_TRIES; i++) {
        uint32_t turn = atomic_load_explicit(&s->turn, memory_order_acquire);
        memcpy(ret, &s->status, sizeof(*ret));
        atomic_thread_fence(memory_order_acquire);
        if (turn & 1 || turn != atomic_load_explicit(&s->turn, memory_order_relaxed))
            continue;
        ret->words[sizeof(ret->words) - 1] = ret->bad[sizeof(ret->bad) - 1] = 0;
        return true;
    }
    return false;
}

static void check_lost(struct program *p)
{
    struct program_status last;
    if (!p->pid || !reap(p, WNOHANG))
        return;
    if (read_status(p, &last))
        add_counts(&p->ended, &last);
    p->lost++;
    delay_restart(p);
}

static void start_helper(struct program *p, int32_t job_pid)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        delay_restart(p);
        return;
    }
    /* Zeroes everything but the mailbox, whose slots the last helper process may have changed. */
    memset(p->shared, 0, offsetof(struct program_shared, mailbox));
    atomic_store(&p->shared->mailbox.middle, 1);
    p->slot = 2;
    /* Otherwise the wrapper would take orphans of a killed helper process for the job's. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t self = getpid(), pid = fork();
    if (pid == 0)
        program_child(&(struct program_child_options){&p->options, job_pid, p->shared, pair[1], self});
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        delay_restart(p);
        return;
    }
    p->pid = pid;
    p->control_fd = pair[0];
}

void program_run(struct program *p, int32_t pid)
{
    check_lost(p);
    if (!p->pid && (!p->retry_ns || clock_monotonic_ns() >= p->retry_ns))
        start_helper(p, pid);
}

/* ---- readings and status ---- */

/* Copies the counts first, so that no more is copied than there is room for. */
static bool copy_reading(struct reading *to, const struct reading *from)
{
    memcpy(to, from, offsetof(struct reading, column));
    if (to->n_columns > READING_COLUMNS || to->n_rows > READING_ROWS || to->n_cells > READING_CELLS ||
        to->text_len > READING_TEXT)
        return false;
    memcpy(to->column, from->column, to->n_columns * sizeof(*to->column));
    memcpy(to->row, from->row, to->n_rows * sizeof(*to->row));
    memcpy(to->cell, from->cell, to->n_cells * sizeof(*to->cell));
    memcpy(to->text, from->text, to->text_len);
    return reading_check(to);
}

const struct reading *program_take(struct program *p)
{
    bool fresh = false;
    if (p->shared)
        p->slot = mailbox_take(&p->shared->mailbox, p->slot, &fresh);
    return fresh && copy_reading(p->reading, &p->shared->mailbox.slot[p->slot]) ? p->reading : NULL;
}

const struct program_status *program_status(struct program *p)
{
    struct program_status now = {0};
    if (p->pid && !read_status(p, &now))
        return &p->status;
    add_counts(&now, &p->ended);
    now.failures += p->lost;
    if (!now.failure && p->lost)
        now.failure = PROGRAM_LOST;
    p->status = now;
    return &p->status;
}

pid_t program_pid(const struct program *p)
{
    return p->pid;
}

uint64_t program_cpu_ns(struct program *p)
{
    uint64_t own = 0;
    if (!p->pid || clock_process_cpu_ns(p->pid, &own) < 0)
        return p->ended_cpu_ns;
    return p->ended_cpu_ns + own + atomic_load(&p->shared->children_cpu_ns);
}

/* ---- the end ---- */

void program_end(struct program *p)
{
    if (!p || !p->pid)
        return;
    p->control_fd = fd_close(p->control_fd);
    kill(p->pid, SIGCONT); /* it may have been stopped */
}

static bool ends_within(struct program *p, uint64_t ns)
{
    uint64_t until = clock_monotonic_ns() + ns;
    while (p->pid && !reap(p, WNOHANG) && clock_monotonic_ns() < until)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    return !p->pid;
}

void program_free(struct program *p)
{
    if (!p)
        return;
    program_end(p);
    if (p->pid && !ends_within(p, ENDS_WITHIN)) {
        kill(p->pid, SIGKILL);
        ends_within(p, KILLED_WITHIN);
    }
    if (p->reading)
        munmap(p->reading, sizeof(*p->reading));
    if (p->shared)
        munmap(p->shared, sizeof(*p->shared));
    free(p);
}
