/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/helper/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/proc/procfs.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#define RETRY_FIRST NS_PER_SEC
#define RETRY_MOST (64 * NS_PER_SEC)
#define LATE_CHECK (50 * NS_PER_MS) /* how often a worker that is late but does not hang is checked */
#define LOOKS 2u                    /* the clock of a process that runs stands still between two ticks of the kernel */
#define COPIES 100

/* The longest wait for a killed process. On a busy machine it may get a CPU, which it needs to end, only after 40 ms,
 * and a control group with a quota of CPU time may stop it for 100 ms and more. */
#define ENDS_WITHIN (500 * NS_PER_MS)
#define ASLEEP_MOST (20 * NS_PER_MS) /* in an uninterruptible sleep, which may last for ever */
#define ENDING_CPU (20 * NS_PER_MS)  /* CPU time that it may use meanwhile; with more it is still in a long read */
#define POLL_NS 100000

/* Since when killed processes are waited for, and when one was seen last that is about to end. */
struct ending {
    uint64_t begin_ns, last_ns;
};

struct worker {
    struct worker_options options;
    struct worker_shared *shared;
    int shared_fd; /* -1: none */
    pid_t pid;     /* 0: none */
    int fd;
    uint64_t cpu_ns;                     /* of pid, as read last */
    unsigned looks;                      /* at its clock that may tell something new, */
    uint64_t looked;                     /* as its step was this one at the last look */
    uint64_t late, late_cpu_ns, late_ns; /* the step that was found late, 0: none; its CPU time then, and when */
    uint64_t retry_ns, pause_ns;         /* none is started before; how long it was put off */
    uint64_t starts, refused;
    struct {
        pid_t pid;
        uint64_t cpu_ns; /* CPU time that it had used when it was killed */
    } left[WORKER_LEFT_MOST];
    size_t n_left;
    struct ending hung;     /* one that hung was killed, and hung() was not called yet; begin_ns 0: none */
    uint64_t reaped_cpu_ns; /* of all that were reaped */
    bool slept;             /* at the last check of that step */
    bool ended, given_up, dropped;
};

int worker_new(struct worker **ret, const struct worker_options *options, struct baro_error *err)
{
    struct worker *w = calloc(1, sizeof(*w));
    int fd = w && options->by_fd ? memfd_create("baro-helper", MFD_CLOEXEC) : -1;
    bool is_there = w && (!options->by_fd || (fd >= 0 && ftruncate(fd, (off_t)options->shared_bytes) == 0));
    int flags = MAP_SHARED | MAP_NORESERVE | (fd < 0 ? MAP_ANONYMOUS : 0);
    void *at = is_there ? mmap(NULL, options->shared_bytes, PROT_READ | PROT_WRITE, flags, fd, 0) : MAP_FAILED;
    if (at == MAP_FAILED) {
        fd_close(fd);
        free(w);
        return error_set(err, -ENOMEM, "out of memory");
    }
    w->options = *options;
    w->shared = at;
    w->shared_fd = fd;
    w->fd = -1;
    *ret = w;
    return 0;
}

/* ---- the end of a process ---- */

