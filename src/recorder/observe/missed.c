/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups that have just been made, and those that were removed before they could be recorded. inotify(7)
 * reports each group that is made or removed in the folders in which groups can match; a container may be over before
 * the next search. In v1 an engine makes a container's group in one hierarchy after the other, under the same name.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/map.h"
#include "recorder/observe/state.h"

#define SAY_EVERY (10 * NS_PER_SEC)
/* Any user to whom a group is delegated can make as many as he likes; beyond this the count is a lower bound. */
#define FOLDERS_MOST 1024u
#define PENDING_MOST 4096u
#define SETTLES_IN (3 * NS_PER_MS) /* an engine has made the group in all hierarchies */
#define RETRY_LEAST NS_PER_MS
#define RETRY_MOST (2 * NS_PER_SEC) /* then a search finds it */

/* ---- folders ---- */

void missed_watch(struct missed *m, const char *folder, size_t skip, const char *pattern)
{
    bool has_room = m->fd >= 0 && m->n < FOLDERS_MOST;
    int wd = has_room ? inotify_add_watch(m->fd, folder, IN_CREATE | IN_DELETE | IN_ONLYDIR) : -1;
    for (size_t i = 0; i < m->n && wd >= 0; i++) {
        if (m->at[i].wd == wd && strcmp(m->at[i].pattern, pattern) == 0)
            return;
    }
    struct missed_folder *grown = wd < 0 ? NULL : array_room(m->at, m->n, &m->cap, sizeof(*grown));
    m->is_lower_bound |= !grown;
    if (!grown)
        return;
    m->at = grown;
    m->at[m->n] = (struct missed_folder){wd, skip, strdup(folder), strdup(pattern)};
    if (m->at[m->n].path && m->at[m->n].pattern) {
        m->n++;
        return;
    }
    free(m->at[m->n].path);
    free(m->at[m->n].pattern);
}

static void forget(struct missed *m, size_t i)
{
    free(m->at[i].path);
    free(m->at[i].pattern);
    m->at[i] = m->at[--m->n];
}

/* ---- events ---- */

static size_t find_pending(const struct missed *m, const char *name)
{
    size_t i = 0;
    uint64_t hash = map_hash(name, strlen(name));
    while (i < m->n_pending &&
           (m->pending[i].hash != hash || strcmp(m->pending[i].path + m->pending[i].skip, name) != 0))
        i++;
    return i;
}

static void drop_pending(struct missed *m, size_t i)
{
    free(m->pending[i].path);
    m->pending[i] = m->pending[--m->n_pending];
}

static void add_pending(struct missed *m, const char *path, size_t skip)
{
    struct missed_group *at =
        m->n_pending < PENDING_MOST ? array_room(m->pending, m->n_pending, &m->cap_pending, sizeof(*at)) : NULL;
    char *copy = at ? strdup(path) : NULL;
    m->pending = at ? at : m->pending;
    m->is_lower_bound |= !copy;
    if (copy)
        m->pending[m->n_pending++] =
            (struct missed_group){copy, skip, map_hash(path + skip, strlen(path + skip)), 0, 0};
}

static void take_event(struct missed *m, const struct inotify_event *e, size_t i)
{
    char path[4096];
    const struct missed_folder *f = &m->at[i];
    if (!(e->mask & IN_ISDIR) || fnmatch(f->pattern, e->name, FNM_PERIOD) != 0)
        return;
    if (snprintf(path, sizeof(path), "%s/%s", f->path, e->name) >= (int)sizeof(path))
        return;
    size_t at = find_pending(m, path + f->skip);
    if (e->mask & IN_DELETE) {
        m->count += at < m->n_pending;
        if (at < m->n_pending)
            drop_pending(m, at);
        return;
    }
    if (at == m->n_pending)
        add_pending(m, path, f->skip);
    if (at < m->n_pending)
        m->pending[at].due_ns = clock_monotonic_ns() + SETTLES_IN;
}

static void on_event(struct missed *m, const struct inotify_event *e)
{
    m->is_lower_bound |= (e->mask & IN_Q_OVERFLOW) != 0;
    for (size_t i = m->n; i-- > 0;) {
        if (m->at[i].wd != e->wd)
            continue;
        if (e->mask & IN_IGNORED)
            forget(m, i);
        else if (e->len)
            take_event(m, e, i);
    }
}

void missed_read(struct missed *m, uint64_t until_ns)
{
    _Alignas(struct inotify_event) char part[4096];
    ssize_t n = -1;
    while (m->fd >= 0 && clock_monotonic_ns() < until_ns && (n = read(m->fd, part, sizeof(part))) > 0) {
        const struct inotify_event *e;
        for (char *at = part; at < part + n; at += sizeof(*e) + e->len) {
            e = (const struct inotify_event *)(const void *)at;
            on_event(m, e);
        }
    }
}

void missed_begun(struct missed *m, const char *name)
{
    size_t i = find_pending(m, name);
    if (i < m->n_pending)
        drop_pending(m, i);
}

uint64_t missed_due_ns(const struct missed *m)
{
    uint64_t due = UINT64_MAX;
    for (size_t i = 0; i < m->n_pending; i++)
        due = m->pending[i].due_ns < due ? m->pending[i].due_ns : due;
    return due;
}

void missed_begin(struct missed *m, const struct groups_search *s, uint64_t until_ns)
{
    for (size_t i = m->n_pending; i-- > 0;) {
        struct missed_group *p = &m->pending[i];
        struct stat st;
        uint64_t now = clock_monotonic_ns();
        if (now >= until_ns)
            return;
        if (now < p->due_ns)
            continue;
        p->retry_ns = p->retry_ns ? 2 * p->retry_ns : RETRY_LEAST;
        p->due_ns = p->retry_ns > RETRY_MOST ? UINT64_MAX : now + p->retry_ns;
        if (stat(p->path, &st) == 0 && groups_has_processes(p->path) &&
            (s->known(s->context, p->path + p->skip) || s->fn(s->context, p->path + p->skip, st.st_ino)))
            drop_pending(m, i);
    }
}

void missed_say(struct missed *m, const struct jobs_options *o, bool at_end)
{
    struct baro_error line = BARO_ERROR_INIT;
    uint64_t now = clock_monotonic_ns();
    if (m->count == m->said || (now < m->due_ns && !at_end))
        return;
    m->due_ns = now + SAY_EVERY;
    m->said = m->count;
    error_set(&line, -ENOENT,
              "control groups that match and were removed before they could be recorded, so far: "
              "%s%llu; what ran in them is on no tape",
              m->is_lower_bound ? "at least " : "", (unsigned long long)m->count);
    o->say(o->context, line.text);
}

void missed_init(struct missed *m)
{
    *m = (struct missed){.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
}

void missed_done(struct missed *m)
{
    while (m->n)
        forget(m, m->n - 1);
    free(m->at);
    while (m->n_pending)
        drop_pending(m, m->n_pending - 1);
    free(m->pending);
    fd_close(m->fd);
}
