/* SPDX-License-Identifier: Apache-2.0 */
/* The block of a tape that has the machine and no job (`baro record --host`). */
#include "base/clock.h"
#include "base/fmt.h"
#include "derive/limits.h"
#include "report/table.h"

bool report_is_alone(const struct baro_summary *s)
{
    return s->mode == BARO_MODE_ATTACH && !s->n_targets && !s->argv[0]; /* of a group argv is its path */
}

/* The reason is said where it is one. */
static void not_known(struct buf *b, int absent)
{
    buf_str(b, "not known");
    if (absent != BARO_ABSENT_UNKNOWN)
        buf_printf(b, ": %s", baro_absent_name((enum baro_absent)absent));
}

static void cores(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    double mean, peak, stolen;
    uint64_t cpus, load;
    lines_begin(l, "cpu", TONE_FAINT);
    int absent = summary_machine_cores_mean(s, &mean);
    if (absent != BARO_PRESENT) {
        not_known(&b, absent);
    } else {
        fmt_decimal(&b, mean, mean < 10 ? 2 : 1);
        buf_str(&b, " cores busy");
    }
    if (absent == BARO_PRESENT && summary_machine_cpus(s, &cpus) == BARO_PRESENT)
        buf_printf(&b, " of %llu", (unsigned long long)cpus);
    if (summary_machine_cores_peak(s, &peak) == BARO_PRESENT && absent == BARO_PRESENT && peak > mean) {
        buf_str(&b, ", peak ");
        fmt_decimal(&b, peak, peak < 10 ? 2 : 1);
    }
    lines_part(l, &b);
    if (summary_machine_gauge(s, MACHINE_LOAD, &load) == BARO_PRESENT) {
        buf_str(&b, "load peak ");
        fmt_decimal(&b, (double)load / 1e6, 2);
        lines_part(l, &b);
    }
    if (summary_machine_steal(s, &stolen) == BARO_PRESENT && stolen >= 0.001) {
        lines_percent(&b, stolen);
        buf_str(&b, " stolen");
        lines_part(l, &b);
    }
    lines_end(l);
    buf_done(&b);
}

static void memory(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    uint64_t used, total, left, swapped;
    lines_begin(l, "memory", TONE_FAINT);
    int absent = summary_machine_gauge(s, MACHINE_MEMORY_USED, &used);
    if (absent != BARO_PRESENT) {
        not_known(&b, absent);
    } else {
        buf_str(&b, "peak ");
        fmt_bytes(&b, used);
        buf_str(&b, " used");
    }
    if (absent == BARO_PRESENT && summary_machine_memory(s, &total) == BARO_PRESENT) {
        buf_str(&b, " of ");
        fmt_bytes(&b, total);
    }
    lines_part(l, &b);
    if (summary_machine_gauge(s, MACHINE_MEMORY_AVAILABLE, &left) == BARO_PRESENT) {
        fmt_bytes(&b, left);
        buf_str(&b, " available at the lowest");
        lines_part(l, &b);
    }
    if (summary_machine_gauge(s, MACHINE_SWAP_USED, &swapped) == BARO_PRESENT && swapped) {
        buf_str(&b, "swap peak ");
        fmt_bytes(&b, swapped);
        lines_part(l, &b);
    }
    lines_end(l);
    buf_done(&b);
}

static void both_ways(struct lines *l, const struct baro_summary *s, const char *label, enum machine_counter in,
                      const char *verb_in, enum machine_counter out, const char *verb_out)
{
    struct buf b = {0};
    uint64_t v;
    lines_begin(l, label, TONE_FAINT);
    int absent = summary_machine_grown(s, in, &v);
    if (absent != BARO_PRESENT) {
        not_known(&b, absent);
    } else {
        buf_printf(&b, "%s ", verb_in);
        fmt_bytes(&b, v);
        if (summary_machine_grown(s, out, &v) == BARO_PRESENT) {
            buf_printf(&b, ", %s ", verb_out);
            fmt_bytes(&b, v);
        }
    }
    lines_part(l, &b);
    lines_end(l);
    buf_done(&b);
}

void report_alone(struct lines *l, const struct baro_summary *s)
{
    cores(l, s);
    memory(l, s);
    both_ways(l, s, "disks", MACHINE_DISK_READ, "read", MACHINE_DISK_WRITE, "wrote");
    both_ways(l, s, "network", MACHINE_NET_RECEIVE, "received", MACHINE_NET_TRANSMIT, "sent");
}
