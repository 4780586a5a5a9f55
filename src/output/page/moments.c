/* SPDX-License-Identifier: Apache-2.0 */
#include "output/page/moments.h"

#include <stdlib.h>
#include <string.h>

#include "base/growth.h"

struct moment_now {
    uint64_t cpu_ns, sample;
    uint32_t millicores;
    bool has_cpu;
};

void moments_init(struct moments *m, const struct baro_header *header, const struct baro_steps *steps, uint64_t end_ns)
{
    *m = (struct moments){.header = header,
                          .steps = steps,
                          .metric_cpu = baro_metric_find(BARO_KIND_PROCESS, "cpu_ns"),
                          .metric_rss = baro_metric_find(BARO_KIND_PROCESS, "rss_bytes"),
                          .n = MOMENTS_MOST,
                          .stretch_ns = end_ns / MOMENTS_MOST + 1};
}

void moments_done(struct moments *m)
{
    for (uint32_t i = 0; i < MOMENTS_MOST; i++)
        free(m->at[i].row);
    free(m->now);
    free(m->room);
}

static uint32_t position(const struct moments *m, const struct baro_row *p)
{
    ptrdiff_t i = baro_steps_process_of_id(m->steps, baro_row_id(p));
    return i < 0 ? LIFE_NONE : (uint32_t)i;
}

/* Computes the cores of a process as baro_interval_derived() does: growth divided by the time since the previous
 * sample. A process that began after that sample had used nothing before. Example: samples at 1 and 3 s, and a
 * compiler forked at 2 s that has used 0.5 s: 250 thousandths of a core. */
static void changed(struct moments *m, const struct baro_row *p, uint64_t t_ns)
{
    uint32_t i = position(m, p);
    uint64_t cpu, growth;
    if (i >= m->now_n)
        return;
    struct moment_now *now = &m->now[i];
    if (baro_row_value(p, m->metric_cpu, &cpu) != BARO_PRESENT)
        return;
    bool has_before = m->sample > 1 && t_ns > m->before_ns;
    bool is_known = now->has_cpu || (has_before && baro_row_began_after(m->header, p, m->before_ns));
    now->millicores = 0;
    if (has_before && is_known && growth_between(now->cpu_ns, cpu, &growth))
        now->millicores = (uint32_t)((double)growth * 1000 / (double)(t_ns - m->before_ns) + 0.5);
    now->has_cpu = true;
    now->cpu_ns = cpu;
    now->sample = m->sample;
}

static bool grow_values(struct moments *m, size_t processes)
{
    size_t n = baro_steps_processes(m->steps);
    if (n > m->now_n) {
        struct moment_now *now = realloc(m->now, 2 * n * sizeof *now);
        if (!now)
            return false;
        memset(now + m->now_n, 0, (2 * n - m->now_n) * sizeof *now);
        m->now = now;
        m->now_n = 2 * n;
    }
    if (processes > m->room_n) {
        struct moment_row *room = realloc(m->room, processes * sizeof *room);
        if (!room)
            return false;
        m->room = room;
        m->room_n = processes;
    }
    return true;
}

static uint64_t weight(const struct moment_row *r)
{
    return r->rss_bytes / 1000 + (uint64_t)r->millicores * 1000; /* one core weighs as much as 1 GB */
}

static int compare_rows(const void *a, const void *b)
{
    uint64_t x = weight(a), y = weight(b);
    return (x < y) - (x > y);
}

static int by_life(const void *a, const void *b)
{
    const struct moment_row *x = a, *y = b;
    return (x->life > y->life) - (x->life < y->life);
}

/* Keeps the heaviest rows and sums up the others. */
static uint32_t keep_heaviest(struct sample_rows *at, struct moment_row *row, uint32_t n)
{
    if (n <= MOMENT_ROWS_MOST)
        return n;
    qsort(row, n, sizeof *row, compare_rows);
    for (uint32_t i = MOMENT_ROWS_MOST; i < n; i++) {
        at->more++;
        at->more_rss_bytes += row[i].rss_bytes;
        at->more_millicores += row[i].millicores;
    }
    qsort(row, MOMENT_ROWS_MOST, sizeof *row, by_life);
    return MOMENT_ROWS_MOST;
}

