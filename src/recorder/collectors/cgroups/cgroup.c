/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "recorder/collectors/cgroups/state.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fd.h"

#define NEAR_TENTHS 9u    /* of its limit: there a group may run out of memory before the next sample */
#define FASTEST 8u        /* bytes a nanosecond that a group grows by at most: some cores that write new pages */
#define NEAR_AT_MOST 1e18 /* nanoseconds: some decades */
#define FAR_TENTHS 8u     /* below them it is no longer near: a group full of page cache is once, and stays so */

/* ---- which groups ---- */

struct level {
    char *path;
    int dir_fd[CGROUP_AT_MAX]; /* by index into cgroup_hierarchies.at[] */
    bool own, limited, memory;
    bool memory_partly; /* its memory does not include the groups below it (v1, use_hierarchy 0) */
};

struct levels {
    struct level at[4 * GROUPS_MAX];
    size_t n;
    size_t place;        /* index of the hierarchy whose ancestors are visited */
    size_t memory_place; /* index of the hierarchy that counts memory; SIZE_MAX: none */
    bool v2, first;
};

static struct level *level_of(struct levels *l, const char *path)
{
    for (size_t i = 0; i < l->n; i++) {
        if (strcmp(l->at[i].path, path) == 0)
            return &l->at[i];
    }
    if (l->n == sizeof(l->at) / sizeof(*l->at))
        return NULL;
    char *copy = strdup(path);
    if (!copy)
        return NULL;
    struct level *at = &l->at[l->n++];
    *at = (struct level){.path = copy};
    for (int i = 0; i < CGROUP_AT_MAX; i++)
        at->dir_fd[i] = -1;
    return at;
}

static bool has_groups(int dir_fd)
{
    struct stat st;
    return fstat(dir_fd, &st) == 0 && st.st_nlink > 2;
}

static bool add_level(void *context, int dir_fd, const char *dir, const char *path)
{
    struct levels *l = context;
    bool memory = l->place == l->memory_place, alone = memory && !l->v2 && cgroup_memory_alone(dir_fd);
    (void)dir;
    if (alone && !l->first)
        return false; /* neither this group nor its ancestors limit the job */
    struct level *at = level_of(l, path);
    if (!at)
        return false;
    at->own |= l->first;
    at->memory |= memory;
    at->memory_partly |= alone && has_groups(dir_fd);
    at->limited |= cgroup_sets_limit(dir_fd, l->v2);
    if (at->dir_fd[l->place] < 0)
        at->dir_fd[l->place] = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
    l->first = false;
    return true;
}

static void gather(struct levels *l, int root_fd, const struct cgroup_hierarchies *places)
{
    int memory = places->of[CGROUP_AT_MEMORY];
    l->memory_place = memory < 0 ? SIZE_MAX : (size_t)memory;
    for (size_t i = 0; i < places->n; i++) {
        l->place = i;
        l->v2 = places->at[i].v2;
        l->first = true;
        cgroup_each_level(root_fd, &places->at[i], add_level, l);
    }
}

static void levels_done(struct levels *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->at[i].path);
        for (int c = 0; c < CGROUP_AT_MAX; c++)
            fd_close(l->at[i].dir_fd[c]);
    }
}

/* A job with different paths in its hierarchies has several own groups: the one that counts memory comes first, then
 * the deepest. */
static int by_depth(const void *a, const void *b)
{
    const struct level *x = a, *y = b;
    if (x->own != y->own)
        return y->own - x->own;
    if (x->own && x->memory != y->memory)
        return y->memory - x->memory;
    size_t m = strlen(x->path), n = strlen(y->path);
    return m == n ? strcmp(x->path, y->path) : m < n ? 1 : -1;
}

/* ---- files ---- */

static enum baro_absent group_absent(int error)
{
    switch (error) {
    case EACCES:
    case EPERM: return BARO_ABSENT_DENIED;
    case ENOENT:
    case EOPNOTSUPP: /* pressure information is disabled */ return BARO_ABSENT_UNSUPPORTED;
    default: return BARO_ABSENT_UNKNOWN;
    }
}

