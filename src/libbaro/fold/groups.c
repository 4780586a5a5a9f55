/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/fold/groups.h"

#include <stdlib.h>
#include <string.h>

#include "libbaro/sample/sample.h"

static struct fold_group *find(const struct fold_groups *all, uint32_t id)
{
    for (size_t i = 0; i < all->n; i++) {
        if (all->at[i].id == id)
            return &all->at[i];
    }
    return NULL;
}

/* Copies the beginning; the rest becomes zeros. */
static void copy_beginning(char *to, size_t cap, const char *from)
{
    memcpy(to, from, strnlen(from, cap - 1));
}

static struct fold_group *append(struct fold_groups *all, const struct baro_entity *e)
{
    struct fold_group *g = realloc(all->at, (all->n + 1) * sizeof(*g));
    if (!g)
        return NULL;
    all->at = g;
    g += all->n++;
    const char *name = e->name ? e->name : "", *slash = strrchr(name, '/');
    *g = (struct fold_group){.id = e->id,
                             .chain = all->chains,
                             .length = strlen(name),
                             .self_refusals = FOLD_CELL_NONE,
                             .memory = FOLD_CELL_NONE,
                             .limit_hits = FOLD_CELL_NONE,
                             .needed = FOLD_CELL_NONE};
    for (int i = 0; i < CGROUP_MAX; i++)
        g->cell[i] = FOLD_CELL_NONE;
    size_t left_out = g->length < sizeof(g->end) ? 0 : g->length + 1 - sizeof(g->end);
    memcpy(g->end, name + left_out, g->length - left_out);
    copy_beginning(g->last, sizeof(g->last), slash ? slash + 1 : name);
    copy_beginning(g->label, sizeof(g->label), e->label ? e->label : "");
    return g;
}

/* ---- memory ---- */

/* What the group held under the present limit. A peak that rose between two readings was reached between them, even if
 * both readings are lower. */
static void add_memory(struct fold_group *g, const struct baro_entity *e, uint64_t t_ns)
{
    const struct fold_cell *peak = &g->cell[CGROUP_memory_peak];
    uint64_t now = e->value[CGROUP_memory_peak];
    fold_cell_add(&g->memory, t_ns, e->absent[CGROUP_memory], e->value[CGROUP_memory]);
    if (!e->absent[CGROUP_memory_peak] && peak->seen && now > peak->most && !g->reading_is_due)
        fold_cell_add(&g->memory, t_ns, BARO_PRESENT, now);
    g->reading_is_due = false;
    fold_cell_add(&g->limit_hits, t_ns, e->absent[CGROUP_memory_limit_hits], e->value[CGROUP_memory_limit_hits]);
}

static uint64_t value_or_0(const struct baro_entity *e, enum cgroup_metric m)
{
    return e->absent[m] ? 0 : e->value[m];
}

/* Page cache is not needed: the kernel drops it when memory is short. */
static void add_needed(struct fold_group *g, const struct baro_entity *e, uint64_t t_ns)
{
    int absent = e->absent[CGROUP_memory_anon] ? e->absent[CGROUP_memory_anon] : e->absent[CGROUP_memory_shmem];
    uint64_t kernel = e->value[CGROUP_memory_kernel], spare = e->value[CGROUP_memory_slab_reclaimable];
    bool has_kernel = !e->absent[CGROUP_memory_kernel] && !e->absent[CGROUP_memory_slab_reclaimable] && kernel >= spare;
    uint64_t shared = e->value[CGROUP_memory_shmem], file = e->value[CGROUP_memory_file];
    uint64_t sum = e->value[CGROUP_memory_anon] + shared + (has_kernel ? kernel - spare : 0), before = g->needed.most;
    fold_cell_add(&g->needed, t_ns, absent, sum);
    if (absent == BARO_PRESENT && (sum > before || !before)) {
        g->needed_has_kernel = has_kernel;
        g->needed_shared = shared;
        g->needed_cache = !e->absent[CGROUP_memory_file] && file > shared ? file - shared : 0;
    }
    struct fold_held now = {value_or_0(e, CGROUP_memory_anon), value_or_0(e, CGROUP_memory_shmem),
                            value_or_0(e, CGROUP_memory_kernel)};
    if (!now.kernel)
        now.kernel = value_or_0(e, CGROUP_memory_slab);
    if (now.anon + now.shmem + now.kernel >= g->held.anon + g->held.shmem + g->held.kernel)
        g->held = now;
}

