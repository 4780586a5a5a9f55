/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/workers.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/clock.h"
#include "programs/baro-serve/catalogue.h"
#include "programs/baro-serve/progress.h"
#include "programs/baro-serve/route.h"

/* How many requests may read tapes at once: one thread is left for the others. */
#define TAPES_MOST (WORKERS - 1)
#define STUCK_MOST 32u  /* most threads that wait for a file system: each has a stack */
#define STUCK_DEVICE 2u /* if so many wait for one file system, no other tape on it is read */
#define SUSPENDED_NS (2 * NS_PER_SEC)

struct worker {
    struct workers *w;
    struct progress progress;
    pthread_t thread;

    /* protected by the lock */
    struct request *reads; /* the request for which it may read tapes; NULL: none */
    struct job *job;       /* the job whose tape it reads; NULL: none yet */
    pid_t child;
    struct peer peer; /* who sent the request, if has_tape */
    bool has_tape;    /* the request may read a tape */
    bool is_abandoned, is_replaced;
    struct worker *next; /* in the list of threads that were replaced */
};

/* Removes *at from the queue. */
static struct request *take_request(struct requests *from, struct request **at)
{
    struct request *q = *at;
    *at = q->next;
    if (!q->next)
        from->last = at;
    return q;
}

/* Counts the requests of a user or address for which tapes are being read. */
static int working(const struct workers *w, const struct peer *peer)
{
    int n = 0;
    for (int i = 0; i < w->n; i++)
        n += w->at[i]->has_tape && peer_same(&w->at[i]->peer, peer);
    return n;
}

/* Takes the oldest request of the user or address that has the fewest requests in work, so that many requests of one do
 * not hold up others. */
static struct request *take_fair(struct workers *w)
{
    struct request **best = NULL;
    int least = WORKERS + 1;
    for (struct request **at = &w->tapes.first; *at && least; at = &(*at)->next) {
        int n = working(w, &(*at)->peer);
        if (n < least) {
            least = n;
            best = at;
        }
    }
    return best ? take_request(&w->tapes, best) : NULL;
}

static struct request *next(struct workers *w)
{
    if (w->small.first)
        return take_request(&w->small, &w->small.first);
    return w->n_tapes < TAPES_MOST ? take_fair(w) : NULL;
}

/* Ends a thread that was replaced and does not wait any more. Needs the lock. */
static void leave(struct worker *own)
{
    struct workers *w = own->w;
    struct worker **at = &w->stuck;
    while (*at != own)
        at = &(*at)->next;
    *at = own->next;
    w->n_stuck--;
    free(own);
}

/* Needs the lock. */
static void take_on(struct worker *own, struct request *q)
{
    struct workers *w = own->w;
    int tape = q->route->cost != ROUTE_SMALL; /* q may not be used after work() */
    bool is_over = w->is_over;
    w->n_tapes += tape;
    own->peer = q->peer;
    own->has_tape = tape;
    q->worker = own;
    pthread_mutex_unlock(&w->lock);
    w->work(q, is_over);
    pthread_mutex_lock(&w->lock);
    w->n_tapes -= own->is_replaced ? 0 : tape;
    own->has_tape = false;
    own->is_abandoned = false;
    if (tape)
        pthread_cond_broadcast(&w->some);
}

static void *run_worker(void *context)
{
    struct worker *own = context;
    struct workers *w = own->w;
    pthread_mutex_lock(&w->lock);
    progress_init(&own->progress);
    while (!own->is_replaced) {
        struct request *q = next(w);
        if (!q && w->is_over && !w->tapes.first)
            break;
        if (q)
            take_on(own, q);
        else
            pthread_cond_wait(&w->some, &w->lock);
    }
    if (own->is_replaced)
        leave(own);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static int start_one(struct workers *w, struct worker **ret)
{
    struct worker *own = calloc(1, sizeof(*own));
    if (!own)
        return -ENOMEM;
    own->w = w;
    int code = -pthread_create(&own->thread, NULL, run_worker, own);
    if (code < 0)
        free(own);
    else
        *ret = own;
    return code;
}

int workers_start(struct workers *w, void (*work)(struct request *q, bool is_over), void (*hangs)(struct request *q))
{
    *w = (struct workers){.work = work, .hangs = hangs};
    w->small.last = &w->small.first;
    w->tapes.last = &w->tapes.first;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->some, NULL);
    int code = 0;
    while (w->n < WORKERS && (code = start_one(w, &w->at[w->n])) == 0)
        w->n++;
    return w->n ? 0 : code;
}

