/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/machine/groups.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/min_max.h"
#include "recorder/job/member_values.h"

#define MOMENT NS_PER_SEC       /* what ends before that has the group of its parent */
#define AGAIN (60 * NS_PER_SEC) /* a process that is moved later is noticed within that time */
#define READS_MOST 32u          /* of /proc/PID/cgroup in a tick */
#define CPU_EVERY NS_PER_SEC    /* of a group that runs: CPU time and memory */
#define MORE_EVERY (5 * NS_PER_SEC)
#define IDLE_EVERY (60 * NS_PER_SEC) /* of one that does not */
#define LEAVES_AFTER (60 * NS_PER_SEC)
#define PARTS 4u /* of the budget: so much may reading groups take */
#define GROUPS_MOST 4096u
#define TEXT 16384u

/* ---- which group ---- */

/* In containers and on machines with version 1 most hierarchies may have the root alone. */
static int rank_of(const struct cgroup_membership *m)
{
    if (m->path.len < 2)
        return 0;
    return !m->hierarchy                                   ? 4
           : cgroup_listed(m->controllers, "name=systemd") ? 3
           : cgroup_listed(m->controllers, "cpuacct")      ? 2
                                                           : 1;
}

bool machine_groups_path(struct span text, struct span *ret)
{
    int best = -1;
    for (struct cgroup_membership m; cgroup_membership_next(&text, &m);) {
        if (rank_of(&m) > best) {
            best = rank_of(&m);
            *ret = m.path;
        }
    }
    return best >= 0;
}

static void open_dirs(struct machine_groups *g, struct machine_group *group)
{
    struct cgroup_hierarchies *p = g->places;
    memset(group->of, -1, sizeof(group->of));
    if (!cgroup_find_path(g->options.root_fd, group->path, p) || !p->n)
        return;
    group->dir = calloc(p->n, sizeof(*group->dir));
    if (!group->dir)
        return;
    for (size_t i = 0; i < p->n; i++)
        group->dir[i].fd = openat(g->options.root_fd, p->at[i].dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < p->n; i++)
        group->dir[i].v2 = p->at[i].v2;
    group->n_dirs = (uint8_t)p->n;
    memcpy(group->of, p->of, sizeof(group->of));
}

static struct machine_group *find(const struct machine_groups *g, struct span path)
{
    uint64_t key = map_hash(path.at, path.len);
    for (uint64_t *i = map_find(&g->by_path, key); i; i = map_next(&g->by_path, key, i)) {
        if (span_equal(path, g->at[*i].path))
            return &g->at[*i];
    }
    return NULL;
}

static bool index_one(struct machine_groups *g, size_t i)
{
    const struct machine_group *group = &g->at[i];
    return map_add(&g->by_path, map_hash(group->path, strlen(group->path)), i) &&
           map_add(&g->by_id, group->entity->id, i);
}

static struct span above(struct span path)
{
    while (path.len > 1 && path.at[path.len - 1] != '/')
        path.len--;
    path.len -= path.len > 1;
    return path;
}

/* Returns the index of the group, which is added with all above it; g->n if there is no room. */
static size_t take(struct machine_groups *g, struct span path)
{
    struct machine_group *known = find(g, path);
    if (known)
        return (size_t)(known - g->at);
    bool is_root = path.len < 2;
    size_t up = is_root ? 0 : take(g, above(path));
    if (g->n >= GROUPS_MOST || (!is_root && up == g->n) || array_reserve(&g->at, g->n + 1, &g->cap, sizeof(*g->at)) < 0)
        return g->n;
    struct machine_group *group = &g->at[g->n];
    *group = (struct machine_group){.path = strndup(path.at, path.len), .above = up, .ran = true};
    group->entity = group->path ? entity_add(&g->table, g->options.ids, group->path, "") : NULL;
    if (!group->entity) {
        free(group->path);
        return g->n;
    }
    for (int i = 0; i < CGROUP_MAX; i++)
        entity_lack(group->entity, i, BARO_ABSENT_UNSUPPORTED);
    open_dirs(g, group);
    group->used_ns = g->sampling->now_ns;
    g->is_new = true;
    g->n++;
    return index_one(g, g->n - 1) ? g->n - 1 : g->n; /* out of memory: it is found no more, and is added again */
}

/* ---- members ---- */