void group_lack(struct cgroup_state *g, const struct group_file *f, enum baro_absent why)
{
    for (size_t i = 0; i < GROUP_METRICS && f->metric[i]; i++)
        entity_lack(g->entity, f->metric[i] - 1, why);
}

static void open_files(struct cgroups *g, struct cgroup_state *group, const struct level *l,
                       const struct cgroup_hierarchies *places)
{
    for (size_t i = 0; i < group_files_n; i++) {
        const struct group_file *f = &group_files[i];
        int place = places->of[f->at];
        int dir_fd = place < 0 ? -1 : l->dir_fd[place];
        const char *name = place < 0 ? NULL : g->v2[f->at] ? f->v2 : f->v1;
        group->fd[i] = -1;
        if (dir_fd < 0 || !name)
            continue;
        if (l->memory_partly && f->at == CGROUP_AT_MEMORY && f->pace != SLOW) {
            group_lack(group, f, BARO_ABSENT_UNKNOWN);
            continue;
        }
        group->fd[i] = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
        if (group->fd[i] < 0 && errno != ENOENT)
            group_lack(group, f, group_absent(errno));
        if (group->fd[i] < 0)
            continue;
        group_lack(group, f, BARO_ABSENT_NOT_YET);
        if (f->pace == EXPENSIVE && g->options.helper)
            group_leave(group, i);
    }
}

/* The label of an entity, "v2", "v1 memory, pids" or both: the hierarchies in which the job is at or below this path.
 */
static void make_label(const struct level *l, const struct cgroup_hierarchies *places, char *at, size_t cap)
{
    static const char *const names[CGROUP_AT_MAX] = {"cpu", "cpuacct", "cpuset",  "memory",
                                                     "io",  "pids",    "hugetlb", NULL};
    size_t n = 0;
    int unified = places->of[CGROUP_AT_UNIFIED];
    *at = 0;
    if (unified >= 0 && l->dir_fd[unified] >= 0)
        n = (size_t)snprintf(at, cap, "v2");
    const char *before = n ? ", v1 " : "v1 ";
    for (int c = 0; c < CGROUP_AT_UNIFIED; c++) {
        int place = places->of[c];
        if (place < 0 || place == unified || l->dir_fd[place] < 0 || n >= cap)
            continue;
        n += (size_t)snprintf(at + n, cap - n, "%s%s", before, names[c]);
        before = ", ";
    }
}

static bool add_group(struct cgroups *g, const struct level *l, const struct cgroup_hierarchies *places)
{
    char label[64];
    struct cgroup_state *at = array_room(g->at, g->n, &g->cap, sizeof(*at)), *group = at ? &at[g->n] : NULL;
    if (!at)
        return false;
    g->at = at;
    make_label(l, places, label, sizeof(label));
    *group = (struct cgroup_state){.entity = entity_add(&g->table, g->options.ids, l->path, label)};
    if (!group->entity)
        return false;
    for (int i = 0; i < CGROUP_MAX; i++)
        entity_lack(group->entity, i, BARO_ABSENT_UNSUPPORTED);
    open_files(g, group, l, places);
    g->n++;
    return true;
}

int cgroups_new(struct cgroups **ret, const struct cgroups_options *options, const struct cgroup_hierarchies *places)
{
    struct levels l = {0};
    struct cgroups *g = calloc(1, sizeof(*g));
    bool ok = g != NULL;
    *ret = NULL;
    if (!g)
        return -ENOMEM;
    g->options = *options;
    g->devices.root_fd = options->root_fd;
    g->serial = clock_monotonic_ns();
    g->table.kind = BARO_KIND_CGROUP;
    for (int c = 0; c < CGROUP_AT_MAX; c++)
        g->v2[c] = places->of[c] >= 0 && places->at[places->of[c]].v2;
    gather(&l, options->root_fd, places);
    qsort(l.at, l.n, sizeof(*l.at), by_depth);
    for (size_t i = 0; ok && i < l.n && g->n < GROUPS_MAX; i++) {
        if (l.at[i].own || l.at[i].limited)
            ok = add_group(g, &l.at[i], places);
    }
    levels_done(&l);
    if (ok && g->n) {
        *ret = g;
        return 0;
    }
    cgroups_free(g);
    return ok ? 0 : -ENOMEM;
}

