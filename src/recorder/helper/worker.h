/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A helper process that works by itself for the whole recording, for work that does not fit one request and one reply:
 * a walk through a million files, a table of all sockets. It writes its results into memory that it shares with the
 * recorder. The recorder reads them in its ticks, and never waits for the worker.
 *
 * If a worker is busy and makes no progress for a while, it hangs in a system call. The recorder kills it, leaves it
 * behind, and starts another one.
 */
#ifndef RECORDER_HELPER_WORKER_H
#define RECORDER_HELPER_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "recorder/helper/ending.h"

/* The shared memory begins with this. In it the worker shows that it is alive. */
struct worker_shared {
    _Atomic bool busy;         /* it is working, not waiting */
    _Atomic uint64_t progress; /* changes as the work goes on */
};

struct worker_child {
    void *shared; /* begins with struct worker_shared */
    int fd;       /* readable when the recorder has called worker_wake() or has ended */
    void *context;
    int shared_fd; /* of the shared memory, for a program that this process becomes; -1: it has none */
};

struct worker_options {
    size_t shared_bytes;
    bool by_fd; /* the shared memory has a descriptor */
    uint64_t stuck_after_ns;
    /* The worker's main function. Its process ends when this returns. Only the descriptors fd and kept_fd (-1: none)
     * are open, not even standard input and output. */
    void (*live)(const struct worker_child *c);
    void *context;
    int kept_fd;
};

enum worker_trouble {
    WORKER_FINE,
    WORKER_HUNG,     /* it was killed; another one was started */
    WORKER_ENDED,    /* it was killed, or could not be started: it is tried again later */
    WORKER_GIVEN_UP, /* ENDING_MOST of them hang and could not be ended: there is no other */
};

struct worker;

/* Starts no process yet. */
int worker_new(struct worker **ret, const struct worker_options *options, struct baro_error *err);
void *worker_shared(struct worker *w);
/* Call it at each tick. It starts the process if there is none, and supervises it. Returns each trouble once. When a
 * worker that hangs was killed, calls hung with the context, which can change the shared memory before another worker
 * starts. */
enum worker_trouble worker_turn(struct worker *w, void (*hung)(void *context), void *context);
void worker_wake(struct worker *w);
/* Waits until the worker has called worker_done(), at most this long. Returns whether it has. */
bool worker_wait(struct worker *w, uint64_t most_ns);
size_t worker_left_behind(struct worker *w);     /* workers that still hang */
pid_t worker_pid(const struct worker *w);        /* 0: none */
uint64_t worker_cpu_ns(struct worker *w);        /* CPU time of all workers so far */
uint64_t worker_refused(const struct worker *w); /* forks that the kernel refused */
void worker_end(struct worker *w);  /* kills it and does not wait; none is started afterwards. NULL allowed */
void worker_free(struct worker *w); /* NULL allowed */

/* ---- in the worker ---- */

static inline void worker_progress(struct worker_shared *s)
{
    atomic_fetch_add_explicit(&s->progress, 1, memory_order_relaxed);
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
