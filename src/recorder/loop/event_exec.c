/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event of a process that executes another program, with what it had used as the program before. Example: perl
 * computes for 1.5 s and executes python3, which computes for 0.5 s: the process has 2 s, perl has 1.5 s of them.
 *
 * When the event is read, up to some 90 ms after the execve(2), the process has run as the new program, too. What it
 * had used by then is between two bounds: what was read of it last before, or its clock now without the time since, as
 * if the new program had never waited; and its clock now. Between them, it is taken to have run on as it had so far.
 * Example: at 1.6 s it had 59 ms of the 0.4 s since it began; it executed at 1.84 s, and has 105 ms at 1.9 s: of these
 * 59 + 0.24 × 59 / 0.4 = 94 ms.
 */
#include <string.h>

#include "base/clock.h"
#include "base/min_max.h"
#include "recorder/loop/recorder.h"

/* execve(2) sets the name early and reports the event at its end: on a busy machine the new name was read 25 ms before.
 */
#define READ_SLACK (200 * NS_PER_MS)
/* What a process uses between fork(2) and execve(2) stays with the program that it executes. */
#define LEAST_NS NS_PER_MS

/* Must come before the name of the new program is known from an event. If the process executes one program after the
 * other before the first event is reported, the program is that before the first. */
void exec_note(struct member *m, uint64_t t_ns)
{
    bool was_read = m->events.program_is_read && m->row.read_ns + READ_SLACK >= t_ns;
    if (!m->events.executed_ns && !was_read)
        member_note_program(m);
    m->events.executed_ns = t_ns | 1;
}

/* Its CPU time by its clock at t_ns, without what the new program may have used until then. */
static uint64_t without_new(const struct member *m, uint64_t clock_ns, uint64_t t_ns)
{
    uint64_t since = t_ns > m->events.executed_ns ? t_ns - m->events.executed_ns : 0;
    return clock_ns > since ? clock_ns - since : 0;
}

/* What it had used when it executed, if it ran on as it had until it was read before. */
static uint64_t run_on(const struct recorder *r, const struct member *m)
{
    const struct member_events *e = &m->events;
    uint64_t begin = m->life.begin_ns ? m->life.begin_ns : job_begin_ns(&r->job, m->row.key.start);
    if (e->program_read_ns <= begin || e->executed_ns <= e->program_read_ns || !begin)
        return e->program_cpu_ns;
    double rate = (double)e->program_cpu_ns / (double)(e->program_read_ns - begin);
    return e->program_cpu_ns + (uint64_t)(rate * (double)(e->executed_ns - e->program_read_ns));
}

static uint64_t used_before(const struct recorder *r, const struct member *m)
{
    uint64_t clock_ns = m->reading.clock_ns, least = m->events.program_cpu_ns, ns = run_on(r, m);
    bool alone = m->row.absent[PROCESS_threads] == BARO_PRESENT && m->row.value[PROCESS_threads] == 1;
    /* The clock is read anew where the last reading, whose time is only that of its tick, shows enough. */
    if (alone && !member_is_gone(m) && !member_has_ended(m) &&
        without_new(m, clock_ns, m->row.read_ns) >= least + LEAST_NS && process_clock(m, &clock_ns) == 0)
        least = max_u64(least, without_new(m, clock_ns, recorder_since(r, clock_monotonic_ns())));
    ns = max_u64(least, min_u64(ns, max_u64(clock_ns, least)));
    uint64_t base = m->account.base ? m->account.base[LEDGER_CPU_USER] + m->account.base[LEDGER_CPU_SYSTEM] : 0;
    return ns > base ? ns - base : 0;
}

void exec_report(struct recorder *r, struct member *m)
{
    struct baro_attribute at[3];
    struct baro_event e = {.t_ns = m->events.executed_ns,
                           .kind = BARO_EVENT_EXEC,
                           .key = m->row.key,
                           .text = m->row.name,
                           .attribute = at};
    m->events.executed_ns = 0;
    m->events.program_is_read = false;
    if (!*m->row.name || m->other.is)
        return;
    uint64_t cpu_ns = used_before(r, m);
    if (cpu_ns >= LEAST_NS && *m->events.program && strcmp(m->events.program, m->row.name) != 0) {
        at[e.n_attributes++] =
            (struct baro_attribute){.name = ATTRIBUTE_PROGRAM, .type = BARO_ATTRIBUTE_TEXT, .text = m->events.program};
        at[e.n_attributes++] =
            (struct baro_attribute){.name = ATTRIBUTE_CPU, .type = BARO_ATTRIBUTE_UNSIGNED, .u64 = cpu_ns};
        if (m->events.program_rss)
            at[e.n_attributes++] = (struct baro_attribute){
                .name = ATTRIBUTE_RSS_PEAK, .type = BARO_ATTRIBUTE_UNSIGNED, .u64 = m->events.program_rss};
    }
    if (r->job.whole && !e.n_attributes && !m->reading.in_sample)
        return; /* its row, or its exit, has the name: most processes execute one program and end */
    r->job.sink.event(r->job.sink.context, &e);
}
