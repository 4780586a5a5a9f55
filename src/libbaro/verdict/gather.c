/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/verdict/gather.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "libbaro/sample/limit.h"
#include "libbaro/sample/row.h"
#include "libbaro/sample/sample.h"
#include "libbaro/verdict/client.h"

void gather_init(struct gather *g)
{
    *g = (struct gather){0};
    g->contender.name = g->contender_name;
}

/* ---- processes ---- */

static double of_process(const struct baro_process *p, enum process_metric metric)
{
    return p->absent[metric] == BARO_PRESENT ? (double)p->value[metric] : NAN;
}

/* Returns the number of threads with which most of the switches happened. Example: 419 threads make 9,000 switches,
 * then 8 threads that fight for a lock make 80,000: the result is 8. */
static double switching_threads(struct gather *g, double threads, double switches)
{
    size_t i = 0, most = 0;
    while (i < g->n_switching && g->switching[i].threads != threads)
        i++;
    i = i < SWITCHING_MOST ? i : SWITCHING_MOST - 1;
    if (i == g->n_switching)
        g->switching[g->n_switching++] = (struct switching){.threads = threads};
    g->switching[i].switches += switches;
    for (size_t k = 1; k < g->n_switching; k++)
        most = g->switching[k].switches > g->switching[most].switches ? k : most;
    return g->switching[most].threads;
}

/* Finds the process that gave up its CPU most often, among those with several threads. */
static void compare_contender(struct gather *g, const struct baro_process *p)
{
    double threads = of_process(p, PROCESS_threads), switches = of_process(p, PROCESS_switches_voluntary),
           before = g->contender.switches;
    if (!(threads >= 2) || !(switches >= before))
        return;
    if (g->contender_id != p->id) {
        g->n_switching = 0;
        before = 0;
    }
    g->contender_id = p->id;
    snprintf(g->contender_name, sizeof(g->contender_name), "%s", p->name ? p->name : "");
    g->contender = (struct contender){g->contender_name,
                                      switching_threads(g, threads, switches - before),
                                      switches,
                                      of_process(p, PROCESS_cpu),
                                      of_process(p, PROCESS_io_rchar) + of_process(p, PROCESS_io_wchar),
                                      BARO_VALUE_LOWER_BOUND /* up to its last sample */};
}

/* ---- records ---- */

static void note_client(struct gather *g, const char *name, const char *cmdline)
{
    g->clients |= client_note(name, cmdline);
    g->servers |= client_note_server(name);
}

/* 125 to 127 of `docker run` and 255 of ssh: nothing was done. */
static void add_exit(struct gather *g, const struct baro_row *e)
{
    int status = 0;
    bool known = baro_row_status(e, &status) == BARO_PRESENT && WIFEXITED(status);
    int code = known ? WEXITSTATUS(status) : 0;
    failures_add(&g->failures, e);
    if (code != 255 && (code < 125 || code > 127))
        note_client(g, baro_row_name(e), row_exit(e)->cmdline);
}

static void note_limit(struct gather *g, const struct baro_event *e)
{
    struct limit_told *told = &g->limit;
    struct limit_reached l;
    struct buf use = {0}, limit = {0}, brief = {0};
    if (!limit_read(e, &l))
        return;
    bool ends = strcmp(l.action, "mark") != 0;
    if (l.is_kill)
        told->killed = (double)l.left;
    if (l.is_kill || (told->most > 0 && (told->ends || !ends)))
        return;
    limit_put_use(&l, LIMIT_HOLDERS, &use);
    limit_put_use(&l, 1, &brief);
    limit_put_limit(l.kind, l.most, &limit);
    snprintf(told->use, sizeof(told->use), "%.*s", (int)use.len, use.len ? (const char *)use.at : "");
    snprintf(told->brief, sizeof(told->brief), "%.*s", (int)brief.len, brief.len ? (const char *)brief.at : "");
    snprintf(told->limit, sizeof(told->limit), "%.*s", (int)limit.len, limit.len ? (const char *)limit.at : "");
    snprintf(told->name, sizeof(told->name), "%s", limit_name(l.kind));
    snprintf(told->action, sizeof(told->action), "%s", l.action);
    snprintf(told->by, sizeof(told->by), "%s", l.by);
    snprintf(told->largest, sizeof(told->largest), "%s", l.n_holders ? l.holder[0].name : "");
    told->value = (double)l.value;
    told->most = (double)l.most;
    told->t_ns = (double)l.t_ns;
    told->ends = ends;
    buf_done(&use);
    buf_done(&limit);
    buf_done(&brief);
}

