/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that the job held since its limits last changed. */
#include <string.h>

#include "libbaro/summary/summary.h"

void summary_held_begin(struct summary_held *h, uint64_t since_ns)
{
    static const struct extreme none = {.absent = BARO_ABSENT_NOT_YET};
    *h = (struct summary_held){.since_ns = since_ns, .address_space = none};
}

static void raise_held(struct extreme *e, int absent, uint64_t value)
{
    if (absent != BARO_PRESENT) {
        if (!e->seen)
            e->absent = (uint8_t)absent;
        return;
    }
    if (!e->seen || value > e->value)
        e->value = value;
    e->seen = true;
    e->absent = BARO_PRESENT;
}

void summary_note_held(struct baro_summary *s, const struct baro_sample *sample)
{
    struct summary_held *h = &s->limit.held;
    /* A mark from before a change of limits does not belong here. */
    needed_add_sample(&s->limit.needed, sample, &s->tasks.ticks, s->subject.mode == BARO_MODE_RUN && !h->since_ns);
    s->failed |= s->limit.needed.failed;
    for (size_t i = 0; i < sample->n; i++)
        raise_held(&h->address_space, sample->processes[i]->absent[PROCESS_virtual],
                   sample->processes[i]->value[PROCESS_virtual]);
    if (sample->job_absent[JOB_cpu] == BARO_PRESENT)
        derive_peak_add(&h->cores, sample->t_ns, sample->job[JOB_cpu]);
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
        machine_limit_changed(&s->machine);
    s->limit.now = *l;
    s->limit.known = true;
}
