/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of a moment and its totals. */
#include "programs/baro-top/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "output/rows/row.h"

#define CLIMB_MOST 64 /* limits the search: on a damaged tape parents may form a circle */

static int grow_nodes(struct model *m, const struct instant *i, size_t n)
{
    size_t cap = m->cap, cap_order = m->cap;
    int code = array_reserve(&m->at, n, &cap, sizeof(*m->at));
    if (code == 0)
        code = array_reserve(&m->order, n, &cap_order, sizeof(*m->order));
    if (code == 0)
        m->cap = cap;
    if (code == 0)
        code = array_reserve(&m->row, n, &m->cap_rows, sizeof(*m->row));
    if (code == 0)
        code = array_reserve(&m->command, n + i->n_ended, &m->cap_commands, sizeof(*m->command));
    map_clear(&m->by_pid);
    map_clear(&m->by_name);
    map_clear(&m->by_ended_pid);
    map_clear(&m->by_id);
    bool has_maps = code == 0 && map_reserve(&m->by_pid, n) && map_reserve(&m->by_name, n + i->n_ended) &&
                    map_reserve(&m->by_ended_pid, i->n_ended) &&
                    map_reserve(&m->by_id, i->before ? baro_sample_rows(i->before, BARO_KIND_PROCESS) : 0);
    return has_maps ? 0 : -ENOMEM;
}

/* Stores the position of a pid or an id. There is room for all. 0 belongs to no process. */
static void put_place(struct map *m, uint32_t number, size_t place)
{
    if (number)
        map_set(m, number, place);
}

static size_t node_index(const struct map *m, uint32_t number)
{
    const uint64_t *place = number ? map_find(m, number) : NULL;
    return place ? (size_t)*place : MODEL_NONE;
}

/* Computes a rate; 0 if it is absent. Returns 0 or enum baro_absent. */
static int rate_of(const struct baro_interval *between, const struct baro_row *before, const struct baro_row *p,
                   int derived, double *ret)
{
    struct baro_use use = {0};
    int absent = baro_interval_derived(between, before, p, derived, &use);
    *ret = use.rate;
    return absent;
}

/* Has the process waited for a child since the previous sample? Then its I/O is not known: the kernel adds that of
 * the child to it, and does not report the two separately. */
static bool has_reaped(const struct baro_row *before, const struct baro_row *p, int children_faults)
{
    uint64_t had = 0, has = 0;
    int absent = baro_row_value(p, children_faults, &has);
    if (before && absent == BARO_PRESENT)
        absent = baro_row_value(before, children_faults, &had);
    return absent == BARO_PRESENT && has > had;
}

static void take_figures(struct node *node, const struct baro_interval *between, const struct baro_row *before,
                         const struct metrics *metric)
{
    const struct baro_row *p = node->process;
    struct process_sums *own = &node->own;
    enum { CPU, STATE, RSS, PSS, VALUES };
    const int ids[VALUES] = {metric->process.cpu, metric->process.state, metric->process.rss, metric->process.pss};
    uint64_t value[VALUES];
    uint8_t absent[VALUES];
    baro_row_values(p, ids, VALUES, value, absent);
    node->cpu_ns = value[CPU];
    own->rss = value[RSS];
    own->pss = value[PSS];
    node->rss_absent = absent[RSS];
    node->cores_absent = rate_of(between, before, p, metric->process.cores, &own->cores);
    node->read_absent = rate_of(between, before, p, metric->process.read_rate, &own->read);
    rate_of(between, before, p, metric->process.write_rate, &own->write);
    if (!node->read_absent && has_reaped(before, p, metric->process.children_faults)) {
        node->read_absent = BARO_ABSENT_UNKNOWN;
        own->read = own->write = 0;
    }
    own->cores_is_least = node->cores_absent != BARO_PRESENT;
    own->rss_is_least = node->rss_absent != BARO_PRESENT && value[STATE] != 'Z'; /* a zombie holds nothing */
}

static struct command_now *find_command(const struct model *m, const char *name, uint64_t key)
{
    for (uint64_t *i = map_find(&m->by_name, key); i; i = map_next(&m->by_name, key, i)) {
        if (strcmp(m->command[*i].name, name) == 0)
            return &m->command[*i];
    }
    return NULL;
}

static void add_to_command(struct model *m, const char *name, double cores, bool is_least, bool lives)
{
    /* Processes of one command often follow each other. */
    struct command_now *last = m->last_command == MODEL_NONE ? NULL : &m->command[m->last_command];
    bool is_last = last && strcmp(last->name, name) == 0;
    uint64_t key = is_last ? 0 : map_hash(name, strlen(name));
    struct command_now *c = is_last ? last : find_command(m, name, key);
    if (!c) {
        map_add(&m->by_name, key, m->n_commands);
        c = &m->command[m->n_commands++];
        *c = (struct command_now){.name = name};
    }
    m->last_command = (size_t)(c - m->command);
    c->cores += cores;
    c->is_least = c->is_least || is_least;
    c->living += lives;
}

/* Returns the row of a process in the previous sample; MODEL_NONE if it has none. Processes that stayed are in the
 * same order, so it is mostly the row behind the last one that was found. */
