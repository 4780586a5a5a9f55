/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/touched.h"

#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"

/* A recorder that is killed closes its file. */
#define EVENTS (IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DONT_FOLLOW)

void touched_init(struct touched *t)
{
    *t = (struct touched){.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
}

void touched_done(struct touched *t)
{
    fd_close(t->fd);
    free(t->at);
    *t = (struct touched){.fd = -1};
}

void touched_add(struct touched *t, const char *path, int *watch)
{
    if (t->fd >= 0 && *watch < 0)
        *watch = inotify_add_watch(t->fd, path, EVENTS);
}

void touched_remove(struct touched *t, int *watch)
{
    if (*watch >= 0)
        inotify_rm_watch(t->fd, *watch);
    *watch = -1;
}

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static void add_watch(struct touched *t, int watch)
{
    if (t->n && t->at[t->n - 1] == watch)
        return;
    if (array_reserve(&t->at, t->n + 1, &t->room, sizeof(*t->at)) < 0)
        t->all = true;
    else
        t->at[t->n++] = watch;
}

void touched_read(struct touched *t)
{
    char events[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t n;
    t->n = 0;
    t->all = false;
    while (t->fd >= 0 && (n = read(t->fd, events, sizeof(events))) > 0) {
        for (char *at = events; at < events + n;) {
            const struct inotify_event *e = (const void *)at;
            t->all = t->all || (e->mask & IN_Q_OVERFLOW);
            add_watch(t, e->wd);
            at += sizeof(*e) + e->len;
        }
    }
    if (t->n)
        qsort(t->at, t->n, sizeof(*t->at), by_number);
}

bool touched_has(const struct touched *t, int watch)
{
    return watch < 0 || t->all || (t->n && bsearch(&watch, t->at, t->n, sizeof(*t->at), by_number));
}
