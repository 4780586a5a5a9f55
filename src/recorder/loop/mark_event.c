/* SPDX-License-Identifier: Apache-2.0 */
/* A line of $BARO_EVENTS becomes an event on the tape. */
#include <string.h>

#include "base/clock.h"
#include "recorder/loop/recorder.h"
#include "recorder/marks/mark.h"

/* Returns realtime minus monotonic. The process may lose its core between the reads of the two clocks, so the shortest
 * of three readings counts. */
int64_t mark_realtime_offset_ns(void)
{
    int64_t offset = 0;
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        uint64_t before = clock_monotonic_ns();
        int64_t wall = clock_realtime_ns();
        uint64_t took = clock_monotonic_ns() - before;
        if (took >= shortest)
            continue;
        shortest = took;
        offset = wall - (int64_t)(before + took / 2);
    }
    return offset;
}

/* Has the mark no time that we understand? In another time namespace (time_namespaces(7)) CLOCK_MONOTONIC has an
 * offset, with which a mark would mostly be before the start or in the future: its time is then that at which it came.
 */
static bool is_untimed(const struct recorder *r, const struct mark *m)
{
    return m->clock == MARK_UNTIMED || (m->clock == MARK_MONOTONIC && (m->time_ns < r->header.start_monotonic_ns ||
                                                                       m->time_ns > clock_monotonic_ns()));
}

static uint64_t time_of(const struct recorder *r, const struct mark *m, const struct mark_came *came)
{
    uint64_t now = clock_monotonic_ns(), t = m->time_ns;
    if (is_untimed(r, m))
        return came->t_ns;
    if (m->clock == MARK_REALTIME) {
        int64_t monotonic = (int64_t)t - came->realtime_offset_ns;
        t = monotonic > 0 ? (uint64_t)monotonic : 0;
    }
    return recorder_since(r, t < now ? t : now);
}

/* The attributes with a meaning of their own come first. Returns how many there are, 2 at most. */
static size_t put_meaning(const struct recorder *r, const struct mark *m, const struct mark_came *came,
                          struct baro_attribute *to)
{
    size_t n = 0;
    if (m->kind == MARK_WHOLE)
        to[n++] =
            (struct baro_attribute){.name = ATTRIBUTE_DURATION, .type = BARO_ATTRIBUTE_UNSIGNED, .u64 = m->duration_ns};
    else if (*m->id)
        to[n++] = (struct baro_attribute){.name = ATTRIBUTE_PHASE_ID, .type = BARO_ATTRIBUTE_TEXT, .text = m->id};
    if (is_untimed(r, m) && came->error_ns)
        to[n++] = (struct baro_attribute){
            .name = ATTRIBUTE_TIME_ERROR, .type = BARO_ATTRIBUTE_UNSIGNED, .u64 = came->error_ns};
    return n;
}

void mark_put(struct recorder *r, const struct mark *m, const struct mark_came *came)
{
    static const enum baro_event_kind kinds[] = {[MARK_POINT] = BARO_EVENT_MARK,
                                                 [MARK_BEGIN] = BARO_EVENT_PHASE_BEGIN,
                                                 [MARK_END] = BARO_EVENT_PHASE_END,
                                                 [MARK_WHOLE] = BARO_EVENT_PHASE_END};
    struct baro_attribute all[ATTRIBUTES_MAX];
    size_t n = put_meaning(r, m, came, all);
    memcpy(&all[n], m->attribute, m->n_attributes * sizeof(*all));
    n += m->n_attributes;
    if (m->kind == MARK_TASK || m->kind == MARK_TASK_END) {
        if (m->kind == MARK_TASK)
            tasks_run(r, m->name, (struct baro_key){m->pid, m->start_ticks}, m->itself);
        else
            tasks_ended(r, m->name, m->wait_status);
        return;
    }
    const struct baro_event e = {.t_ns = time_of(r, m, came),
                                 .kind = kinds[m->kind],
                                 .key = {m->pid, m->pid ? m->start_ticks : 0},
                                 .text = m->name,
                                 .n_attributes = n,
                                 .attribute = all};
    r->marks.edge = r->marks.edge || m->kind == MARK_BEGIN || m->kind == MARK_END;
    r->job.sink.event(r->job.sink.context, &e);
}
