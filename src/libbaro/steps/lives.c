/* SPDX-License-Identifier: Apache-2.0 */
/* Records to lives. */
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/min_max.h"
#include "libbaro/sample/row.h"
#include "libbaro/sample/sample.h"
#include "libbaro/steps/steps.h"

static struct life *life_of(struct baro_steps *s, uint32_t id)
{
    const uint64_t *i = id ? map_find(&s->by_id, id) : NULL;
    if (i)
        return &s->life[*i];
    if (!id || s->n > STEPS_LIVES_MOST)
        return NULL;
    struct life *at = array_room(s->life, s->n, &s->room, sizeof(*at));
    s->life = at ? at : s->life;
    if (!at || !map_add(&s->by_id, id, s->n)) {
        s->failed = true;
        return NULL;
    }
    at[s->n] = (struct life){.name = NAMES_NONE, .cmdline = NAMES_NONE, .begin_ns = UINT64_MAX};
    return &at[s->n++];
}

/* Names of the last program: a shell that executes a compiler is a compiler. */
static void name_it(struct baro_steps *s, struct life *l, const char *name, const char *cmdline)
{
    const char *had = names_at(&s->names, l->name);
    if (name && *name && strcmp(had, name) != 0) {
        l->name = names_add(&s->names, name, strlen(name));
        l->cmdline = NAMES_NONE;
    }
    if (cmdline && *cmdline && strcmp(names_at(&s->names, l->cmdline), cmdline) != 0)
        l->cmdline = names_add(&s->names, cmdline, strlen(cmdline));
}

/* Keeps the first parent: the wrapper adopts orphans later. The kernel's start time is a tick; an event of the fork is
 * more exact. */
static void begin_life(struct baro_steps *s, struct life *l, struct baro_key key, struct baro_key parent,
                       enum baro_origin origin, uint64_t first_ns)
{
    if (!l->is.ppid) {
        l->is.ppid = parent.pid;
        l->is.parent_start = parent.start;
    }
    l->is.pid = key.pid;
    l->is.start = key.start;
    if (l->begin_ns != UINT64_MAX)
        return;
    l->begin_ns = derive_begin_ns(&s->ticks, key.start, first_ns);
    if (origin == BARO_ORIGIN_SCAN || origin == BARO_ORIGIN_ADOPTED)
        l->begin_error_ns = s->ticks.per_second ? NS_PER_SEC / s->ticks.per_second : 0;
}

static void add_bytes(struct life_io *io, int absent, uint64_t value, bool is_base)
{
    if (absent)
        return;
    io->base_bytes = is_base ? value : io->base_bytes;
    io->bytes = max_u64(io->bytes, excess(value, io->base_bytes));
    io->is_known = true;
}

/* The kernel adds the I/O of a child that was waited for to that of its parent, and does not report the two
 * separately. */
static void add_io(struct life *l, const struct baro_process *p, bool is_base)
{
    add_bytes(&l->read, p->absent[PROCESS_io_read], p->value[PROCESS_io_read], is_base);
    add_bytes(&l->write, p->absent[PROCESS_io_write], p->value[PROCESS_io_write], is_base);
    if (p->absent[PROCESS_children_faults_minor] != BARO_PRESENT || p->value[PROCESS_children_faults_minor]) {
        l->read.is_known = l->write.is_known = false;
        l->read.bytes = l->write.bytes = 0;
    }
}

static void add_living(struct baro_steps *s, const struct baro_process *p)
{
    struct life *l = life_of(s, p->id);
    if (!l)
        return;
    bool is_new = l->begin_ns == UINT64_MAX;
    bool has_begun_before = is_new && s->is_attached;
    begin_life(s, l, p->key, p->parent, p->origin, p->first_ns);
    name_it(s, l, p->name, p->cmdline_absent ? NULL : p->cmdline);
    if (p->absent[PROCESS_cpu] == BARO_PRESENT) {
        if (has_begun_before && l->begin_ns == 0)
            l->base_cpu_ns = p->value[PROCESS_cpu];
        l->cpu_ns = max_u64(l->cpu_ns, excess(p->value[PROCESS_cpu], l->base_cpu_ns));
        l->has_cpu = l->cpu_is_bound = true;
    }
    add_io(l, p, has_begun_before && l->begin_ns == 0);
    if (p->absent[PROCESS_run_delay] == BARO_PRESENT) {
        l->wait_ns = max_u64(l->wait_ns, p->value[PROCESS_run_delay]);
        l->has_wait = true;
    }
    const enum process_metric memory[] = {PROCESS_rss, PROCESS_rss_peak};
    for (int i = 0; i < 2; i++) {
        if (p->absent[memory[i]] == BARO_PRESENT) {
            l->rss_bytes = max_u64(l->rss_bytes, p->value[memory[i]]);
            l->has_rss = l->rss_is_bound = true;
        }
    }
}

