/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups that were removed before they could be recorded, for example between two searches. inotify(7) reports
 * each group that is made or removed in the folders in which groups can match.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "recorder/observe/state.h"

#define SAY_EVERY (10 * NS_PER_SEC)

/* ---- lists of paths ---- */

static size_t find_path(const struct paths *p, const char *path)
{
    size_t i = 0;
    while (i < p->n && strcmp(p->at[i], path) != 0)
        i++;
    return i;
}

static void add_path(struct paths *p, const char *path)
{
    char **grown = array_room(p->at, p->n, &p->cap, sizeof(*grown));
    p->at = grown ? grown : p->at;
    char *copy = grown ? strdup(path) : NULL;
    if (copy)
        p->at[p->n++] = copy;
}

static bool take_path(struct paths *p, const char *path)
{
    size_t i = find_path(p, path);
    if (i == p->n)
        return false;
    free(p->at[i]);
    p->at[i] = p->at[--p->n];
    return true;
}

static void clear(struct paths *p)
{
    while (p->n)
        free(p->at[--p->n]);
}

/* ---- folders ---- */

void missed_watch(struct missed *m, const char *folder, const char *pattern)
{
    int wd = m->fd < 0 ? -1 : inotify_add_watch(m->fd, folder, IN_CREATE | IN_DELETE | IN_ONLYDIR);
    for (size_t i = 0; i < m->n && wd >= 0; i++) {
        if (m->at[i].wd == wd && strcmp(m->at[i].pattern, pattern) == 0)
            return;
    }
    struct missed_folder *grown = wd < 0 ? NULL : array_room(m->at, m->n, &m->cap, sizeof(*grown));
    if (!grown)
        return;
    m->at = grown;
    m->at[m->n] = (struct missed_folder){wd, strdup(folder), strdup(pattern)};
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

static void take_event(struct missed *m, const struct inotify_event *e, size_t i)
{
    char path[4096];
    const struct missed_folder *f = &m->at[i];
    if (!(e->mask & IN_ISDIR) || fnmatch(f->pattern, e->name, FNM_PERIOD) != 0)
        return;
    if (snprintf(path, sizeof(path), "%s/%s", f->path, e->name) >= (int)sizeof(path))
        return;
    if (e->mask & IN_DELETE)
        m->count += take_path(&m->pending, path);
    else if (!take_path(&m->begun, path) && find_path(&m->pending, path) == m->pending.n)
        add_path(&m->pending, path);
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

void missed_read(struct missed *m)
{
    _Alignas(struct inotify_event) char part[16384];
    ssize_t n;
    while (m->fd >= 0 && (n = read(m->fd, part, sizeof(part))) > 0) {
        const struct inotify_event *e;
        for (char *at = part; at < part + n; at += sizeof(*e) + e->len) {
            e = (const struct inotify_event *)(const void *)at;
            on_event(m, e);
        }
    }
    clear(&m->begun);
}

void missed_begun(struct missed *m, const char *path)
{
    if (!take_path(&m->pending, path) && m->fd >= 0)
        add_path(&m->begun, path);
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
              "%s%llu; their processes are on no tape",
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
    clear(&m->pending);
    clear(&m->begun);
    free(m->pending.at);
    free(m->begun.at);
    fd_close(m->fd);
}