void fold_groups_limit_changed(struct fold_groups *all)
{
    for (size_t i = 0; i < all->n; i++) {
        struct fold_group *g = &all->at[i];
        struct fold_cell *of_limit[] = {&g->memory, &g->limit_hits, &g->needed};
        for (size_t k = 0; k < sizeof(of_limit) / sizeof(*of_limit); k++) {
            uint8_t absent = of_limit[k]->seen ? BARO_ABSENT_NOT_YET : of_limit[k]->absent;
            *of_limit[k] = (struct fold_cell){.absent = absent, .absent_now = absent};
        }
        g->outlived_limit = g->reading_is_due = true;
    }
}

/* ---- counters ---- */

static void note_oom_rise(struct fold_group *g, const struct baro_entity *e, uint64_t t_ns)
{
    const struct fold_cell *of = &g->cell[CGROUP_oom_kills];
    uint64_t now = e->value[CGROUP_oom_kills];
    if (e->absent[CGROUP_oom_kills] != BARO_PRESENT || !of->seen || now <= of->last)
        return;
    if (g->n_oom_rises < FOLD_RISES) {
        g->oom_rise[g->n_oom_rises++] = (struct fold_rise){of->to_ns, t_ns, now - of->last};
        return;
    }
    g->oom_rise[FOLD_RISES - 1].to_ns = t_ns;
    g->oom_rise[FOLD_RISES - 1].by += now - of->last;
}

uint64_t fold_group_rose(const struct fold_group *g, enum cgroup_metric metric)
{
    return g->cell[metric].grown - g->before[metric];
}

/* If the job is moved, its new group continues the sum. */
static void add_pressure(struct fold_groups *all, const struct fold_group *g)
{
    static const enum cgroup_metric of[2] = {CGROUP_pressure_io_some, CGROUP_pressure_memory_some};
    for (int i = 0; i < 2; i++) {
        if (!g->cell[of[i]].seen)
            continue;
        all->pressure_absent[i] = BARO_PRESENT;
        if (all->pressure_group == g->id) {
            all->pressure_ns[i] += fold_group_rose(g, of[i]);
            all->pressure_fell[i] = g->cell[of[i]].fell_now;
        }
    }
    all->pressure_group = g->id;
}

static void add_group(struct fold_group *g, const struct baro_entity *e, const struct baro_sample *s)
{
    uint64_t t_ns = s->host_ns;
    add_memory(g, e, t_ns);
    add_needed(g, e, t_ns);
    note_oom_rise(g, e, t_ns);
    for (int i = 0; i < CGROUP_MAX; i++) {
        g->before[i] = g->cell[i].grown;
        fold_cell_add(&g->cell[i], t_ns, e->absent[i], e->value[i]);
    }
    fold_cell_add(&g->self_refusals, t_ns, s->self_absent[RECORDER_forks_refused], s->self[RECORDER_forks_refused]);
}

bool fold_groups_add(struct fold_groups *all, const struct baro_sample *s)
{
    const struct baro_entities *of = &s->entities[BARO_KIND_CGROUP];
    bool has_pressure = false, is_throttled = false;
    uint64_t most = 0;
    all->read_ns = s->host_ns;
    all->throttled_fell = all->pressure_fell[0] = all->pressure_fell[1] = false;
    /* If the job was moved, all its groups are new. */
    all->chains += of->n && !find(all, of->at[0]->id) && all->n < FOLD_GROUPS;
    for (size_t i = 0; i < of->n; i++) {
        const struct baro_entity *e = of->at[i];
        struct fold_group *g = find(all, e->id);
        if (!g && all->n == FOLD_GROUPS)
            continue;
        g = g ? g : append(all, e);
        if (!g)
            return false;
        add_group(g, e, s);
        most = fold_group_rose(g, CGROUP_cpu_throttled) > most ? fold_group_rose(g, CGROUP_cpu_throttled) : most;
        is_throttled |= g->cell[CGROUP_cpu_throttled].seen;
        all->throttled_fell |= g->cell[CGROUP_cpu_throttled].fell_now;
        if (!has_pressure && !e->absent[CGROUP_pressure_io_some]) {
            has_pressure = true;
            add_pressure(all, g);
        }
    }
    all->throttled_ns += most;
    if (is_throttled)
        all->throttled_absent = BARO_PRESENT;
    return true;
}

void fold_groups_done(struct fold_groups *all)
{
    free(all->at);
    *all = (struct fold_groups){0};
}