/* How long before its record a process may have ended. Example: a scan at 3.0 s finds that it is gone, and the sample
 * at 2.8 s had it: up to 0.2 s. */
static uint64_t end_error(const struct baro_steps *s, const struct baro_exit *e)
{
    bool is_told = e->source != BARO_EXIT_LAST_SAMPLE &&
                   (e->source != BARO_EXIT_ZOMBIE || e->origin == BARO_ORIGIN_EVENT || e->origin == BARO_ORIGIN_TARGET);
    return is_told ? 0 : excess(e->t_ns, s->sampled_ns);
}

static void add_exit(struct baro_steps *s, const struct baro_exit *e)
{
    struct life *l = life_of(s, e->id);
    s->left_out += !l;
    if (!l)
        return;
    begin_life(s, l, e->key, e->parent, e->origin, e->t_ns);
    if (e->absent[EXIT_elapsed] == BARO_PRESENT)
        l->begin_ns = excess(e->t_ns, e->value[EXIT_elapsed]);
    name_it(s, l, e->name, e->cmdline);
    l->end_ns = e->t_ns;
    l->end_error_ns = end_error(s, e);
    l->has_ended = true;
    l->has_status = e->status_known;
    l->status = e->status;
    if (e->absent[EXIT_cpu] == BARO_PRESENT) {
        l->cpu_ns = max_u64(l->cpu_ns, e->value[EXIT_cpu]);
        l->has_cpu = true;
        l->cpu_is_bound = e->source == BARO_EXIT_LAST_SAMPLE || e->source == BARO_EXIT_EVENT;
    }
    if (e->absent[EXIT_run_delay] == BARO_PRESENT) {
        l->wait_ns = max_u64(l->wait_ns, e->value[EXIT_run_delay]);
        l->has_wait = true;
    }
    if (e->absent[EXIT_rss_peak] == BARO_PRESENT) {
        l->rss_bytes = max_u64(l->rss_bytes, e->value[EXIT_rss_peak]);
        l->has_rss = true;
        l->rss_is_bound = !e->absent[EXIT_rss_peak_is_lower_bound] && e->value[EXIT_rss_peak_is_lower_bound];
    }
    l->read.base_bytes = l->write.base_bytes = 0; /* the exit has what was used since the recording began */
    add_bytes(&l->read, e->absent[EXIT_own_io_read], e->value[EXIT_own_io_read], false);
    add_bytes(&l->write, e->absent[EXIT_own_io_write], e->value[EXIT_own_io_write], false);
    l->io_is_bound = e->absent[EXIT_own_io_is_lower_bound] != BARO_PRESENT || e->value[EXIT_own_io_is_lower_bound];
}

static void add_event(struct baro_steps *s, const struct baro_event *e)
{
    if (e->kind == BARO_EVENT_START && !s->has_started) {
        s->has_started = true;
        s->start_ns = e->t_ns;
    } else if (e->kind == BARO_EVENT_END) {
        s->has_ended = true;
        s->end_ns = e->t_ns;
        s->is_detached = strcmp(e->text, "detached") == 0;
    }
}

void steps_lives_add(struct baro_steps *s, const struct baro_record *r)
{
    s->last_ns = max_u64(s->last_ns, r->t_ns);
    if (r->kind == BARO_RECORD_EXIT)
        add_exit(s, row_exit(r->u.exit));
    if (r->kind == BARO_RECORD_EVENT)
        add_event(s, r->u.event);
    if (r->kind != BARO_RECORD_SAMPLE)
        return;
    const struct baro_sample *sample = r->u.sample;
    for (size_t i = baro_sample_next_changed(sample, 0); i < sample->n; i = baro_sample_next_changed(sample, i + 1))
        add_living(s, sample->processes[i]);
    s->sampled_ns = sample->t_ns;
}
