/* SPDX-License-Identifier: Apache-2.0 */
/* The data of the page's script, as JSON: the curves of the charts, processes, and the tree at some moments. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/page/parts.h"
#include "output/text/summary_text.h"

#define PROCESSES_MOST 20000u
#define CMDLINES_MOST 1500000u /* bytes of command lines; further ones are left out */

struct chosen {
    uint32_t *index; /* by life: its number on the page; LIFE_NONE: not there */
    uint32_t *life;  /* the other way */
    uint32_t n;
};

static void choose_life(struct chosen *c, uint32_t life)
{
    if (c->index[life] != LIFE_NONE || c->n == PROCESSES_MOST)
        return;
    c->index[life] = c->n;
    c->life[c->n++] = life;
}

struct heavy {
    uint64_t v;
    uint32_t i;
};

static int compare_heavy(const void *a, const void *b)
{
    const struct heavy *x = a, *y = b;
    return x->v != y->v ? (x->v < y->v ? 1 : -1) : (x->i > y->i) - (x->i < y->i);
}

/* Chooses the processes that the page has: first those in moments, because trees need them, then those with the most
 * CPU time. */
static int choose_processes(const struct page *p, struct chosen *c)
{
    const struct lives *l = &p->lives;
    struct heavy *heavy = malloc(((size_t)l->n + 1) * sizeof *heavy);
    c->index = malloc(((size_t)l->n + 1) * sizeof *c->index);
    c->life = malloc(((size_t)PROCESSES_MOST + 1) * sizeof *c->life);
    if (!heavy || !c->index || !c->life) {
        free(heavy);
        return -ENOMEM;
    }
    memset(c->index, 0xff, ((size_t)l->n + 1) * sizeof *c->index);
    for (uint32_t i = 0; l->n > PROCESSES_MOST && i < p->moments.n; i++) {
        for (uint32_t k = 0; k < p->moments.at[i].n; k++)
            choose_life(c, p->moments.at[i].row[k].life);
    }
    for (uint32_t i = 0; i < l->n; i++)
        heavy[i] = (struct heavy){l->at[i].cpu_ns, i};
    if (l->n > PROCESSES_MOST)
        qsort(heavy, l->n, sizeof *heavy, compare_heavy);
    for (uint32_t i = 0; i < l->n; i++)
        choose_life(c, heavy[i].i);
    free(heavy);
    return 0;
}

typedef void put_function(const struct page *p, const struct chosen *c, const struct life *life, struct json *j);

#define PUT(name, code)                                                                                                \
    static void put_##name(const struct page *p, const struct chosen *c, const struct life *life, struct json *j)      \
    {                                                                                                                  \
        (void)p;                                                                                                       \
        (void)c;                                                                                                       \
        code;                                                                                                          \
    }
PUT(pid, json_i64(j, life->pid))
PUT(name, json_u64(j, life->name))
PUT(parent,
    json_i64(j,
             life->parent == LIFE_NONE || c->index[life->parent] == LIFE_NONE ? -1 : (int64_t)c->index[life->parent]))
PUT(begin, json_u64(j, life->begin_ns))
PUT(lived, json_u64(j, life->end_ns - life->begin_ns))
PUT(cpu, json_u64_or_null(j, life->has &LIFE_CPU, life->cpu_ns))
PUT(rss, json_u64_or_null(j, life->has &LIFE_RSS, life->rss_peak_bytes))
PUT(rss_is_bound, json_bool(j, life->has &LIFE_RSS_IS_BOUND))
PUT(io_is_bound, json_bool(j, life->has &LIFE_IO_IS_BOUND))
PUT(read, json_u64_or_null(j, life->has &LIFE_READ, life->read_bytes))
PUT(write, json_u64_or_null(j, life->has &LIFE_WRITE, life->write_bytes))
/* -1: ended, status not known; null: has not ended */
PUT(status, life->has &LIFE_STATUS ? json_i64(j, life->status) : life->has &LIFE_ENDED ? json_i64(j, -1) : json_null(j))

static void column(const struct page *p, const struct chosen *c, struct json *j, const char *name, put_function *put)
{
    json_key_begin(j, name, '[');
    for (uint32_t i = 0; i < c->n; i++)
        put(p, c, &p->lives.at[c->life[i]], j);
    json_end(j, ']');
}

static void put_names(const struct page *p, struct json *j)
{
    json_key_begin(j, "names", '[');
    size_t bytes = 0;
    for (uint32_t i = 0; i < p->lives.names.n; i++) {
        const char *text = names_at(&p->lives.names, i);
        size_t n = strnlen(text, PAGE_CMDLINE_MOST);
        bytes += n;
        json_text_n(j, text, bytes < CMDLINES_MOST ? n : 0);
    }
    json_end(j, ']');
}

