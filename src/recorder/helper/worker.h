/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that does what may hang: each process of the recorder beside it is one of these. It is a fork of the
 * recorder, has a socket to it and memory that both see, and ends with it. In the memory it shows what it is doing. If
 * it does the same for too long, it hangs in a system call: the recorder kills it, leaves it behind, as a process in
 * uninterruptible sleep (a file server does not answer) may never end, and starts another one.
 *
 * A worker works by itself for the whole recording (a walk through a million files, a table of all sockets), and the
 * recorder calls worker_turn() in its ticks; or it answers requests (helper.h).
 */
#ifndef RECORDER_HELPER_WORKER_H
#define RECORDER_HELPER_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/error.h"

#define WORKER_LEFT_MOST 8u /* while so many were killed and have not ended, no other is started */

/* The shared memory begins with this. In it the worker shows that it is alive. */
struct worker_shared {
    _Atomic uint64_t since_ns; /* CLOCK_MONOTONIC of its last step. It is odd while the worker is busy */
};

struct worker_child {
    void *shared; /* begins with struct worker_shared */
    int fd;       /* readable when the recorder has sent something or has ended */
    void *context;
    int shared_fd; /* of the shared memory, for a program that this process becomes; -1: it has none */
};

struct worker_options {
    const char *name; /* NULL: "baro-helper" */
    size_t shared_bytes;
    bool by_fd; /* the shared memory has a descriptor */
    uint64_t stuck_after_ns;
    /* The worker's main function. Its process ends when this returns. Only the socket and the descriptors `kept` (-1:
     * none) are open, not even standard input and output. */
    void (*live)(const struct worker_child *c);
    /* Called before the process is started, for what is to be sent to it first; may be NULL. */
    void (*begin)(void *context);
    void *context;
    const int *kept; /* borrowed, read when a process is started */
    size_t n_kept;
};

enum worker_trouble {
    WORKER_FINE,
    WORKER_HUNG,     /* it was killed; another one was started */
    WORKER_ENDED,    /* it was killed, or could not be started: it is tried again later */
    WORKER_GIVEN_UP, /* WORKER_LEFT_MOST of them hang and could not be ended: there is no other */
};

struct worker;

/* Starts no process yet. */
int worker_new(struct worker **ret, const struct worker_options *options, struct baro_error *err);
void *worker_shared(const struct worker *w);
/* Starts the process if there is none. Returns 0; -EBUSY if too many hang; -EAGAIN if it is put off; another negative
 * code if it can't be started. Then it is put off for a second, the next time for two, up to a minute: a control group
 * that refuses a fork counts it, and the count does not distinguish workers from the job (pids.events,
 * Documentation/admin-guide/cgroup-v2.rst). */
int worker_start(struct worker *w);
bool worker_is_put_off(const struct worker *w);
/* Kills the process and does not wait for its end. */
void worker_kill(struct worker *w);
/* Kills it, as it sends what it must not, or has closed its socket. The next turn reports WORKER_ENDED. */
void worker_drop(struct worker *w);
/* Returns how long until the process must be checked again; 0: it hangs. It hangs if it has been busy with the same
 * step for too long, and sleeps at two checks in succession (it and the recorder may have been stopped until just now,
 * or it waits for a lock for a moment), or has used as much CPU time meanwhile. One that waits for a CPU does not hang.
 * Example: with a quota of 1 ms of CPU time per second, a read that takes 3 ms of it takes 3 s. */
uint64_t worker_patience(struct worker *w);
/* Call it at each tick. It starts the process if there is none, and supervises it. Returns each trouble once. When a
 * worker that hangs was killed and has ended, or will not end, calls hung with the context, which can change the shared
 * memory before another worker starts. It never waits for that: a later turn does it. */
enum worker_trouble worker_turn(struct worker *w, void (*hung)(void *context), void *context);
void worker_wake(struct worker *w);
/* Waits until the worker has called worker_done(), at most this long. Returns whether it has. */
bool worker_wait(struct worker *w, uint64_t most_ns);
int worker_fd(const struct worker *w);           /* the recorder's end of the socket; -1: there is no process */
size_t worker_left_behind(struct worker *w);     /* those that were killed and have not ended */
pid_t worker_pid(const struct worker *w);        /* 0: none. NULL allowed */
uint64_t worker_starts(const struct worker *w);  /* processes that were started so far */
uint64_t worker_cpu_ns(struct worker *w);        /* CPU time of all of them so far. NULL allowed */
uint64_t worker_refused(const struct worker *w); /* forks that the kernel refused. NULL allowed */
void worker_end(struct worker *w);               /* kills it; none is started afterwards. NULL allowed */
/* Ends it and reaps it, which otherwise would be left to process 1, which may not reap it. Waits up to 0.5 s for a
 * process that is about to end (a busy machine, a CPU quota), and 20 ms for one in uninterruptible sleep. NULL allowed,
 * as for worker_free(), which does the same. */
void worker_reap(struct worker *w);
void worker_free(struct worker *w);

/* ---- in the worker ---- */

/* Shows that it is busy with the next step; that it waits. */
static inline void worker_progress(struct worker_shared *s)
{
    atomic_store_explicit(&s->since_ns, clock_monotonic_ns() | 1, memory_order_release);
}

static inline void worker_idle(struct worker_shared *s)
{
    atomic_store_explicit(&s->since_ns, clock_monotonic_ns() & ~1ull, memory_order_release);
}

/* Waits for worker_wake(), at most this long. Ends the process if the recorder is gone. */
void worker_rest(const struct worker_child *c, uint64_t ns);
void worker_done(const struct worker_child *c); /* for worker_wait() */

/* These write and read a part of the shared memory that has a sequence number, `turn`, which is odd while the part is
 * being written. */
static inline void worker_write_begin(_Atomic uint32_t *turn)
{
    atomic_fetch_add_explicit(turn, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
}

static inline void worker_write_end(_Atomic uint32_t *turn)
{
    atomic_fetch_add_explicit(turn, 1, memory_order_release);
}

/* Copies the part. Returns false if it is being written, or if its turn is *seen, so it was copied before. Otherwise
 * sets *seen to its turn. */
bool worker_copy(void *to, const void *from, size_t n, _Atomic uint32_t *turn, uint32_t *seen);

#endif
