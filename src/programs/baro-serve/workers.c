/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/workers.h"

#include <stddef.h>

#include "programs/baro-serve/route.h"

/* How many requests may read tapes at once: one thread is left for the others. */
#define TAPES_MOST (WORKERS - 1)
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
        n += w->at[i].has_tape && peer_same(&w->at[i].peer, peer);
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

/* Needs the lock. */
static void take_on(struct worker *own, struct request *q)
{
    struct workers *w = own->w;
    int tape = q->route->cost != ROUTE_SMALL; /* q may not be used after work() */
    bool is_over = w->is_over;
    w->n_tapes += tape;
    own->peer = q->peer;
    own->has_tape = tape;
    pthread_mutex_unlock(&w->lock);
    w->work(q, is_over);
    pthread_mutex_lock(&w->lock);
    w->n_tapes -= tape;
    own->has_tape = false;
    if (tape)
        pthread_cond_broadcast(&w->some);
}

static void *run_worker(void *context)
{
    struct worker *own = context;
    struct workers *w = own->w;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        struct request *q = next(w);
        if (!q && w->is_over && !w->tapes.first)
            break;
        if (q)
            take_on(own, q);
        else
            pthread_cond_wait(&w->some, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

int workers_start(struct workers *w, void (*work)(struct request *q, bool is_over))
{
    *w = (struct workers){.work = work};
    w->small.last = &w->small.first;
    w->tapes.last = &w->tapes.first;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->some, NULL);
    int code = 0;
    for (; w->n < WORKERS && code == 0; w->n += code == 0) {
        w->at[w->n].w = w;
        code = -pthread_create(&w->at[w->n].thread, NULL, run_worker, &w->at[w->n]);
    }
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

void workers_stop(struct workers *w)
{
    pthread_mutex_lock(&w->lock);
    w->is_over = true;
    pthread_cond_broadcast(&w->some);
    pthread_mutex_unlock(&w->lock);
    for (int i = 0; i < w->n; i++)
        pthread_join(w->at[i].thread, NULL);
    w->n = 0;
}