static void put_statuses(const struct page *p, const struct chosen *c, struct json *j)
{
    int32_t seen[64];
    size_t n = 0;
    json_key_begin(j, "statuses", '{');
    for (uint32_t i = 0; i < c->n && n < 64; i++) {
        const struct life *life = &p->lives.at[c->life[i]];
        size_t k = 0;
        while (k < n && seen[k] != life->status)
            k++;
        if (!(life->has & LIFE_STATUS) || k < n)
            continue;
        struct buf text = {0};
        char key[16];
        report_status(life->status, &text);
        buf_byte(&text, 0);
        snprintf(key, sizeof key, "%d", life->status);
        json_key_text(j, key, text.failed ? "" : (const char *)text.at);
        buf_done(&text);
        seen[n++] = life->status;
    }
    json_end(j, '}');
}

static void put_processes(const struct page *p, const struct chosen *c, struct json *j)
{
    json_key_begin(j, "processes", '{');
    column(p, c, j, "pid", put_pid);
    column(p, c, j, "name", put_name);
    column(p, c, j, "parent", put_parent);
    column(p, c, j, "begin_ns", put_begin);
    column(p, c, j, "lived_ns", put_lived);
    column(p, c, j, "cpu_ns", put_cpu);
    column(p, c, j, "rss_peak_bytes", put_rss);
    column(p, c, j, "rss_peak_is_lower_bound", put_rss_is_bound);
    column(p, c, j, "io_read_bytes", put_read);
    column(p, c, j, "io_write_bytes", put_write);
    column(p, c, j, "io_is_lower_bound", put_io_is_bound);
    column(p, c, j, "status", put_status);
    json_key_begin(j, "cmdline", '[');
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t cmdline = p->lives.at[c->life[i]].cmdline;
        json_u64_or_null(j, cmdline != NAMES_NONE, cmdline);
    }
    json_end(j, ']');
    json_key_begin(j, "label", '[');
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t label = p->lives.at[c->life[i]].label;
        json_u64_or_null(j, label != NAMES_NONE, label);
    }
    json_end(j, ']');
    json_key_u64(j, "all", p->lives.n + p->lives.left_out);
    json_end(j, '}');
}

static void put_moment(const struct sample_rows *m, const struct chosen *c, struct json *j)
{
    json_begin(j, '{');
    json_key_u64(j, "t_ns", m->t_ns);
    json_key_bool(j, "rss_is_lower_bound", m->rss_is_bound);
    json_key_begin(j, "more", '[');
    json_u64(j, m->more);
    json_u64(j, m->more_rss_bytes);
    json_u64(j, m->more_millicores);
    json_end(j, ']');
    json_key(j, "p"); /* triples of process, resident kB, thousandths of a core */
    json_begin(j, '[');
    for (uint32_t k = 0; k < m->n; k++) {
        if (c->index[m->row[k].life] == LIFE_NONE)
            continue;
        json_u64(j, c->index[m->row[k].life]);
        json_u64_or_null(j, m->row[k].has_rss, (m->row[k].rss_bytes + 500) / 1000);
        json_u64(j, m->row[k].millicores);
    }
    json_end(j, ']');
    json_end(j, '}');
}

static void put_all(const struct page *p, const struct chosen *c, struct json *j)
{
    json_begin(j, '{');
    json_key_u64(j, "from_ns", p->from_ns);
    json_key_u64(j, "to_ns", p->to_ns);
    json_key_u64(j, "start_ns", p->start_ns);
    json_key_i64(j, "start_us", baro_header_realtime_ns(p->header, p->start_ns) / 1000);
    json_key_i64(j, "zone_s", p->options->zone);
    json_key_bool(j, "is_attached", baro_header_mode(p->header) == BARO_MODE_ATTACH);
    json_key(j, "charts");
    page_chart_data(p, j);
    put_names(p, j);
    put_statuses(p, c, j);
    put_processes(p, c, j);
    json_key_begin(j, "moments", '[');
    for (uint32_t i = 0; i < p->moments.n; i++) {
        if (p->moments.at[i].n)
            put_moment(&p->moments.at[i], c, j);
    }
    json_end(j, ']');
    json_end(j, '}');
}

void page_put_data(struct page *p, const struct buf *json)
{
    buf_str(&p->html, "<script type=\"application/json\" id=\"data\">");
    page_script_json(&p->html, (const char *)json->at, json->failed ? 0 : json->len);
    buf_str(&p->html, "</script>\n");
    p->html.failed = p->html.failed || json->failed;
}

int page_data(struct page *p)
{
    struct chosen c = {0};
    struct buf text = {0};
    struct json j = {.out = &text};
    int code = choose_processes(p, &c);
    if (code == 0) {
        put_all(p, &c, &j);
        page_put_data(p, &text);
        code = text.failed ? -ENOMEM : 0;
    }
    buf_done(&text);
    free(c.index);
    free(c.life);
    return code;
}
