/* SPDX-License-Identifier: Apache-2.0 */
/* What part of the CPU time is attributed, what was too short to be sampled, and what the recorder cost. */
#include <string.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "output/text/parts.h"
#include "output/text/read_fact.h"

static void unsampled(struct buf *b, const struct baro_summary *s)
{
    struct baro_value v = report_fact(s, "job", "processes_unsampled");
    uint64_t most;
    if (report_fact(s, "job", "processes_started").absent)
        return;
    if (report_started_range(s, &most)) {
        uint64_t unseen = most - report_u64(s, "job", "processes_started");
        buf_printf(b, "%s process%s at most %s not seen", COUNT(unseen), unseen == 1 ? "" : "es",
                   unseen == 1 ? "was" : "were");
    } else if (v.absent || (!v.u64 && (report_fact(s, "job", "processes_started").flags & BARO_VALUE_LOWER_BOUND))) {
        buf_str(b, "how many processes were too short to be sampled is not known");
    } else if (v.u64) {
        buf_printf(b, "%s process%s too short to be sampled, counted all the same", COUNT(v.u64),
                   v.u64 == 1 ? " was" : "es were");
    }
}

static void share(struct buf *b, double v)
{
    double percent = v > 1 && v < 1.005 ? 100 : v * 100; /* wait4 counts in microseconds */
    /* 99.97 must not be shown as 100.0: the difference shows. */
    int digits = percent > 99.9 && percent < 100 ? 2 : percent < 1 ? 2 : 1;
    if (percent >= 99.995 && percent < 100)
        percent = 99.99;
    fmt_decimal(b, percent, digits);
    buf_str(b, " %");
}

/* Writes what starting the recorder cost: the same in a short run as in a long one, so it is a large share of a
 * short one. */
static void cost_to_start(struct buf *b, const struct baro_summary *s)
{
    uint64_t to_start;
    double after;
    if (!report_has_u64(s, "recorder", "cpu_to_start_ns", &to_start) ||
        !report_has_real(s, "recorder", "cpu_after_start_ratio", &after))
        return;
    buf_printf(b, ": %s to start, then ", DURATION(to_start));
    share(b, after);
}

static void own_cost(struct buf *b, const struct baro_summary *s)
{
    uint64_t cpu_ns, rss;
    double ratio, budget;
    if (!report_has_u64(s, "recorder", "cpu_ns", &cpu_ns))
        return;
    buf_str(b, "recorder ");
    if (report_has_real(s, "recorder", "cpu_ratio", &ratio) && report_u64(s, "", "wall_ns") >= NS_PER_SEC) {
        share(b, ratio);
        buf_str(b, " of a core");
        if (ratio > (report_has_real(s, "recorder", "cpu_budget_ratio", &budget) ? budget : 0.01))
            cost_to_start(b, s);
    } else {
        buf_printf(b, "%s cpu", DURATION(cpu_ns));
    }
    if (report_has_u64(s, "recorder", "rss_peak_bytes", &rss))
        buf_printf(b, ", %s", BYTES(rss));
}

static void others_cost(struct buf *b, const struct baro_summary *s)
{
    uint64_t cpu_ns, rss;
    if (!report_has_u64(s, "recorder", "others_cpu_ns", &cpu_ns) || !cpu_ns)
        return;
    buf_printf(b, "other recorders %s cpu", DURATION(cpu_ns));
    if (report_has_u64(s, "recorder", "others_rss_peak_bytes", &rss) && rss)
        buf_printf(b, ", %s", BYTES(rss));
}

/* What the kernel counted and no process is known to have used: what it spent in interrupts, and the rest. Interrupts
 * may be counted in both: without CONFIG_IRQ_TIME_ACCOUNTING those that hit a process are in its time as well. */
static void closure(struct lines *l, const struct baro_summary *s)
{
    uint64_t total = report_u64(s, "accounting", "cpu_kernel_ns"),
             known = report_u64(s, "accounting", "cpu_counted_ns"),
             interrupts = report_u64(s, "host", "cpu_interrupts_ns"), stolen = report_u64(s, "host", "cpu_steal_ns"),
             left = total > known ? total - known : 0, kernel = 0;
    for (size_t i = 0; i < report_rows(s, "commands") && !kernel; i++) {
        if (strcmp(report_row(s, "commands", "name", i).text, "kernel threads") == 0)
            kernel = report_row(s, "commands", "cpu_ns", i).u64;
    }
    lines_say(l, "kernel threads %s, which are among them", DURATION(kernel));
    lines_say(l, "interrupts %s", DURATION(interrupts));
    lines_say(l, "unattributed %s, interrupts included", DURATION(left));
    lines_say(l, "stolen %s", DURATION(stolen));
}

void report_accounted(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    double remainder;
    struct baro_value cpu = report_fact(s, "job", "cpu_ns");
    lines_begin(l, "accounted", TONE_FAINT);
    if (report_has_real(s, "accounting", "remainder_ratio", &remainder) && cpu.u64 && !cpu.flags) {
        share(&b, 1 - remainder);
        buf_printf(&b, " of %s attributed to processes", MARKED(cpu, fmt_duration));
        lines_part(l, &b);
    }
    if (report_is_machine(s))
        closure(l, s);
    unsampled(&b, s);
    lines_part(l, &b);
    if (report_text_is(s, "", "cgroup", "own"))
        buf_str(&b, "in a control group of its own");
    lines_part(l, &b);
    own_cost(&b, s);
    lines_part(l, &b);
    others_cost(&b, s);
    lines_finish(l, &b);
}

void report_before(struct lines *l, const struct baro_summary *s)
{
    uint64_t cpu_ns = report_u64(s, "before", "cpu_ns");
    if (!cpu_ns)
        return;
    lines_begin(l, "before", TONE_FAINT);
    lines_say(l, "%s cpu used before attaching, counted in nothing above", DURATION(cpu_ns));
    lines_end(l);
}
