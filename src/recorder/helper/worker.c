/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/helper/worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "recorder/helper/detach.h"
#include "recorder/helper/ending.h"

#define RETRY_FIRST NS_PER_SEC
#define RETRY_MOST (64 * NS_PER_SEC)
#define TURN_MOST (NS_PER_SEC / 2) /* more of the time between two turns does not count: the recorder was stopped */
#define COPIES 100

struct worker {
    struct worker_options options;
    struct worker_shared *shared;
    int shared_fd; /* -1: none */
    pid_t pid;     /* 0: none */
    int fd;
    uint64_t cpu_ns;             /* of pid, as read last */
    uint64_t progress, still_ns; /* its progress at the last turn; for how long it has not changed */
    uint64_t turn_ns, retry_ns, pause_ns;
    uint64_t refused;
    struct ending_late late;
    struct ending ending; /* those that were killed */
    bool ended, given_up;
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

void *worker_shared(struct worker *w)
{
    return w->shared;
}

/* ---- processes come and go ---- */

static void close_worker(struct worker *w)
{
    w->fd = fd_close(w->fd);
    ending_kill(&w->ending, w->pid);
    w->pid = 0;
    w->cpu_ns = 0;
}

static _Noreturn void child(struct worker *w, int fd, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    helper_detach((const int[]){fd, w->options.kept_fd, w->shared_fd}, 3);
    prctl(PR_SET_NAME, "baro-helper");
    if (chdir("/") < 0)
        _exit(1);
    w->options.live(&(struct worker_child){w->shared, fd, w->options.context, w->shared_fd});
    _exit(0);
}

static void delay_start(struct worker *w, uint64_t now)
{
    w->pause_ns = !w->pause_ns ? RETRY_FIRST : w->pause_ns < RETRY_MOST ? 2 * w->pause_ns : RETRY_MOST;
    w->retry_ns = now + w->pause_ns;
}

static bool start_worker(struct worker *w)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    atomic_store(&w->shared->busy, false);
    pid_t self = getpid(), pid = fork();
    if (pid == 0)
        child(w, pair[1], self);
    w->refused += pid < 0 && errno == EAGAIN;
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return false;
    }
    w->pid = pid;
    w->fd = pair[0];
    w->still_ns = 0;
    w->late = (struct ending_late){0};
    return true;
}

static bool is_hung(struct worker *w, uint64_t now)
{
    uint64_t progress = atomic_load_explicit(&w->shared->progress, memory_order_relaxed), since = now - w->turn_ns;
    bool moves = progress != w->progress || !atomic_load(&w->shared->busy);
    w->progress = progress;
    w->still_ns = moves ? 0 : w->still_ns + (since < TURN_MOST ? since : TURN_MOST);
    return w->still_ns >= w->options.stuck_after_ns &&
           ending_hangs(&w->late, w->pid, progress, w->options.stuck_after_ns);
}

enum worker_trouble worker_turn(struct worker *w, void (*hung)(void *context), void *context)
{
    enum worker_trouble found = WORKER_FINE;
    uint64_t now = clock_monotonic_ns();
    if (w->ended || w->given_up)
        return WORKER_FINE;
    ending_reap_all(&w->ending);
    if (w->pid && is_hung(w, now)) {
        close_worker(w);
        ending_wait(&w->ending); /* the worker may write to the shared memory until it has ended */
        hung(context);
        found = WORKER_HUNG;
    } else if (w->pid && ending_reap(&w->ending, w->pid)) {
        w->pid = 0;
        w->cpu_ns = 0;
        w->fd = fd_close(w->fd);
        delay_start(w, now);
        found = WORKER_ENDED;
    }
    w->turn_ns = now;
    if (w->pid || now < w->retry_ns)
        return found;
    if (w->ending.n == ENDING_MOST) {
        w->given_up = true;
        return WORKER_GIVEN_UP;
    }
    if (start_worker(w))
        return found;
    delay_start(w, now);
    return found ? found : WORKER_ENDED;
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

size_t worker_left_behind(struct worker *w)
{
    ending_reap_all(&w->ending);
    return w->ending.n;
}

pid_t worker_pid(const struct worker *w)
{
    return w->pid;
}

uint64_t worker_cpu_ns(struct worker *w)
{
    uint64_t now;
    if (w->pid && clock_process_cpu_ns(w->pid, &now) == 0)
        w->cpu_ns = now;
    return ending_cpu_ns(&w->ending) + w->cpu_ns;
}

uint64_t worker_refused(const struct worker *w)
{
    return w->refused;
}

void worker_end(struct worker *w)
{
    if (!w)
        return;
    w->ended = true;
    if (w->pid)
        close_worker(w);
}

void worker_free(struct worker *w)
{
    if (!w)
        return;
    worker_end(w);
    ending_wait(&w->ending);
    munmap(w->shared, w->options.shared_bytes);
    fd_close(w->shared_fd);
    free(w);
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
