/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of a moment and its totals. */
#include "top/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CLIMB_MOST 64 /* a tape may say anything: no circle of parents holds us up */

static int reserve(void *at, size_t *cap, size_t n, size_t size)
{
    void **list = at;
    if (n <= *cap)
        return 0;
    size_t more = n + n / 4 + 64;
    void *grown = realloc(*list, more * size);
    if (!grown)
        return -ENOMEM;
    *list = grown;
    *cap = more;
    return 0;
}

static int make_room(struct model *m, const struct instant *i, size_t n)
{
    size_t cap = m->cap, cap_order = m->cap, cap_spare = m->cap;
    int code = reserve(&m->at, &cap, n, sizeof(*m->at));
    if (code == 0)
        code = reserve(&m->order, &cap_order, n, sizeof(*m->order));
    if (code == 0)
        code = reserve(&m->spare, &cap_spare, n, sizeof(*m->spare));
    if (code == 0)
        m->cap = cap;
    if (code == 0)
        code = reserve(&m->row, &m->cap_rows, n, sizeof(*m->row));
    if (code == 0)
        code = reserve(&m->command, &m->cap_commands, n + i->n_ended, sizeof(*m->command));
    if (code == 0)
        code = map_reset(&m->by_pid, n);
    if (code == 0)
        code = map_reset(&m->by_name, n + i->n_ended);
    if (code == 0)
        code = map_reset(&m->by_ended_pid, i->n_ended);
    return code == 0 ? map_reset(&m->by_id, i->before ? baro_sample_count(i->before) : 0) : code;
}

/*
 * A process that began after the sample before has used all of its CPU time since then. Example: samples at 1 and 2 s,
 * a compiler forked at 1.7 s that has used 0.2 s by then: 0.2 cores over that second.
 */
static bool is_new(const struct baro_process *p, const struct baro_sample *before)
{
    bool was_found = baro_process_origin(p) == BARO_ORIGIN_TARGET; /* it may have run before that */
    return before && !was_found && baro_process_first_ns(p) > baro_sample_t_ns(before);
}

static void take_figures(struct node *node, const struct baro_sample *earlier, const struct baro_process *before,
                         uint64_t over_ns, const struct metrics *metric)
{
    const struct baro_process *p = node->process;
    struct figures *own = &node->own;
    enum { CPU, IO_READ, STATE, RSS, PSS, VALUES };
    const int ids[VALUES] = {metric->process.cpu, metric->process.io_read, metric->process.state, metric->process.rss,
                             metric->process.pss};
    uint64_t value[VALUES];
    uint8_t absent[VALUES];
    baro_process_values(p, ids, VALUES, value, absent);
    node->cpu_ns = value[CPU];
    own->rss = value[RSS];
    own->pss = value[PSS];
    node->rss_absent = absent[RSS];
    node->cores_absent = node->read_absent = BARO_ABSENT_NOT_YET;
    if (before && baro_process_read_ns(before) == baro_process_read_ns(p)) {
        node->cores_absent = absent[CPU]; /* it did not run, and so was not read again: all rates are 0 */
        node->read_absent = absent[IO_READ];
    } else if (before) {
        baro_process_derived(before, p, metric->process.write_rate, &own->write); /* absent: it stays 0 */
        node->cores_absent = baro_process_derived(before, p, metric->process.cores, &own->cores);
        node->read_absent = baro_process_derived(before, p, metric->process.read_rate, &own->read);
    } else if (absent[CPU] == BARO_PRESENT && over_ns && is_new(p, earlier)) {
        own->cores = (double)node->cpu_ns / (double)over_ns;
        node->cores_absent = BARO_PRESENT;
    }
    own->cores_is_least = node->cores_absent != BARO_PRESENT;
    own->rss_is_least = node->rss_absent != BARO_PRESENT && value[STATE] != 'Z'; /* a zombie holds nothing */
}

static uint32_t hash_of(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h ? h : 1;
}

/* Names with the same hash are told apart by trying the next number. */
static struct command_now *command_slot(const struct model *m, const char *name, uint32_t *ret_key)
{
    uint32_t key = hash_of(name);
    for (;; key = key + 1 ? key + 1 : 1) {
        size_t i = map_get(&m->by_name, key);
        *ret_key = key;
        if (i == MAP_NONE)
            return NULL;
        if (strcmp(m->command[i].name, name) == 0)
            return &m->command[i];
    }
}

static void add_to_command(struct model *m, const char *name, double cores, bool is_least, bool lives)
{
    uint32_t key;
    /* Processes of one command often follow each other. */
    struct command_now *last = m->last_command == MODEL_NONE ? NULL : &m->command[m->last_command];
    struct command_now *c = last && strcmp(last->name, name) == 0 ? last : command_slot(m, name, &key);
    if (!c) {
        map_put(&m->by_name, key, m->n_commands);
        c = &m->command[m->n_commands++];
        *c = (struct command_now){.name = name};
    }
    m->last_command = (size_t)(c - m->command);
    c->cores += cores;
    c->is_least = c->is_least || is_least;
    c->living += lives;
}

