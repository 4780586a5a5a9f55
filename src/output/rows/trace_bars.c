/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes as bars in lanes. A bar is put into the first lane that is free at its beginning, so a compile of 10,000
 * processes, of which at most 8 live at once, takes about 8 lanes. Bars in one lane never overlap, as the format
 * requires of complete events of one row.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baro/interval.h"
#include "base/array.h"
#include "output/rows/csv_json.h"
#include "output/rows/trace_parts.h"

#define NO_LIFE SIZE_MAX

int trace_bars_init(struct trace_bars *b, const struct baro_tape *tape, struct baro_error *err)
{
    b->header = baro_tape_header(tape);
    int r = columns_choose(&b->exit, BARO_KIND_EXIT,
                           "pid,start_ticks,ppid,uid,cmdline,status,signal,source,cpu,cpu_user,cpu_system,run_delay,"
                           "rss_peak,io_read,io_write,io_is_lower_bound,faults_major",
                           tape, NULL, err);
    return r ? r
             : columns_choose(&b->process, BARO_KIND_PROCESS,
                              "pid,start_ticks,ppid,uid,cmdline,cpu,cpu_user,cpu_system,run_delay,rss_peak,"
                              "io_read,io_write,faults_major",
                              tape, NULL, err);
}

void trace_bars_done(struct trace_bars *b)
{
    columns_done(&b->process);
    columns_done(&b->exit);
    last_done(&b->where);
    free(b->life);
    free(b->free_ns);
}

/* ---- lanes ---- */

/* Returns the first lane that is free since begin_ns, or a new one. If out of memory, it is the last one. */
static uint32_t lane_of(struct trace_bars *b, uint64_t begin_ns, struct trace_out *o)
{
    char name[32];
    size_t i = 0;
    while (i < b->n_lanes && b->free_ns[i] > begin_ns)
        i++;
    if (i < b->n_lanes)
        return (uint32_t)i;
    if (array_reserve(&b->free_ns, i + 1, &b->cap_lanes, sizeof(*b->free_ns)) < 0) {
        o->to->failed = true;
        return i ? (uint32_t)i - 1 : 0;
    }
    b->free_ns[b->n_lanes++] = 0;
    snprintf(name, sizeof(name), "lane %zu", i + 1);
    trace_name(o, GROUP_PROCESSES, ROW_LANES + (unsigned)i, name, (unsigned)i);
    return (uint32_t)i;
}

static void set_free(struct trace_bars *b, uint32_t lane, uint64_t since_ns)
{
    if (lane < b->n_lanes)
        b->free_ns[lane] = since_ns;
}

/* ---- who lives ---- */

static size_t find_life(const struct trace_bars *b, uint32_t id)
{
    const struct last *l = last_find(&b->where, id);
    return l && l->value < b->n && b->life[l->value].id == id ? (size_t)l->value : NO_LIFE;
}

static bool place_bar(struct trace_bars *b, uint32_t id, size_t at, uint64_t now_ns)
{
    bool added;
    /* Those that have ended are dropped when the table is full: an entry that lives is touched by every sample. */
    struct last *l = last_get(&b->where, id, now_ns, &added);
    if (l)
        *l = (struct last){id, UINT64_MAX, at};
    return l != NULL;
}

static void forget_life(struct trace_bars *b, size_t i, uint64_t free_ns)
{
    struct last *gone = last_find(&b->where, b->life[i].id);
    if (gone)
        gone->t_ns = 0;
    set_free(b, b->life[i].lane, free_ns);
    b->life[i] = b->life[--b->n];
    struct last *moved = i < b->n ? last_find(&b->where, b->life[i].id) : NULL;
    if (moved)
        moved->value = i;
}

static void begin_life(struct trace_bars *b, const struct baro_row *p, uint64_t now_ns, struct trace_out *o)
{
    if (array_reserve(&b->life, b->n + 1, &b->cap, sizeof(*b->life)) < 0) {
        o->to->failed = true;
        return;
    }
    struct trace_life *l = &b->life[b->n];
    *l = (struct trace_life){.id = baro_row_id(p), .seen_ns = now_ns};
    baro_row_begin_ns(b->header, p, &l->begin_ns);
    l->lane = lane_of(b, l->begin_ns, o);
    set_free(b, l->lane, UINT64_MAX);
    if (!place_bar(b, l->id, b->n, 1))
        o->to->failed = true;
    b->n++;
}

