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
#include "base/map.h"
#include "recorder/observe/state.h"

#define SAY_EVERY (10 * NS_PER_SEC)
/* Any user to whom a group is delegated can make as many as he likes; beyond this the count is a lower bound. */
#define FOLDERS_MOST 1024u
#define PENDING_MOST 4096u

/* ---- lists of paths ---- */

static uint64_t hash_of(const char *path)
{
    return map_hash(path, strlen(path));
}

static bool add_path(struct paths *p, uint64_t hash)
{
    uint64_t *grown = array_room(p->at, p->n, &p->cap, sizeof(*grown));
    if (!grown)
        return false;
    p->at = grown;
    p->at[p->n++] = hash;
    return true;
}

static bool take_path(struct paths *p, uint64_t hash)
{
    size_t i = 0;
    while (i < p->n && p->at[i] != hash)
        i++;
    if (i == p->n)
        return false;
    p->at[i] = p->at[--p->n];
    return true;
}

/* ---- folders ---- */

void missed_watch(struct missed *m, const char *folder, const char *pattern)
{
    int wd = m->fd < 0 ? -1 : inotify_add_watch(m->fd, folder, IN_CREATE | IN_DELETE | IN_ONLYDIR);
    for (size_t i = 0; i < m->n && wd >= 0; i++) {
        if (m->at[i].wd == wd && strcmp(m->at[i].pattern, pattern) == 0)
            return;
    }
    struct missed_folder *grown =
        wd < 0 || m->n == FOLDERS_MOST ? NULL : array_room(m->at, m->n, &m->cap, sizeof(*grown));
    m->is_lower_bound |= !grown;
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
    bool was_pending = take_path(&m->pending, hash_of(path));
    if (e->mask & IN_DELETE)
        m->count += was_pending;
    else if (!take_path(&m->begun, hash_of(path)))
        m->is_lower_bound |= m->pending.n == PENDING_MOST || !add_path(&m->pending, hash_of(path));
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
    if (n < 0)
        m->begun.n = 0;
}

void missed_begun(struct missed *m, const char *path)
{
    if (!take_path(&m->pending, hash_of(path)) && m->fd >= 0)
        add_path(&m->begun, hash_of(path));
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
    free(m->pending.at);
    free(m->begun.at);
    fd_close(m->fd);
}