/* Where the process stood in the sample before; MODEL_NONE: it was not there. Those that stayed are in the same order,
 * so it mostly is the one behind the last that was found. */
static size_t find_before(struct model *m, const struct baro_sample *before, uint32_t id, size_t *guess)
{
    if (!before)
        return MODEL_NONE;
    const struct baro_process *next = baro_sample_process(before, *guess);
    if (next && baro_process_id(next) == id)
        return (*guess)++;
    size_t n = m->has_by_id ? 0 : baro_sample_count(before);
    for (size_t k = 0; k < n; k++)
        map_put(&m->by_id, baro_process_id(baro_sample_process(before, k)), k);
    m->has_by_id = true;
    size_t found = map_get(&m->by_id, id);
    if (found == MAP_NONE)
        return MODEL_NONE;
    *guess = found + 1;
    return found;
}

const struct command_now *model_command(const struct model *m, const char *name)
{
    uint32_t key;
    return command_slot(m, name, &key);
}

/* Parents stand before their children in a sample. */
static void add_node(struct model *m, const struct instant *i, const struct metrics *metric,
                     const struct baro_process *p, size_t *guess)
{
    size_t at = m->n++, before = find_before(m, i->before, baro_process_id(p), guess);
    struct node *node = &m->at[at];
    *node = (struct node){.process = p, .id = baro_process_id(p), .first = MODEL_NONE, .last = MODEL_NONE,
                          .next = MODEL_NONE, .parent = map_get(&m->by_pid, (uint32_t)baro_process_ppid(p))};
    const struct baro_process *earlier = before == MODEL_NONE ? NULL : baro_sample_process(i->before, before);
    take_figures(node, i->before, earlier, m->rates_over_ns, metric);
    node->tree = node->own;
    map_put(&m->by_pid, (uint32_t)baro_process_pid(p), at);
    add_to_command(m, baro_process_name(p), node->own.cores, node->own.cores_is_least, true);
    if (node->parent == MODEL_NONE)
        return;
    struct node *up = &m->at[node->parent];
    if (up->first == MODEL_NONE)
        up->first = at;
    else
        m->at[up->last].next = at;
    up->last = at;
}

/* What processes used between the two samples before they ended belongs to the living ones above them. */
static void add_ended(struct model *m, const struct instant *i, const struct metrics *metric)
{
    for (size_t k = 0; k < i->n_ended; k++)
        map_put(&m->by_ended_pid, (uint32_t)i->ended[k].pid, k);
    for (size_t k = 0; k < i->n_ended && m->rates_over_ns; k++) {
        const struct ended *e = &i->ended[k];
        size_t nowhere = MODEL_NONE, before = find_before(m, i->before, e->id, &nowhere), up;
        uint64_t had_ns = 0;
        if (before != MODEL_NONE)
            baro_process_value(baro_sample_process(i->before, before), metric->process.cpu, &had_ns);
        double cores = e->cpu_ns > had_ns ? (double)(e->cpu_ns - had_ns) / (double)m->rates_over_ns : 0;
        add_to_command(m, e->name, cores, e->is_least, false);
        int32_t ppid = e->ppid;
        for (int climbed = 0; climbed < CLIMB_MOST; climbed++) {
            up = map_get(&m->by_pid, (uint32_t)ppid);
            size_t ended = up == MAP_NONE ? map_get(&m->by_ended_pid, (uint32_t)ppid) : MAP_NONE;
            if (ended == MAP_NONE)
                break;
            ppid = i->ended[ended].ppid;
        }
        up = map_get(&m->by_pid, (uint32_t)ppid);
        if (up == MAP_NONE)
            continue;
        m->at[up].tree.cores += cores;
        m->at[up].tree.cores_is_least = m->at[up].tree.cores_is_least || e->is_least;
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

int model_read(struct model *m, const struct instant *i, const struct metrics *metric)
{
    size_t n = i->now ? baro_sample_count(i->now) : 0, guess = 0;
    m->last_command = MODEL_NONE;
    m->has_by_id = false;
    m->n = m->n_rows = m->n_matches = m->n_commands = 0;
    int code = make_room(m, i, n);
    if (code < 0)
        return code;
    m->rates_over_ns = i->before && i->now ? baro_sample_t_ns(i->now) - baro_sample_t_ns(i->before) : 0;
    for (size_t k = 0; k < n; k++)
        add_node(m, i, metric, baro_sample_process(i->now, k), &guess);
    add_ended(m, i, metric);
    add_up(m);
    return 0;
}

void model_done(struct model *m)
{
    free(m->at);
    free(m->order);
    free(m->spare);
    free(m->row);
    free(m->command);
    map_done(&m->by_pid);
    map_done(&m->by_id);
    map_done(&m->by_ended_pid);
    map_done(&m->by_name);
    *m = (struct model){0};
}