static void store(struct moments *m, struct sample_rows *at, uint64_t t_ns, uint64_t rss, bool is_bound, uint32_t n)
{
    at->more = 0;
    at->more_rss_bytes = at->more_millicores = 0;
    n = keep_heaviest(at, m->room, n);
    if (n > at->room) {
        struct moment_row *row = realloc(at->row, n * sizeof *row);
        if (!row) {
            m->failed = true;
            return;
        }
        at->row = row;
        at->room = n;
    }
    if (n)
        memcpy(at->row, m->room, n * sizeof *at->row);
    m->rows += n;
    m->rows -= at->n;
    at->n = n;
    at->t_ns = t_ns;
    at->rss_bytes = rss;
    at->rss_is_bound = is_bound;
}

/* Merges each two neighbours into one: the one with more memory is kept. */
static void halve(struct moments *m)
{
    for (uint32_t i = 0; i < m->n / 2; i++) {
        struct sample_rows *a = &m->at[2 * i], *b = &m->at[2 * i + 1];
        struct sample_rows *keep = b->n && (!a->n || b->rss_bytes > a->rss_bytes) ? b : a, *drop = keep == a ? b : a;
        struct sample_rows kept = *keep;
        m->rows -= drop->n;
        free(drop->row);
        *a = *b = (struct sample_rows){0};
        m->at[i] = kept;
    }
    m->n /= 2;
    m->stretch_ns *= 2;
}

void moments_add(struct moments *m, const struct baro_record *r)
{
    if (r->kind != BARO_RECORD_SAMPLE || m->failed)
        return;
    const struct baro_sample *s = r->u.sample;
    size_t n = baro_sample_rows(s, BARO_KIND_PROCESS);
    m->sample++;
    if (!grow_values(m, n)) {
        m->failed = true;
        return;
    }
    for (size_t i = baro_sample_next_changed(s, 0); i < n; i = baro_sample_next_changed(s, i + 1))
        changed(m, baro_sample_row(s, BARO_KIND_PROCESS, i), r->t_ns);
    m->before_ns = r->t_ns;
    uint64_t rss = 0;
    size_t lacking = 0;
    baro_sample_sum(s, m->metric_rss, &rss, &lacking);
    uint64_t stretch = r->t_ns / m->stretch_ns;
    struct sample_rows *at = &m->at[stretch < m->n ? stretch : m->n - 1];
    if (!n || (at->n && rss <= at->rss_bytes))
        return;
    uint32_t rows = 0;
    for (size_t i = 0; i < n; i++) {
        const struct baro_row *p = baro_sample_row(s, BARO_KIND_PROCESS, i);
        struct moment_row row = {.life = position(m, p)};
        if (row.life >= m->now_n)
            continue;
        row.has_rss = baro_row_value(p, m->metric_rss, &row.rss_bytes) == BARO_PRESENT;
        row.millicores = m->now[row.life].sample == m->sample ? m->now[row.life].millicores : 0;
        m->room[rows++] = row;
    }
    store(m, at, r->t_ns, rss, lacking > 0, rows);
    while (m->rows > MOMENTS_ROWS_MOST && m->n > 16)
        halve(m);
}

bool moments_take_lives(struct moments *m, struct baro_steps *steps, struct lives *ret)
{
    bool *keep = calloc(baro_steps_processes(steps) + 1, sizeof *keep);
    for (uint32_t i = 0; keep && i < m->n; i++) {
        for (uint32_t k = 0; k < m->at[i].n; k++)
            keep[m->at[i].row[k].life] = true;
    }
    uint32_t *to = keep ? lives_take(ret, steps, keep) : NULL;
    for (uint32_t i = 0; to && i < m->n; i++) {
        for (uint32_t k = 0; k < m->at[i].n; k++)
            m->at[i].row[k].life = to[m->at[i].row[k].life];
    }
    free(keep);
    free(to);
    return to;
}
