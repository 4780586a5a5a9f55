/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brief lives of a machine (brief.def): each sample has their sums so far, and what they have grown by belongs to their
 * command. An entity that is new counts from 0: it is left out of samples where nothing ends for a minute, and another
 * one follows it then. Example: `true` with 40 processes, then 90, is left out, and is back with 30: 120 of them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "libbaro/summary/summary.h"

static const struct {
    enum brief_metric brief;
    enum command_value command;
} sums[] = {
    {BRIEF_cpu, COMMAND_CPU},         {BRIEF_cpu_user, COMMAND_CPU_USER}, {BRIEF_cpu_system, COMMAND_CPU_SYSTEM},
    {BRIEF_io_read, COMMAND_IO_READ}, {BRIEF_io_write, COMMAND_IO_WRITE},
};

static struct summary_brief *last_of(struct summary_briefs *b, uint32_t id)
{
    uint64_t *i = map_find(&b->by_id, id);
    if (i)
        return &b->at[*i];
    if (array_reserve(&b->at, b->n + 1, &b->cap, sizeof(*b->at)) < 0 || !map_add(&b->by_id, id, b->n))
        return NULL;
    b->at[b->n] = (struct summary_brief){0};
    return &b->at[b->n++];
}

static uint64_t grown(const struct baro_entity *e, struct summary_brief *last, enum brief_metric id)
{
    uint64_t before = last->value[id], now = e->absent[id] ? before : e->value[id];
    last->value[id] = now;
    return now > before ? now - before : 0;
}

static void add_growth(struct command *c, const struct baro_entity *e, struct summary_brief *last)
{
    uint64_t n = grown(e, last, BRIEF_processes), unread = grown(e, last, BRIEF_unread);
    uint64_t known = n > unread ? n - unread : 0;
    c->processes += n;
    for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++) {
        c->value[sums[i].command] += grown(e, last, sums[i].brief);
        c->covered[sums[i].command] += known;
    }
    c->absent[COMMAND_TCP_SENT] = c->absent[COMMAND_TCP_RECEIVED] = BARO_ABSENT_NOT_ASKED;
    c->covered[COMMAND_RSS_PEAK] += known;
    c->teardown_ns += n * TEARDOWN_NS;
    if (n && e->value[BRIEF_rss_peak] > c->value[COMMAND_RSS_PEAK])
        c->value[COMMAND_RSS_PEAK] = e->value[BRIEF_rss_peak];
}

/* base: what had been counted before the tape, or what is left of it, began. */
bool briefs_add(struct summary_briefs *b, struct commands *commands, const struct baro_sample *s, bool base)
{
    const struct baro_entities *of = &s->entities[KIND_brief];
    bool ok = true;
    for (size_t i = 0; i < of->n; i++) {
        const struct baro_entity *e = of->at[i];
        struct summary_brief *last = last_of(b, e->id);
        ok &= last != NULL;
        if (last && base) {
            memcpy(last->value, e->value, sizeof(last->value));
        } else if (last) {
            uint32_t command = commands_find(commands, e->name); /* may move the table */
            add_growth(&commands->at[command], e, last);
        }
    }
    return ok;
}

void briefs_begin_part(struct summary_briefs *b)
{
    map_clear(&b->by_id);
    b->n = 0;
}

void briefs_done(struct summary_briefs *b)
{
    map_done(&b->by_id);
    free(b->at);
}