/* Reaps a process that may have ended. Returns true if it has, here or elsewhere. */
static bool is_reaped(struct worker *w, pid_t pid)
{
    struct rusage u;
    pid_t got = wait4(pid, NULL, WNOHANG, &u);
    if (got == pid)
        w->reaped_cpu_ns += (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NS_PER_SEC +
                            (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000u;
    return got != 0; /* ECHILD: it was reaped elsewhere */
}

size_t worker_left_behind(struct worker *w)
{
    for (size_t i = 0; i < w->n_left;) {
        if (is_reaped(w, w->left[i].pid))
            w->left[i] = w->left[--w->n_left];
        else
            i++;
    }
    return w->n_left;
}

static void forget_process(struct worker *w)
{
    w->fd = fd_close(w->fd);
    w->pid = 0;
    w->cpu_ns = w->late = 0;
}

void worker_kill(struct worker *w)
{
    uint64_t cpu_ns = 0;
    if (!w->pid)
        return;
    clock_process_cpu_ns(w->pid, &cpu_ns);
    kill(w->pid, SIGKILL);
    if (!is_reaped(w, w->pid)) { /* there is room: none is started while so many are left */
        w->left[w->n_left].pid = w->pid;
        w->left[w->n_left++].cpu_ns = cpu_ns;
    }
    forget_process(w);
}

void worker_drop(struct worker *w)
{
    worker_kill(w);
    w->dropped = true;
}

/* Returns the state in /proc/PID/stat; 0: the process has ended, or /proc is that of another PID namespace, where the
 * pid is another process's. It reads /proc itself, not the directory from which a helper reads other processes. */
static char process_state(pid_t pid)
{
    char path[32], text[1024];
    struct pid_stat st;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    ssize_t len = fd_read_file(AT_FDCWD, path, text, sizeof(text));
    bool is_child = len > 0 && pid_stat_parse(span_of(text, (size_t)len), &st) == 0 && st.ppid == getpid();
    return is_child ? st.state : 0;
}

/* Is a killed process about to end: does one run, or wait for a CPU? One is not if it sleeps uninterruptibly, or if it
 * goes on using CPU time: SIGKILL does not interrupt a walk of the page tables of 100 GB. */
static bool any_is_ending(struct worker *w, struct ending *e)
{
    uint64_t now = clock_monotonic_ns();
    if (!worker_left_behind(w) || now >= e->begin_ns + ENDS_WITHIN || now >= e->last_ns + ASLEEP_MOST)
        return false;
    for (size_t i = 0; i < w->n_left; i++) {
        uint64_t cpu_ns;
        pid_t pid = w->left[i].pid;
        char state = process_state(pid);
        bool ends = state == 'Z' || clock_process_cpu_ns(pid, &cpu_ns) < 0 || cpu_ns < w->left[i].cpu_ns + ENDING_CPU;
        e->last_ns = state && state != 'D' && ends ? now : e->last_ns;
    }
    return true;
}

static struct ending ending_now(void)
{
    uint64_t now = clock_monotonic_ns();
    return (struct ending){now, now};
}

static void wait_for_left(struct worker *w)
{
    struct ending e = ending_now();
    while (any_is_ending(w, &e))
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
}

/* ---- processes come and go ---- */

/* Closes all descriptors but these, so that no tape, pipe or lock stays open with this process. Before Linux 5.9 there
 * is no close_range(2), and all numbers up to the limit, within reason, are closed one by one. */
static void close_others(const int *kept, size_t n)
{
    struct rlimit most;
    unsigned limit = getrlimit(RLIMIT_NOFILE, &most) == 0 && most.rlim_cur < 65536 ? (unsigned)most.rlim_cur : 65536;
    for (unsigned from = 0, next; from != ~0u; from = next == ~0u ? next : next + 1) {
        next = ~0u;
        for (size_t i = 0; i < n; i++)
            next = kept[i] >= 0 && (unsigned)kept[i] >= from && (unsigned)kept[i] < next ? (unsigned)kept[i] : next;
        if (next == from || syscall(SYS_close_range, from, next == ~0u ? next : next - 1, 0u) == 0)
            continue;
        for (unsigned fd = from; fd < next && fd < limit; fd++)
            close((int)fd);
    }
}

/* Signals of a terminal are for the job and ignored, all others are at their defaults and none is blocked. */
static void reset_signals(void)
{
    static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU};
    sigset_t none;
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
        signal(ignored[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

#define KEPT_MOST 8

static _Noreturn void be_worker(const struct worker *w, int fd, pid_t parent)
{
    int kept[KEPT_MOST] = {fd, w->shared_fd};
    size_t n = 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a stopped process would not notice that the recorder has ended */
    if (getppid() != parent)
        _exit(0);
    for (size_t i = 0; i < w->options.n_kept && n < KEPT_MOST; i++)
        kept[n++] = w->options.kept[i];
    close_others(kept, n);
    reset_signals();
    prctl(PR_SET_NAME, w->options.name ? w->options.name : "baro-helper");
    if (chdir("/") < 0)
        _exit(1);
    w->options.live(&(struct worker_child){w->shared, fd, w->options.context, w->shared_fd});
    _exit(0);
}

/* What went wrong more than a minute ago does not count. */
static void put_off(struct worker *w)
{
    uint64_t now = clock_monotonic_ns(), twice = 2 * w->pause_ns;
    w->pause_ns = !twice || now > w->retry_ns + RETRY_MOST ? RETRY_FIRST : twice < RETRY_MOST ? twice : RETRY_MOST;
    w->retry_ns = now + w->pause_ns;
}

int worker_start(struct worker *w)
{
    int pair[2];
    if (w->pid)
        return 0;
    if (worker_left_behind(w) == WORKER_LEFT_MOST)
        return -EBUSY;
    if (worker_is_put_off(w))
        return -EAGAIN;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        int error = errno;
        put_off(w);
        return -error;
    }
    atomic_store(&w->shared->since_ns, 0);
    w->fd = pair[0];
    if (w->options.begin)
        w->options.begin(w->options.context);
    pid_t self = getpid(), pid = fork();
    if (pid == 0)
        be_worker(w, pair[1], self);
    int error = errno;
    close(pair[1]);
    if (pid < 0) {
        w->fd = fd_close(w->fd);
        w->refused += error == EAGAIN;
        put_off(w);
        return -error;
    }
    w->pid = pid;
    w->looks = LOOKS;
    w->starts++;
    return 0;
}

bool worker_is_put_off(const struct worker *w)
{
    return !w->pid && w->retry_ns && clock_monotonic_ns() < w->retry_ns;
}

uint64_t worker_patience(struct worker *w)
{
    uint64_t since = atomic_load_explicit(&w->shared->since_ns, memory_order_acquire), now = clock_monotonic_ns();
    uint64_t most = w->options.stuck_after_ns, cpu_ns;
    uint64_t age = !(since & 1) ? 0 : now >= since ? now - since : most; /* later than now: it is damaged */
    if (!w->pid || age < most)
        return most - age;
    bool is_first = w->late != since;
    if (!is_first && now < w->late_ns + LATE_CHECK)
        return w->late_ns + LATE_CHECK - now;
    if (clock_process_cpu_ns(w->pid, &cpu_ns) < 0)
        cpu_ns = w->late_cpu_ns;
    if (is_first)
        w->late_cpu_ns = cpu_ns;
    bool sleeps = process_state(w->pid) != 'R';
    bool hangs = !is_first && ((sleeps && w->slept) || cpu_ns >= w->late_cpu_ns + most);
    w->late = since;
    w->late_ns = now;
    w->slept = sleeps;
    return hangs ? 0 : LATE_CHECK;
}

enum worker_trouble worker_turn(struct worker *w, void (*hung)(void *context), void *context)
{
    enum worker_trouble found = WORKER_FINE;
    if (w->ended || w->given_up)
        return WORKER_FINE;
    if (w->pid && !worker_patience(w)) {
        worker_kill(w);
        w->hung = ending_now();
    }
    if (w->hung.begin_ns) {
        if (any_is_ending(w, &w->hung))
            return WORKER_FINE; /* it may write to the shared memory until it has ended: a later turn goes on */
        w->hung = (struct ending){0};
        hung(context);
        found = WORKER_HUNG;
    } else if (w->dropped || (w->pid && is_reaped(w, w->pid))) {
        w->dropped = false;
        forget_process(w);
        put_off(w);
        found = WORKER_ENDED;
    }
    if (w->pid || worker_is_put_off(w))
        return found;
    int code = worker_start(w);
    w->given_up = code == -EBUSY;
    return w->given_up ? WORKER_GIVEN_UP : code < 0 && !found ? WORKER_ENDED : found;
}

void worker_end(struct worker *w)
{
    if (!w)
        return;
    w->ended = true;
    worker_kill(w);
}

void worker_reap(struct worker *w)
{
    if (!w)
        return;
    worker_end(w);
    wait_for_left(w);
}

void worker_free(struct worker *w)
{
    if (!w)
        return;
    worker_reap(w);
    munmap(w->shared, w->options.shared_bytes);
    fd_close(w->shared_fd);
    free(w);
}

/* ---- what is known of it ---- */

void *worker_shared(const struct worker *w)
{
    return w->shared;
}

int worker_fd(const struct worker *w)
{
    return w->fd;
}

pid_t worker_pid(const struct worker *w)
{
    return w ? w->pid : 0;
}

uint64_t worker_starts(const struct worker *w)
{
    return w->starts;
}

uint64_t worker_refused(const struct worker *w)
{
    return w ? w->refused : 0;
}

/* The clock of a worker that waits is read until it has not changed for LOOKS reads, and then no more. */
uint64_t worker_cpu_ns(struct worker *w)
{
    uint64_t now, sum;
    if (!w)
        return 0;
    uint64_t step = atomic_load_explicit(&w->shared->since_ns, memory_order_relaxed);
    if (step != w->looked || step & 1)
        w->looks = LOOKS;
    if (w->pid && w->looks && clock_process_cpu_ns(w->pid, &now) == 0) {
        w->looks = now != w->cpu_ns ? LOOKS : w->looks - 1;
        w->looked = step;
        w->cpu_ns = now;
    }
    worker_left_behind(w);
    sum = w->reaped_cpu_ns + w->cpu_ns;
    for (size_t i = 0; i < w->n_left; i++)
        sum += clock_process_cpu_ns(w->left[i].pid, &now) == 0 ? now : 0;
    return sum;
}

void worker_wake(struct worker *w)
{
    if (w->fd >= 0)
        send(w->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool worker_wait(struct worker *w, uint64_t most_ns)
{
    struct pollfd p = {.fd = w->fd, .events = POLLIN};
    struct timespec t = {(time_t)(most_ns / NS_PER_SEC), (long)(most_ns % NS_PER_SEC)};
    char byte;
    return w->fd >= 0 && ppoll(&p, 1, &t, NULL) > 0 && recv(w->fd, &byte, 1, MSG_DONTWAIT) == 1;
}

bool worker_copy(void *to, const void *from, size_t n, _Atomic uint32_t *turn, uint32_t *seen)
{
    for (int i = 0; i < COPIES; i++) {
        uint32_t before = atomic_load_explicit(turn, memory_order_acquire);
        if (before == *seen)
            return false;
        if (before & 1)
            continue;
        memcpy(to, from, n);
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(turn, memory_order_relaxed) == before) {
            *seen = before;
            return true;
        }
    }
    return false;
}

/* ---- in the worker ---- */

void worker_rest(const struct worker_child *c, uint64_t ns)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    struct timespec t = {(time_t)(ns / NS_PER_SEC), (long)(ns % NS_PER_SEC)};
    char byte;
    if (ppoll(&p, 1, &t, NULL) <= 0)
        return;
    ssize_t n = recv(c->fd, &byte, 1, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        _exit(0);
}

void worker_done(const struct worker_child *c)
{
    send(c->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}