static void put_group(struct machine_groups *g, struct member *m, size_t i)
{
    uint32_t id = g->at[i].entity->id;
    if (m->row.absent[PROCESS_cgroup] == BARO_PRESENT && m->row.value[PROCESS_cgroup] == id)
        return;
    m->row.value[PROCESS_cgroup] = id;
    m->row.absent[PROCESS_cgroup] = BARO_PRESENT;
    m->row.info_version++;
    member_moved(m);
}

static void read_member(struct machine_groups *g, struct member *m)
{
    char text[4096];
    struct span path;
    ssize_t n = proc_read_record(g->sampling->options.proc_fd, m->row.key.pid, "cgroup", text, sizeof(text));
    m->group.due_ns = g->sampling->now_ns + AGAIN + (m->row.id & 63) * (AGAIN / 64); /* spread over many ticks */
    if (n <= 0 || !machine_groups_path(span_of(text, (size_t)n), &path))
        return;
    size_t i = take(g, path);
    if (i < g->n)
        put_group(g, m, i);
}

static bool is_due(const struct machine_groups *g, const struct member *m)
{
    uint64_t now = g->sampling->now_ns;
    bool has = m->row.absent[PROCESS_cgroup] == BARO_PRESENT;
    if (m->is_kernel || member_state(m) != MEMBER_ALIVE || !m->reading.stat_was_read)
        return false;
    return !has || (m->group.due_ns ? now >= m->group.due_ns : now >= m->row.first_ns + MOMENT);
}

/* Members that ran since the last sample: those that are marked as moved by now. */
static void note_runs(struct machine_groups *g)
{
    const struct tree *tree = &g->sampling->job->tree;
    for (size_t i = tree_next_moved(tree, 0); i < tree->n; i = tree_next_moved(tree, i + 1)) {
        const struct member *m = tree->at[i];
        uint64_t *at =
            m->row.absent[PROCESS_cgroup] == BARO_PRESENT ? map_find(&g->by_id, m->row.value[PROCESS_cgroup]) : NULL;
        for (size_t k = at ? *at : 0; at && !g->at[k].ran; k = g->at[k].above)
            g->at[k].ran = true;
    }
}

void machine_groups_note_exit(struct machine_groups *g, const struct baro_exit *e)
{
    uint64_t *at = e->absent[EXIT_cgroup] ? NULL : map_find(&g->by_id, e->value[EXIT_cgroup]);
    bool is_killed = e->status_known && WIFSIGNALED(e->status) && WTERMSIG(e->status) == SIGKILL;
    for (size_t k = at ? *at : 0; at && (!g->at[k].ran || is_killed); k = g->at[k].above) {
        g->at[k].ran = true;
        g->at[k].cpu_ns = is_killed ? 0 : g->at[k].cpu_ns; /* then all is read */
        if (!k)
            return;
    }
}

static void close_group(struct machine_groups *g, struct machine_group *group)
{
    for (size_t i = 0; i < group->n_dirs; i++)
        fd_close(group->dir[i].fd);
    free(group->dir);
    free(group->path);
    entity_remove(&g->table, group->entity);
}

/* Removes groups that had no process for long: a session or a container of which nothing is left. Those above one that
 * stays have processes, too. */
static void sweep(struct machine_groups *g)
{
    struct sampling *s = g->sampling;
    uint64_t now = s->now_ns;
    if (now < g->swept_ns + LEAVES_AFTER / 2)
        return;
    g->swept_ns = now;
    for (size_t i = 0; i < s->job->tree.n; i++) {
        const struct member *m = s->job->tree.at[i];
        uint64_t *at = m && m->row.absent[PROCESS_cgroup] == BARO_PRESENT
                           ? map_find(&g->by_id, m->row.value[PROCESS_cgroup])
                           : NULL;
        for (size_t k = at ? *at : 0; at && g->at[k].used_ns != now; k = g->at[k].above)
            g->at[k].used_ns = now;
    }
    size_t n = 0, *moved = calloc(g->n + 1, sizeof(*moved));
    for (size_t i = 0; moved && i < g->n; i++) {
        if (i && now >= g->at[i].used_ns + LEAVES_AFTER) {
            close_group(g, &g->at[i]);
            continue;
        }
        moved[i] = n;
        g->at[n] = g->at[i];
        g->at[n].above = moved[g->at[i].above]; /* it comes before */
        n++;
    }
    free(moved);
    if (!moved || n == g->n)
        return;
    g->n = n;
    g->is_new = true;
    map_clear(&g->by_path);
    map_clear(&g->by_id);
    for (size_t i = 0; i < n; i++)
        index_one(g, i); /* there is room */
}