static size_t find_before(struct model *m, const struct baro_sample *before, uint32_t id, size_t *guess)
{
    if (!before)
        return MODEL_NONE;
    const struct baro_row *next = baro_sample_row(before, BARO_KIND_PROCESS, *guess);
    if (next && baro_row_id(next) == id)
        return (*guess)++;
    size_t n = m->has_by_id ? 0 : baro_sample_rows(before, BARO_KIND_PROCESS);
    for (size_t k = 0; k < n; k++)
        put_place(&m->by_id, baro_row_id(baro_sample_row(before, BARO_KIND_PROCESS, k)), k);
    m->has_by_id = true;
    size_t found = node_index(&m->by_id, id);
    if (found == MODEL_NONE)
        return MODEL_NONE;
    *guess = found + 1;
    return found;
}

const struct command_now *model_command(const struct model *m, const char *name)
{
    return find_command(m, name, map_hash(name, strlen(name)));
}

/* Adds a node. In a sample, parents come before their children. */
static void add_node(struct model *m, const struct instant *i, const struct metrics *metric, const struct baro_row *p,
                     size_t *guess)
{
    size_t at = m->n++, before = find_before(m, i->before, baro_row_id(p), guess);
    struct node *node = &m->at[at];
    *node =
        (struct node){.process = p, .id = baro_row_id(p), .parent = node_index(&m->by_pid, (uint32_t)baro_row_ppid(p))};
    const struct baro_row *earlier =
        before == MODEL_NONE ? NULL : baro_sample_row(i->before, BARO_KIND_PROCESS, before);
    take_figures(node, &m->between, earlier, metric);
    node->tree = node->own;
    put_place(&m->by_pid, (uint32_t)baro_row_pid(p), at);
    add_to_command(m, baro_row_name(p), node->own.cores, node->own.cores_is_least, true);
}

/* Returns the nearest living ancestor of a process that ended: its parent, or if that ended as well, the parent's
 * parent, and so on. */
static size_t living_above(const struct model *m, const struct instant *i, const struct baro_row *e)
{
    int32_t ppid = baro_row_ppid(e);
    for (int climbed = 0; climbed < CLIMB_MOST; climbed++) {
        size_t up = node_index(&m->by_pid, (uint32_t)ppid);
        if (up != MODEL_NONE)
            return up;
        size_t ended = node_index(&m->by_ended_pid, (uint32_t)ppid);
        if (ended == MODEL_NONE)
            break;
        ppid = baro_row_ppid(i->ended[ended]);
    }
    return MODEL_NONE;
}

/* Adds what processes used between the two samples before they ended to their nearest living ancestors. */
static void add_ended(struct model *m, const struct instant *i, const struct metrics *metric)
{
    size_t n = i->before ? i->n_ended : 0, nowhere = MODEL_NONE;
    for (size_t k = 0; k < n; k++)
        put_place(&m->by_ended_pid, (uint32_t)baro_row_pid(i->ended[k]), k);
    for (size_t k = 0; k < n; k++) {
        const struct baro_row *e = i->ended[k];
        size_t before = find_before(m, i->before, baro_row_id(e), &nowhere), up = living_above(m, i, e);
        const struct baro_row *earlier =
            before == MODEL_NONE ? NULL : baro_sample_row(i->before, BARO_KIND_PROCESS, before);
        struct baro_use use = {.is_lower_bound = true};
        baro_interval_derived(&m->between, earlier, e, metric->process.cores, &use); /* if it is absent, at least 0 */
        add_to_command(m, baro_row_name(e), use.rate, use.is_lower_bound, false);
        if (up == MODEL_NONE)
            continue;
        m->at[up].tree.cores += use.rate;
        m->at[up].tree.cores_is_least = m->at[up].tree.cores_is_least || use.is_lower_bound;
    }
}

static void add_up(struct model *m)
{
    for (size_t k = m->n; k-- > 0;) {
        const struct node *node = &m->at[k];
        if (node->parent == MODEL_NONE)
            continue;
        struct node *up = &m->at[node->parent];
        up->tree.cores += node->tree.cores;
        up->tree.read += node->tree.read;
        up->tree.write += node->tree.write;
        up->tree.rss += node->tree.rss;
        up->tree.pss += node->tree.pss;
        up->tree.cores_is_least = up->tree.cores_is_least || node->tree.cores_is_least;
        up->tree.rss_is_least = up->tree.rss_is_least || node->tree.rss_is_least;
        up->below += 1 + node->below;
    }
}

int model_read(struct model *m, const struct baro_header *header, const struct instant *i, const struct metrics *metric)
{
    size_t n = i->now ? baro_sample_rows(i->now, BARO_KIND_PROCESS) : 0, guess = 0;
    m->last_command = MODEL_NONE;
    m->has_by_id = false;
    m->n = m->n_rows = m->n_matches = m->n_commands = 0;
    int code = grow_nodes(m, i, n);
    if (code < 0)
        return code;
    m->between = (struct baro_interval){header, i->before, i->now};
    for (size_t k = 0; k < n; k++)
        add_node(m, i, metric, baro_sample_row(i->now, BARO_KIND_PROCESS, k), &guess);
    add_ended(m, i, metric);
    add_up(m);
    return 0;
}

void model_done(struct model *m)
{
    free(m->at);
    free(m->order);
    free(m->row);
    free(m->command);
    map_done(&m->by_pid);
    map_done(&m->by_id);
    map_done(&m->by_ended_pid);
    map_done(&m->by_name);
    *m = (struct model){0};
}

const char *model_task(const struct model *m, const struct baro_row *p)
{
    uint64_t id;
    const struct baro_sample *s = m->between.now;
    if (!s || baro_row_value(p, baro_metric_find(BARO_KIND_PROCESS, "task"), &id) != BARO_PRESENT)
        return "";
    const char *name = row_task_name(NULL, s, id);
    return name ? name : "";
}
