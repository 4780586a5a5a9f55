/* SPDX-License-Identifier: Apache-2.0 */
/* The line of CPU time. */
#include "base/clock.h"
#include "base/fmt.h"
#include "output/text/parts.h"
#include "output/text/read_fact.h"

#define TICKS_TELL_NS (100 * NS_PER_MS) /* the kernel splits the time of a process by ticks of 1 to 10 ms */

static void put_part_of_cpu(struct buf *b, const char *name, struct baro_value v)
{
    if (v.absent)
        return;
    buf_str(b, name);
    report_marked(b, v, fmt_duration);
}

static void cpu_time(struct buf *b, const struct baro_summary *s)
{
    struct baro_value cpu = report_fact(s, "job", "cpu_ns");
    struct baro_value user = report_fact(s, "job", "cpu_user_ns"), system = report_fact(s, "job", "cpu_system_ns");
    if (cpu.absent) {
        report_not_known(b, cpu.absent);
        return;
    }
    report_marked(b, cpu, fmt_duration);
    if (cpu.u64 < TICKS_TELL_NS || (user.absent && system.absent))
        return;
    buf_str(b, " (");
    put_part_of_cpu(b, "user ", user);
    buf_str(b, user.absent || system.absent ? "" : ", ");
    put_part_of_cpu(b, "system ", system);
    buf_byte(b, ')');
}

static void cores(struct buf *b, const struct baro_summary *s)
{
    struct baro_value mean = report_fact(s, "job", "cores_mean"), peak = report_fact(s, "job", "cores_peak");
    if (report_u64(s, "", "wall_ns") < 10 * NS_PER_MS || mean.absent || report_real_says_nothing(mean))
        return;
    buf_printf(b, "%s%s cores of ", baro_value_prefix(mean.flags, BARO_PREFIX_SYMBOL), CORES(mean.real));
    report_cores(b, report_fact(s, "limits", "cores_at_most").real);
    if (!peak.absent && peak.real > mean.real)
        buf_printf(b, ", peak %s%s", baro_value_prefix(peak.flags, BARO_PREFIX_SYMBOL), CORES(peak.real));
}

/* Is run delay not known? In a short job, the threads end before anything reads how long they waited. */
static bool delay_is_unknown(const struct baro_summary *s)
{
    uint64_t lag = report_u64(s, "job", "run_delay_lag_ns");
    return lag >= NS_PER_SEC && lag > report_u64(s, "job", "cpu_ns") / 2;
}

void report_cpu(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    bool is_known = report_fact(s, "job", "cpu_ns").absent == BARO_PRESENT;
    struct baro_value delay = report_fact(s, "job", "run_delay_ns");
    lines_begin(l, "cpu", TONE_FAINT);
    cpu_time(&b, s);
    lines_part(l, &b);
    if (is_known)
        cores(&b, s);
    lines_part(l, &b);
    if (is_known && delay.u64 >= 10 * NS_PER_MS)
        lines_say(l, "waited %s for a core", MARKED(delay, fmt_duration));
    else if (is_known && delay_is_unknown(s))
        lines_say(l, "how long it waited for a core is not known");
    lines_finish(l, &b);
}
