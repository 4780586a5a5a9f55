/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that the job held since its limits last changed. */
#include <string.h>

#include "libbaro/summary/summary.h"

void summary_held_begin(struct summary_held *h, uint64_t since_ns)
{
    *h = (struct summary_held){.since_ns = since_ns, .address_space = FOLD_CELL_NONE};
}

void summary_note_held(struct baro_summary *s, const struct baro_sample *sample)
{
    struct summary_held *h = &s->limit.held;
    /* A mark from before a change of limits does not belong here. */
    needed_add_sample(&s->limit.needed, sample, &s->tasks.ticks, summary_is_run(s) && !h->since_ns);
    s->failed |= s->limit.needed.failed;
    for (size_t i = 0; i < sample->n; i++)
        fold_cell_add(&h->address_space, sample->t_ns, sample->processes[i]->absent[PROCESS_virtual],
                      sample->processes[i]->value[PROCESS_virtual]);
    if (sample->job_absent[JOB_cpu] == BARO_PRESENT)
        derive_peak_add(&h->cores, sample->t_ns, sample->job[JOB_cpu], &s->fold.row.able);
}

/* The first limits were found a moment after the start, but applied from the start. */
void summary_add_limits(struct baro_summary *s, const struct baro_limits *l, uint64_t t_ns)
{
    const struct baro_limits *had = &s->limit.now;
    if (s->limit.known && !baro_limits_equal(l, had)) {
        summary_held_begin(&s->limit.held, t_ns ? t_ns : 1);
        needed_begin(&s->limit.needed);
    }
    if (s->limit.known && (l->memory_bytes != had->memory_bytes || strcmp(l->memory_source, had->memory_source) != 0))
        fold_groups_limit_changed(&s->fold.groups);
    s->limit.now = *l;
    s->limit.known = true;
}