void cgroups_free(struct cgroups *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n; i++) {
        for (size_t k = 0; k < group_files_n; k++)
            fd_close(g->at[i].fd[k]);
        free(g->at[i].left.path);
    }
    entity_table_done(&g->table);
    free(g->at);
    io_devices_done(&g->devices);
    free(g);
}

/* ---- a tick ---- */

static void vanish(const struct cgroups *g, struct cgroup_state *group)
{
    bool has_last = group->closing_tick && group->closing_tick + 1 == g->ticks;
    group->gone = true;
    for (size_t i = 0; i < group_files_n; i++)
        group->fd[i] = fd_close(group->fd[i]);
    for (int i = 0; i < CGROUP_MAX && !has_last; i++) {
        if (!group->entity->absent[i])
            entity_lack(group->entity, i, BARO_ABSENT_GONE);
    }
}

/* Memory that can't be reclaimed at once: memory less inactive_file. inactive_file is read less often, so memory is
 * newer. Example: 900 MB, of which 200 MB are inactive_file: 700 MB. */
static void working_set(struct baro_entity *e)
{
    uint64_t all = e->value[CGROUP_memory], inactive = e->value[CGROUP_memory_inactive_file];
    uint8_t why = e->absent[CGROUP_memory] ? e->absent[CGROUP_memory] : e->absent[CGROUP_memory_inactive_file];
    if (why)
        entity_lack(e, CGROUP_memory_working_set, why);
    else
        entity_put(e, CGROUP_memory_working_set, all > inactive ? all - inactive : 0);
}

bool group_take(struct cgroups *g, struct cgroup_state *group, size_t i, struct span text)
{
    const struct group_file *f = &group_files[i];
    struct group_text t = {.e = group->entity,
                           .text = text,
                           .v2 = g->v2[f->at],
                           .options = &g->options,
                           .period_us = &group->period_us,
                           .counts = io_devices_count,
                           .context = &g->devices};
    bool taken = f->take(&t);
    if (taken && f->pace == EXPENSIVE)
        working_set(group->entity);
    return taken;
}

static void read_group_file(struct cgroups *g, struct cgroup_state *group, size_t i)
{
    const struct group_file *f = &group_files[i];
    char text[TEXT]; /* not in a struct, because an observer has a thousand of them */
    ssize_t n = fd_pread_all(group->fd[i], text, sizeof(text));
    if (n == -ENODEV || n == -ENOENT) {
        vanish(g, group);
        return;
    }
    if (n >= 0 && (size_t)n < sizeof(text) && group_take(g, group, i, span_of(text, (size_t)n)))
        return;
    group_lack(group, f, n < 0 ? group_absent((int)-n) : BARO_ABSENT_UNKNOWN);
    if (n == -EOPNOTSUPP)
        group->fd[i] = fd_close(group->fd[i]);
}

/* Reads each file as often as its cost allows: reading for 1 ms is followed by a pause of 500 ms. A read that was
 * preempted looks expensive. That must not hide the OOM kill that ended the job, so the last tick always reads the
 * cheap counters. */
static void read_group_files(struct cgroups *g, struct cgroup_state *group, uint64_t now_ns, bool last)
{
    uint64_t before = clock_monotonic_ns();
    for (size_t i = 0; i < group_files_n && !group->gone; i++) {
        if (group->fd[i] < 0 || (now_ns < group->due_ns[i] && !(last && group_files[i].pace == COUNTS)))
            continue;
        read_group_file(g, group, i);
        uint64_t after = clock_monotonic_ns(), rest = (after - before) * OF_ITS_TIME;
        if (group_files[i].pace >= SLOW && rest < SLOW_NS)
            rest = SLOW_NS;
        group->due_ns[i] = rest < NS_PER_SEC / 200 ? 0 : now_ns + rest;
        before = after;
    }
    if (!group->gone && (group->entity->absent[CGROUP_memory] || group->entity->absent[CGROUP_memory_inactive_file]))
        working_set(group->entity);
}