/* One that a limit could not end has a reason. */
static void note_survivor(struct gather *g, const struct baro_event *e)
{
    struct baro_attribute why;
    note_client(g, baro_event_text(e), NULL);
    if (baro_event_attribute_find(e, ATTRIBUTE_REASON, &why) < 0 || why.type != BARO_ATTRIBUTE_TEXT ||
        g->limit.left++ > 0)
        return;
    snprintf(g->limit.left_name, sizeof(g->limit.left_name), "%s", baro_event_text(e));
    snprintf(g->limit.left_why, sizeof(g->limit.left_why), "%s", why.text);
}

/* Of a job the log names all at its end, of a machine each kill is an event; a name stands once. */
static void add_victims(struct gather *g, const char *names)
{
    size_t len = strlen(g->victims);
    if (!*names || strstr(g->victims, names) || len + strlen(names) + 3 > sizeof(g->victims))
        return;
    snprintf(g->victims + len, sizeof(g->victims) - len, "%s%s", len ? ", " : "", names);
}

/* Of a machine: "cc1 (pid 12) in /app, limit 150 MiB; as (pid 13)". */
static void add_kill(struct gather *g, const struct baro_event *e)
{
    struct baro_attribute group;
    struct buf text = {0};
    size_t len = strlen(g->kills);
    buf_str(&text, len ? "; " : "");
    event_put_victim(e, &text);
    buf_byte(&text, 0);
    if (!text.failed && len + text.len <= sizeof(g->kills))
        memcpy(g->kills + len, text.at, text.len);
    g->knows_group |= baro_event_attribute_find(e, ATTRIBUTE_OOM_GROUP, &group) == 0;
    buf_done(&text);
}

static void add_event(struct gather *g, const struct baro_event *e)
{
    struct baro_attribute names;
    switch (baro_event_kind_of(e)) {
    case BARO_EVENT_START:
        if (!g->started) {
            g->start_ns = baro_event_t_ns(e);
            g->failures.command = (struct failure_process){baro_event_pid(e), baro_event_start_ticks(e)};
        }
        g->started = true;
        break;
    case BARO_EVENT_END:
        g->ended = true;
        g->end_ns = baro_event_t_ns(e);
        break;
    case BARO_EVENT_SURVIVOR: note_survivor(g, e); break;
    case BARO_EVENT_LIMIT: note_limit(g, e); break;
    case BARO_EVENT_OOM:
        if (baro_event_attribute_find(e, "names", &names) == 0 && names.text)
            add_victims(g, names.text);
        if (baro_event_pid(e) > 0)
            add_kill(g, e);
        break;
    default: break;
    }
}

void gather_add(struct gather *g, const struct baro_record *record)
{
    if (record->kind == BARO_RECORD_EVENT)
        add_event(g, record->u.event);
    if (record->kind == BARO_RECORD_EXIT)
        add_exit(g, record->u.exit);
    if (record->kind == BARO_RECORD_SAMPLE) {
        const struct baro_sample *s = record->u.sample;
        for (size_t i = 0; (i = baro_sample_next_changed(s, i)) < s->n; i++)
            compare_contender(g, s->processes[i]);
        g->last_ns = record->t_ns;
    }
}

void gather_finish(const struct gather *g, struct evidence *ret)
{
    uint64_t end_ns = g->ended ? g->end_ns : g->last_ns;
    ret->is_running = !g->ended;
    ret->victims = g->victims;
    ret->kills = g->kills;
    ret->knows_group = g->knows_group;
    ret->clients = g->clients & ~g->servers;
    ret->limit = g->limit.most > 0 ? &g->limit : NULL;
    ret->failure = g->failures.has_failed ? &g->failures.of_command : NULL;
    ret->contender = g->contender;
    if (end_ns > g->start_ns)
        stretch_fill(&ret->job, ret->history, NULL, g->start_ns, end_ns);
}
