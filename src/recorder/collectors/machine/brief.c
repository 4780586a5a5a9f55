/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/machine/brief.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/min_max.h"

#define BRIEF_LIFE (100 * NS_PER_MS)
#define BRIEF_CPU (10 * NS_PER_MS)
#define LEAVES_AFTER (60 * NS_PER_SEC)
#define BRIEFS_MOST 1024u /* names can be different each time: then the later ones are one entity */

static const struct {
    enum exit_metric exit;
    enum brief_metric brief;
} sums[] = {
    {EXIT_cpu, BRIEF_cpu},
    {EXIT_cpu_user, BRIEF_cpu_user},
    {EXIT_cpu_system, BRIEF_cpu_system},
    {EXIT_elapsed, BRIEF_elapsed},
    {EXIT_run_delay, BRIEF_run_delay},
    {EXIT_own_io_read, BRIEF_io_read},
    {EXIT_own_io_write, BRIEF_io_write},
    {EXIT_own_io_rchar, BRIEF_io_rchar},
    {EXIT_own_io_wchar, BRIEF_io_wchar},
    {EXIT_faults_minor, BRIEF_faults_minor},
    {EXIT_faults_major, BRIEF_faults_major},
};

/* One that a sample has, or that a signal ended, has a record. */
static bool is_brief(const struct baro_exit *e)
{
    return !e->absent[EXIT_elapsed] && e->value[EXIT_elapsed] < BRIEF_LIFE &&
           (e->absent[EXIT_cpu] || e->value[EXIT_cpu] < BRIEF_CPU) && !e->sampled &&
           !(e->status_known && WIFSIGNALED(e->status));
}

static struct baro_entity *find(const struct brief *b, uint64_t key, const char *name, const char *parent,
                                const struct baro_exit *e, size_t *ret)
{
    for (uint64_t *i = map_find(&b->by_key, key); i; i = map_next(&b->by_key, key, i)) {
        struct baro_entity *x = b->table.at[*i];
        bool same_group = x->absent[BRIEF_cgroup] == e->absent[EXIT_cgroup] &&
                          (e->absent[EXIT_cgroup] || x->value[BRIEF_cgroup] == e->value[EXIT_cgroup]);
        *ret = *i;
        if (same_group && x->value[BRIEF_uid] == e->uid && strcmp(x->name, name) == 0 && strcmp(x->label, parent) == 0)
            return x;
    }
    return NULL;
}

static uint64_t key_of(const char *name, const char *parent, const struct baro_exit *e)
{
    const uint64_t of[] = {map_hash(name, strlen(name)), map_hash(parent, strlen(parent)), e->value[EXIT_cgroup],
                           e->uid};
    return map_hash(of, sizeof(of));
}

static struct baro_entity *take(struct brief *b, const char *name, const char *parent, const struct baro_exit *e,
                                size_t *ret)
{
    uint64_t key = key_of(name, parent, e);
    struct baro_entity *x = find(b, key, name, parent, e, ret);
    if (x || array_reserve(&b->at, b->n + 1, &b->cap, sizeof(*b->at)) < 0 || !map_add(&b->by_key, key, b->n))
        return x;
    x = entity_add(&b->table, &b->sampling->entity_ids, name, parent);
    if (!x)
        return NULL;
    for (int i = 0; i < BRIEF_MAX; i++)
        entity_put(x, i, 0);
    entity_put(x, BRIEF_uid, e->uid);
    if (e->absent[EXIT_cgroup])
        entity_lack(x, BRIEF_cgroup, (enum baro_absent)e->absent[EXIT_cgroup]);
    else
        entity_put(x, BRIEF_cgroup, e->value[EXIT_cgroup]);
    *ret = b->n;
    b->at[b->n++] = (struct brief_of){.key = key};
    return x;
}

bool brief_takes(struct brief *b, const struct baro_exit *e)
{
    size_t at;
    if (!b->sampling || !is_brief(e))
        return false;
    bool is_full = b->n >= BRIEFS_MOST;
    struct baro_entity *x =
        take(b, is_full ? "(other)" : e->name, is_full || !e->parent_name ? "" : e->parent_name, e, &at);
    if (!x)
        return false;
    x->value[BRIEF_processes]++;
    for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++)
        x->value[sums[i].brief] += e->absent[sums[i].exit] ? 0 : e->value[sums[i].exit];
    x->value[BRIEF_unread] += e->absent[EXIT_cpu] != BARO_PRESENT;
    x->value[BRIEF_failed] += e->status_known && e->status;
    if (!e->absent[EXIT_rss_peak])
        x->value[BRIEF_rss_peak] = max_u64(x->value[BRIEF_rss_peak], e->value[EXIT_rss_peak]);
    b->at[at].ended_ns = b->sampling->now_ns;
    b->at[at].is_new = true;
    return true;
}

/* What no sample has yet stays, however long ago it ended: samples may be minutes apart. */
static void sweep(struct brief *b, uint64_t now_ns)
{
    size_t n = 0;
    if (now_ns < b->swept_ns + LEAVES_AFTER / 2)
        return;
    b->swept_ns = now_ns;
    for (size_t i = 0; i < b->n; i++) {
        if (!b->at[i].is_new && now_ns >= b->at[i].ended_ns + LEAVES_AFTER) {
            entity_remove(&b->table, b->table.at[n]);
            continue;
        }
        b->at[n++] = b->at[i];
    }
    if (n == b->n)
        return;
    b->n = n;
    map_clear(&b->by_key);
    for (size_t i = 0; i < n; i++)
        map_add(&b->by_key, b->at[i].key, i); /* there is room */
}

void brief_fill(struct brief *b, struct baro_sample *ret)
{
    sweep(b, b->sampling->now_ns);
    for (size_t i = 0; i < b->n; i++)
        b->at[i].is_new = false;
    ret->entities[KIND_brief] = entity_view(&b->table);
    ret->entities[KIND_brief].read_ns = b->sampling->now_ns;
}

void brief_init(struct brief *b, struct sampling *sampling)
{
    *b = (struct brief){.sampling = sampling, .table = {.kind = KIND_brief}};
}

void brief_done(struct brief *b)
{
    entity_table_done(&b->table);
    map_done(&b->by_key);
    free(b->at);
    *b = (struct brief){0};
}
