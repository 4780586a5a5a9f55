/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/evidence.h"

#include <math.h>
#include <string.h>

void stretch_fill(struct stretch *s, const struct history *c, const char *phase, uint64_t begin_ns, uint64_t end_ns)
{
    s->phase = phase;
    s->begin_ns = begin_ns;
    s->end_ns = end_ns;
    s->wall_ns = (double)(end_ns - begin_ns);
    for (int i = 0; i < CURVE_COUNTERS; i++)
        s->grown[i] = history_growth(c, (enum curve)i, begin_ns, end_ns);
}

double stretch_demand(const struct stretch *s)
{
    return (s->grown[CURVE_CPU] + s->grown[CURVE_RUN_DELAY]) / s->wall_ns;
}

void evidence_init(struct evidence *e)
{
    memset(e, 0, sizeof(*e));
#define MEMBER(member, section, name) e->member = NAN;
    VERDICT_FACTS(MEMBER)
#undef MEMBER
#define MEMBER(member, section, name) e->member = "";
    VERDICT_TEXTS(MEMBER)
#undef MEMBER
    e->holder = e->victims = e->contender.name = "";
    e->job.wall_ns = NAN;
    for (int i = 0; i < CURVE_COUNTERS; i++)
        e->job.grown[i] = NAN;
}

/* ---- facts ---- */

static double number(const struct baro_summary *s, int fact, size_t row)
{
    struct baro_value v;
    if (baro_summary_value(s, fact, row, &v) != BARO_PRESENT)
        return NAN;
    switch (baro_summary_fact(fact)->type) {
    case BARO_FACT_REAL:
        return v.real;
    case BARO_FACT_SIGNED:
        return (double)v.i64;
    default:
        return (double)v.u64;
    }
}

static const char *text(const struct baro_summary *s, int fact, size_t row)
{
    struct baro_value v;
    return baro_summary_value(s, fact, row, &v) == BARO_PRESENT && v.text ? v.text : "";
}

static void read_commands(struct evidence *e, const struct baro_summary *s)
{
    int section = baro_summary_section_find("commands"), name = baro_summary_fact_find("commands", "name"),
        processes = baro_summary_fact_find("commands", "processes"), cpu = baro_summary_fact_find("commands", "cpu_ns");
    e->n_all_commands = baro_summary_rows(s, section);
    for (size_t i = 0; i < e->n_all_commands && i < COMMANDS_MOST; i++, e->n_commands = i)
        e->command[i] = (struct heavy){text(s, name, i), number(s, processes, i), number(s, cpu, i)};
}

void evidence_of_summary(struct evidence *e, const struct baro_summary *s)
{
#define MEMBER(member, section, name) e->member = number(s, baro_summary_fact_find(section, name), 0);
    VERDICT_FACTS(MEMBER)
#undef MEMBER
#define MEMBER(member, section, name) e->member = text(s, baro_summary_fact_find(section, name), 0);
    VERDICT_TEXTS(MEMBER)
#undef MEMBER
    read_commands(e, s);
    e->holder = text(s, baro_summary_fact_find("pss_peak_held_by", "name"), 0);
    if (!*e->holder)
        e->holder = text(s, baro_summary_fact_find("rss_peak_held_by", "name"), 0);
}

static void agree(double *ours, double fact)
{
    if (!isnan(fact))
        *ours = fact;
}

/* Of a job of one process the totals are those of that process, and exact; what samples have of its threads is less. */
static void agree_on_contender(struct evidence *e)
{
    struct contender *c = &e->contender;
    if (e->processes_started != 1 || !(e->threads_peak >= 2) || c->switches > e->switches || !e->n_commands)
        return;
    *c = (struct contender){e->command[0].name, e->threads_peak, e->switches, e->cpu_ns, e->job.grown[CURVE_CALLED]};
}

void evidence_agree(struct evidence *e)
{
    agree_on_contender(e);
    agree(&e->job.wall_ns, e->wall_ns);
    agree(&e->job.grown[CURVE_CPU], e->cpu_ns);
    agree(&e->job.grown[CURVE_RUN_DELAY], e->run_delay_ns);
    agree(&e->job.grown[CURVE_SWITCHES], e->switches);
    agree(&e->job.grown[CURVE_READ], e->io_read_bytes);
    agree(&e->job.grown[CURVE_WRITTEN], e->io_write_bytes);
    agree(&e->job.grown[CURVE_FAULTS], e->faults_major);
    agree(&e->job.grown[CURVE_STARTED], e->processes_started);
}