/* ---- bars ---- */

static void open_bar(struct trace_out *o, const char *name, uint32_t lane, uint64_t begin_ns, uint64_t end_ns)
{
    trace_open(o, "X", GROUP_PROCESSES, ROW_LANES + lane, *name ? name : "(name not known)");
    json_key_text(&o->json, "cat", "process");
    trace_time(o, "ts", begin_ns);
    trace_time(o, "dur", end_ns > begin_ns ? end_ns - begin_ns : 0);
    json_key(&o->json, "args");
}

/* The process has no exit on the tape, and is not in the last sample: that part of the tape is damaged, or not
 * written yet. */
static void lost(struct trace_bars *b, size_t i, struct trace_out *o)
{
    const struct trace_life *l = &b->life[i];
    open_bar(o, l->name, l->lane, l->begin_ns, l->seen_ns);
    json_begin(&o->json, '{');
    json_key(&o->json, "source");
    json_null(&o->json);
    json_end(&o->json, '}');
    trace_close(o);
    forget_life(b, i, l->seen_ns);
}

static void note_values(struct trace_life *l, const struct baro_row *p, uint64_t now_ns)
{
    const char *name = baro_row_name(p);
    size_t n = strnlen(name, sizeof(l->name) - 1);
    memcpy(l->name, name, n);
    l->name[n] = 0;
    l->seen_ns = now_ns;
}

void trace_bars_sample(struct trace_bars *b, const struct baro_sample *s, struct trace_out *o)
{
    size_t n = baro_sample_rows(s, BARO_KIND_PROCESS);
    for (size_t i = baro_sample_next_changed(s, 0); i < n; i = baro_sample_next_changed(s, i + 1)) {
        const struct baro_row *p = baro_sample_row(s, BARO_KIND_PROCESS, i);
        if (find_life(b, baro_row_id(p)) == NO_LIFE)
            begin_life(b, p, baro_sample_t_ns(s), o);
        size_t at = find_life(b, baro_row_id(p));
        if (at != NO_LIFE)
            note_values(&b->life[at], p, baro_sample_t_ns(s));
    }
}

void trace_bars_exit(struct trace_bars *b, const struct baro_row *e, struct trace_out *o)
{
    uint64_t end_ns = 0, elapsed_ns;
    baro_row_end_ns(e, &end_ns);
    uint64_t begin_ns = end_ns;
    size_t at = find_life(b, baro_row_id(e));
    uint32_t lane;
    if (at != NO_LIFE) {
        begin_ns = b->life[at].begin_ns;
        lane = b->life[at].lane;
        forget_life(b, at, end_ns);
    } else {
        int metric = baro_metric_find(BARO_KIND_EXIT, "elapsed");
        if (baro_row_value(e, metric, &elapsed_ns) == BARO_PRESENT)
            begin_ns = end_ns > elapsed_ns ? end_ns - elapsed_ns : 0;
        lane = lane_of(b, begin_ns, o);
        set_free(b, lane, end_ns);
    }
    struct output_row row = {.kind = BARO_KIND_EXIT, .header = b->header, .t_ns = end_ns, .exit = e};
    open_bar(o, baro_row_name(e), lane, begin_ns, end_ns);
    json_row(&b->exit, &row, &o->json);
    trace_close(o);
}

void trace_bars_end(struct trace_bars *b, const struct baro_sample *last, struct trace_out *o)
{
    for (size_t i = 0; last && i < baro_sample_rows(last, BARO_KIND_PROCESS); i++) {
        const struct baro_row *p = baro_sample_row(last, BARO_KIND_PROCESS, i);
        size_t at = find_life(b, baro_row_id(p));
        if (at == NO_LIFE)
            continue;
        uint64_t end_ns = baro_sample_t_ns(last);
        struct output_row row = {
            .kind = BARO_KIND_PROCESS, .header = b->header, .t_ns = end_ns, .sample = last, .process = p};
        open_bar(o, baro_row_name(p), b->life[at].lane, b->life[at].begin_ns, end_ns);
        json_row(&b->process, &row, &o->json);
        trace_close(o);
        forget_life(b, at, end_ns);
    }
    while (b->n)
        lost(b, b->n - 1, o);
}