static void note_kills(struct cgroups *g, struct cgroup_state *group)
{
    const struct baro_entity *e = group->entity;
    uint64_t now = e->value[CGROUP_oom_kills];
    if (e->absent[CGROUP_oom_kills])
        return;
    g->is_urgent |= now > group->kills;
    group->kills = now;
    if (g->table.at[0] == e) {
        g->oom_first = g->oom_seen ? g->oom_first : now;
        g->oom_last = now;
        g->oom_seen = true;
    }
}

uint64_t cgroups_oom_kills(const struct cgroups *g)
{
    return g && g->oom_last > g->oom_first ? g->oom_last - g->oom_first : 0;
}

/* An engine on v1 removes one hierarchy after the other, so one that is gone does not end the reading of the others.
 * What matters most comes first. */
void cgroups_read_end(struct cgroups *g)
{
    static const int order[] = {COUNTS, FAST};
    char text[TEXT];
    for (size_t k = 0; g && k < 2 * g->n; k++) {
        struct cgroup_state *group = &g->at[k % g->n];
        for (size_t i = 0; i < group_files_n && !group->gone; i++) {
            bool due = group->fd[i] >= 0 && (int)group_files[i].pace == order[k / g->n];
            ssize_t n = due ? fd_pread_all(group->fd[i], text, sizeof(text)) : -1;
            if (n >= 0 && (size_t)n < sizeof(text) && group_take(g, group, i, span_of(text, (size_t)n)))
                group->closing_tick = g->ticks;
        }
        note_kills(g, group);
    }
}

/* Takes a new reading of a group's memory. The next one is due when the group may have come near its limit, or far from
 * it. Example: 10 MB of a limit of 512 MB are used, so that 450 MB are left: it is read after 56 ms. */
static void note_used(struct cgroup_fill *f, uint64_t now_ns, uint64_t used, uint64_t limit)
{
    uint64_t mark = limit / 10 * NEAR_TENTHS, far = limit / 10 * FAR_TENTHS;
    uint64_t grown = used > f->used ? used - f->used : 0, took_ns = now_ns - f->read_ns;
    f->used = used;
    f->limit = limit;
    f->read_ns = now_ns;
    f->is_near = used >= mark || (f->is_near && used >= far);
    double near_ns = grown ? (double)(mark - used) / (double)grown * (double)took_ns : HUGE_VAL;
    f->near_ns = f->is_near || !(near_ns < NEAR_AT_MOST) ? UINT64_MAX : now_ns + (uint64_t)near_ns;
    f->due_ns = now_ns + (f->is_near ? used - far : mark - used) / FASTEST;
}

bool cgroups_watch(struct cgroups *g, uint64_t now_ns, uint64_t *ret_near_ns)
{
    bool any = false;
    size_t file = group_file_of(CGROUP_memory);
    char text[32];
    *ret_near_ns = UINT64_MAX;
    for (size_t i = 0; g && i < g->n; i++) {
        struct cgroup_state *group = &g->at[i];
        struct cgroup_fill *f = &group->fill;
        uint64_t limit = group->entity->value[CGROUP_memory_limit];
        bool before = f->is_near, has_limit = !group->entity->absent[CGROUP_memory_limit],
             due = has_limit && (now_ns >= f->due_ns || limit != f->limit);
        ssize_t n = due && group->fd[file] >= 0 ? fd_pread_all(group->fd[file], text, sizeof(text)) : -1;
        uint64_t used;
        if (n >= 0 && cgroup_value_parse(span_of(text, (size_t)n), &used) == 0)
            note_used(f, now_ns, used, limit);
        if (f->near_ns && f->near_ns < *ret_near_ns)
            *ret_near_ns = f->near_ns;
        any |= f->is_near && !before;
    }
    if (any)
        g->is_urgent = true;
    return any;
}

void cgroups_tick(struct cgroups *g, uint64_t now_ns, bool last, struct baro_sample *ret)
{
    if (!g)
        return;
    g->now_ns = now_ns;
    g->ticks++;
    for (size_t i = 0; i < g->n; i++) {
        if (!g->at[i].gone)
            read_group_files(g, &g->at[i], now_ns, last);
        note_kills(g, &g->at[i]);
    }
    groups_ask(g, last);
    ret->entities[BARO_KIND_CGROUP] = entity_view(&g->table);
}
