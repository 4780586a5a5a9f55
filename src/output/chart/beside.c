/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of the machine for a job whose own tape lacks them: from the tape of the machine alone, on the job's axis. */
#include <errno.h>
#include <string.h>

#include "output/chart/figure_parts.h"

/* Moves the axis and the marks to the clock of a tape that began by_ns later. */
static void move_chart(struct chart *c, uint64_t by_ns)
{
    c->from_ns -= by_ns;
    c->to_ns -= by_ns;
    c->start_ns -= by_ns;
    for (size_t k = 0; k < c->n_marks; k++)
        c->marks[k].t_ns -= by_ns;
}

static struct chart_curve *stacked(const struct chart *c, bool others)
{
    for (size_t k = 0; k < c->n_curves; k++) {
        bool is_others = c->curves[k].color == CHART_COLOR_OTHERS;
        if (c->curves[k].shape == CHART_STACK && is_others == others)
            return &c->curves[k];
    }
    return NULL;
}

static double less(double v, double job)
{
    return v > job ? v - job : 0;
}

/* Adds a curve below all others. */
static struct chart_curve *add_first(struct chart *c, const char *name)
{
    if (!chart_add_curve(c, name, CHART_STACK, 0))
        return NULL;
    struct chart_curve added = c->curves[c->n_curves - 1];
    memmove(&c->curves[1], &c->curves[0], (c->n_curves - 1) * sizeof(*c->curves));
    c->curves[0] = added;
    return &c->curves[0];
}

/* "CPU of the machine": the job's part comes from its own tape, and all else is less by that. Returns 0 or -ENOMEM. */
static int take_job(struct chart *c, const struct chart *own)
{
    const struct chart_curve *of_job = stacked(own, false);
    if (!of_job || own->buckets != c->buckets || !stacked(c, true) || stacked(c, false))
        return 0;
    struct chart_curve *job = add_first(c, of_job->name), *others = stacked(c, true);
    if (!job || !chart_rename_curve(others, ALL_ELSE))
        return -ENOMEM;
    memcpy(job->at, of_job->at, c->buckets * sizeof(*job->at));
    for (size_t i = 0; i < c->buckets; i++) {
        struct chart_bucket *b = &others->at[i];
        if (!b->known || !job->at[i].known)
            continue;
        b->mean = less(b->mean, job->at[i].mean);
        b->last = less(b->last, job->at[i].last);
        b->min = less(b->min, job->at[i].max);
        b->max = less(b->max, job->at[i].min);
    }
    chart_finish(c);
    return 0;
}

int figures_beside(const struct chart_set *own, const struct baro_header *job, struct baro_tape *machine,
                   const struct figure_options *options, struct chart_set **ret, struct baro_error *err)
{
    static const char *const ids[] = {"pressure", "host_cpu", "host_memory", "disk", "net", NULL};
    const struct chart *like = figures_chart(own, 0), *host_cpu = figures_find(own, "host_cpu");
    struct figure_options o = *options;
    int64_t by_ns = baro_header_start_realtime_ns(job) - baro_header_start_realtime_ns(baro_tape_header(machine));
    *ret = NULL;
    if (!like || by_ns < 0)
        return 0;
    o.ids = ids;
    o.buckets = like->buckets;
    o.from_ns = like->from_ns + (uint64_t)by_ns;
    o.to_ns = like->to_ns + (uint64_t)by_ns;
    int code = figures_of_tape(machine, &o, ret, err);
    for (size_t i = 0; code >= 0 && i < (*ret)->n; i++) {
        move_chart(&(*ret)->charts[i], (uint64_t)by_ns);
        if (host_cpu && strcmp((*ret)->charts[i].id, "host_cpu") == 0)
            code = take_job(&(*ret)->charts[i], host_cpu);
    }
    return code;
}
