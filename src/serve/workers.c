/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/workers.h"

#include <stddef.h>

#include "serve/request.h"

static void *run(void *context)
{
    struct workers *w = context;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        struct request *q = w->first;
        if (!q && w->is_over)
            break;
        if (!q) {
            pthread_cond_wait(&w->some, &w->lock);
            continue;
        }
        w->first = q->next;
        if (!w->first)
            w->last = &w->first;
        pthread_mutex_unlock(&w->lock);
        w->work(q);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

int workers_start(struct workers *w, void (*work)(struct request *q))
{
    *w = (struct workers){.work = work};
    w->last = &w->first;
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
        q->next = NULL;
        *w->last = q;
        w->last = &q->next;
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
