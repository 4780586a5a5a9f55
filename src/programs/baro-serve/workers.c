/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/workers.h"

#include <stddef.h>

#include "programs/baro-serve/route.h"

#define LARGE_MOST (WORKERS - 1) /* at once: small ones need not wait for them */

static struct request *take(struct requests *from)
{
    struct request *q = from->first;
    from->first = q->next;
    if (!from->first)
        from->last = &from->first;
    return q;
}

static struct request *next(struct workers *w)
{
    if (w->small.first)
        return take(&w->small);
    return w->large.first && w->n_large < LARGE_MOST ? take(&w->large) : NULL;
}

static void *run(void *context)
{
    struct workers *w = context;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        struct request *q = next(w);
        if (!q && w->is_over && !w->large.first)
            break;
        if (!q) {
            pthread_cond_wait(&w->some, &w->lock);
            continue;
        }
        int large = q->route->is_large; /* the request is gone once it is worked on */
        bool is_over = w->is_over;
        w->n_large += large;
        pthread_mutex_unlock(&w->lock);
        w->work(q, is_over);
        pthread_mutex_lock(&w->lock);
        w->n_large -= large;
        if (large)
            pthread_cond_broadcast(&w->some);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

int workers_start(struct workers *w, void (*work)(struct request *q, bool is_over))
{
    *w = (struct workers){.work = work};
    w->small.last = &w->small.first;
    w->large.last = &w->large.first;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->some, NULL);
    int error = 0;
    while (w->n < WORKERS && (error = pthread_create(&w->thread[w->n], NULL, run, w)) == 0)
        w->n++;
    return w->n ? 0 : -error;
}

bool workers_add(struct workers *w, struct request *q)
{
    pthread_mutex_lock(&w->lock);
    bool adds = !w->is_over;
    if (adds) {
        struct requests *to = q->route->is_large ? &w->large : &w->small;
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
    while (w->n > 0)
        pthread_join(w->thread[--w->n], NULL);
}