bool workers_add(struct workers *w, struct request *q)
{
    pthread_mutex_lock(&w->lock);
    bool adds = !w->is_over;
    if (adds) {
        struct requests *to = q->route->cost != ROUTE_SMALL ? &w->tapes : &w->small;
        q->next = NULL;
        *to->last = q;
        to->last = &q->next;
        pthread_cond_signal(&w->some);
    }
    pthread_mutex_unlock(&w->lock);
    return adds;
}

/* ---- tapes whose file system does not answer ---- */

void workers_begin(struct workers *w, struct request *q)
{
    pthread_mutex_lock(&w->lock);
    q->worker->reads = q;
    progress_begin(&q->worker->progress);
    pthread_mutex_unlock(&w->lock);
}

bool workers_end(struct workers *w, struct request *q)
{
    pthread_mutex_lock(&w->lock);
    bool in_time = !q->worker->is_abandoned;
    q->worker->reads = NULL;
    q->worker->job = NULL;
    pthread_mutex_unlock(&w->lock);
    return in_time;
}

bool workers_read(struct workers *w, struct request *q, struct job *job)
{
    unsigned same = 0, near = 0;
    pthread_mutex_lock(&w->lock);
    for (int i = 0; i < w->n; i++)
        same += w->at[i]->is_abandoned && w->at[i]->job == job;
    for (const struct worker *one = w->stuck; one; one = one->next) {
        same += one->job == job;
        near += one->job && one->job->device == job->device;
    }
    bool may = !same && near < STUCK_DEVICE;
    if (may)
        q->worker->job = job;
    pthread_mutex_unlock(&w->lock);
    return may;
}

void workers_child(struct workers *w, struct request *q, int pid)
{
    pthread_mutex_lock(&w->lock);
    if (pid && q->worker->is_abandoned)
        kill(pid, SIGKILL);
    q->worker->child = pid;
    pthread_mutex_unlock(&w->lock);
}

/* Puts another thread in the place of worker i. Needs the lock. */
static void replace(struct workers *w, int i)
{
    struct worker *old = w->at[i];
    if (w->n_stuck == STUCK_MOST || start_one(w, &w->at[i]) < 0)
        return;
    pthread_detach(old->thread);
    w->n_tapes -= old->reads->route->cost != ROUTE_SMALL;
    old->is_replaced = true;
    old->next = w->stuck;
    w->stuck = old;
    w->n_stuck++;
}

void workers_check(struct workers *w)
{
    uint64_t now_ns = clock_monotonic_ns();
    pthread_mutex_lock(&w->lock);
    bool was_suspended = now_ns - w->check_ns > SUSPENDED_NS; /* or this thread did not get a CPU */
    w->check_ns = now_ns;
    for (int i = 0; i < w->n && !w->is_over; i++) {
        struct worker *one = w->at[i];
        if (!one->reads || one->is_abandoned)
            continue;
        if (was_suspended)
            progress_begin(&one->progress);
        if (!progress_hangs(&one->progress, one->child))
            continue;
        one->is_abandoned = true;
        if (one->child > 0)
            kill(one->child, SIGKILL);
        w->hangs(one->reads);
        replace(w, i);
    }
    pthread_mutex_unlock(&w->lock);
}

bool workers_stop(struct workers *w)
{
    pthread_mutex_lock(&w->lock);
    w->is_over = true;
    pthread_cond_broadcast(&w->some);
    pthread_mutex_unlock(&w->lock);
    for (int i = 0; i < w->n; i++)
        pthread_join(w->at[i]->thread, NULL);
    pthread_mutex_lock(&w->lock);
    while (w->n > 0)
        free(w->at[--w->n]);
    bool all = !w->n_stuck;
    pthread_mutex_unlock(&w->lock);
    return all;
}
