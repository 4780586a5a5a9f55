/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/summary/task_cores.h"

#define OLD_NS 60000000000ull /* a process that had no row for a minute is forgotten when room is needed */

/* Example: 1.50 s at +2.0 s and 1.75 s at +2.5 s are 0.5 cores; a row at +2.55 s waits for the next one. */
void task_cores_add(struct task_cores *c, struct last_table *last, const struct baro_row *p, int cpu_metric,
                    uint64_t t_ns, uint64_t begin_ns)
{
    uint64_t cpu;
    bool added;
    if (baro_row_value(p, cpu_metric, &cpu) != BARO_PRESENT)
        return;
    struct last *b = last_get(last, baro_row_id(p), t_ns > OLD_NS ? t_ns - OLD_NS : 0, &added);
    if (!b)
        return;
    if (added) /* earlier CPU time of the process belongs to no interval */
        *b = (struct last){baro_row_id(p), begin_ns ? begin_ns : t_ns, begin_ns ? 0 : cpu};
    if (t_ns < b->t_ns + TASK_CORES_WITHIN || cpu < b->value)
        return;
    double used = (double)(cpu - b->value), time = (double)(t_ns - b->t_ns);
    c->peak = used / time > c->peak ? used / time : c->peak;
    c->used_ns += used;
    c->time_ns += time;
    b->t_ns = t_ns;
    b->value = cpu;
}