void machine_groups_find(struct machine_groups *g)
{
    const struct tree *tree = &g->sampling->job->tree;
    size_t n = tree->n, from = g->next_member, reads = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = (from + i) % n;
        struct member *m = tree->at[at];
        bool is_first = m && m->row.absent[PROCESS_cgroup] != BARO_PRESENT;
        if (!m || !is_due(g, m) || (reads >= READS_MOST && !is_first))
            continue;
        read_member(g, m);
        reads++;
        g->next_member = at + 1;
    }
    note_runs(g);
    sweep(g);
}

/* ---- files ---- */

/* memory.stat may take seconds where thousands of removed groups still hold a page, and is not read. */
static bool is_wanted(const struct group_file *f)
{
    return f->pace != EXPENSIVE && f->at != CGROUP_AT_CPUSET && f->at != CGROUP_AT_HUGETLB;
}

static bool is_basic(const struct group_file *f)
{
    return f->metric[0] == CGROUP_cpu + 1 || f->metric[0] == CGROUP_memory + 1;
}

static void read_file(struct machine_groups *g, struct machine_group *group, const struct group_file *f)
{
    char text[TEXT];
    int place = group->of[f->at];
    const char *name = place < 0 ? NULL : group->dir[place].v2 ? f->v2 : f->v1;
    ssize_t n = name ? fd_read_file(group->dir[place].fd, name, text, sizeof(text)) : -ENOENT;
    struct group_text t = {.e = group->entity,
                           .text = span_of(text, n > 0 ? (size_t)n : 0),
                           .v2 = place >= 0 && group->dir[place].v2,
                           .options = &g->options,
                           .period_us = &group->period_us,
                           .counts = io_devices_count,
                           .context = &g->devices};
    if (n > 0 && (size_t)n < sizeof(text))
        f->take(&t);
}

static void read_group(struct machine_groups *g, struct machine_group *group, bool last)
{
    uint64_t now = g->sampling->now_ns, idle = now >= group->cpu_ns + IDLE_EVERY || !group->cpu_ns || last;
    bool basic = idle || (group->ran && now >= group->cpu_ns + CPU_EVERY - CPU_EVERY / 8);
    bool more = !group->more_ns || (basic && (idle || now >= group->more_ns + MORE_EVERY));
    bool limits = !group->limits_ns || (more && now >= group->limits_ns + IDLE_EVERY);
    if (!basic && !more)
        return;
    for (size_t i = 0; i < group_files_n; i++) {
        const struct group_file *f = &group_files[i];
        bool due = f->pace == SLOW ? limits : is_basic(f) ? basic : more;
        if (due && is_wanted(f) && group->of[f->at] >= 0)
            read_file(g, group, f);
    }
    group->cpu_ns = now;
    group->more_ns = more ? now : group->more_ns;
    group->limits_ns = limits ? now : group->limits_ns;
    group->ran = false;
}

/* Goes on where the last tick stopped. Example: with 1 % a tick after a second may spend 2.5 ms on groups. */
void machine_groups_read(struct machine_groups *g, bool last)
{
    uint64_t begin = clock_thread_cpu_ns();
    uint64_t ppm = g->sampling->account->budget.ppm, most = ppm ? NS_PER_SEC / 1000000 * ppm / PARTS : UINT64_MAX;
    for (size_t k = 0, from = g->next_group; k < g->n; k++) {
        size_t i = (from + k) % g->n;
        read_group(g, &g->at[i], last);
        if (clock_thread_cpu_ns() - begin > most) {
            g->next_group = i + 1;
            return;
        }
    }
}

/* ---- begin and end ---- */

int machine_groups_init(struct machine_groups *g, struct sampling *sampling)
{
    *g = (struct machine_groups){.sampling = sampling,
                                 .table = {.kind = BARO_KIND_CGROUP},
                                 .places = malloc(sizeof(*g->places)),
                                 .options = {.root_fd = sampling->options.root_fd,
                                             .ns_per_tick = sampling->job->ns_per_tick,
                                             .memory_total = sampling->options.memory_total,
                                             .ids = &sampling->entity_ids}};
    if (!g->places)
        return -ENOMEM;
    g->devices.root_fd = sampling->options.root_fd;
    take(g, span_str("/"));
    return 0;
}

void machine_groups_done(struct machine_groups *g)
{
    while (g->n)
        close_group(g, &g->at[--g->n]);
    entity_table_done(&g->table);
    free(g->at);
    free(g->places);
    io_devices_done(&g->devices);
    map_done(&g->by_path);
    map_done(&g->by_id);
    *g = (struct machine_groups){0};
}
