/* SPDX-License-Identifier: Apache-2.0 */
/* The block of a tape that has the machine and no job (`baro record --host`). */
#include "base/fmt.h"
#include "output/text/parts.h"
#include "output/text/read_fact.h"

bool report_is_host_only(const struct baro_summary *s)
{
    /* The command of a recorded control group is its path. */
    return report_text_is(s, "", "mode", "attach") && !report_rows(s, "targets") && !report_rows(s, "command");
}

bool report_is_machine(const struct baro_summary *s)
{
    return report_text_is(s, "", "cgroup", "machine");
}

/* What grows needs two samples: a stretch may have one. */
static void put_not_known(struct buf *b, const struct baro_summary *s, int absent)
{
    if (report_is(s, "", "is_stretch") && report_u64(s, "recorder", "samples") < 2)
        buf_str(b, "not known: the stretch has no two samples");
    else
        report_not_known(b, absent);
}

/* With the reason, if there is one. */
static void cores(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    double peak, load, stolen;
    uint64_t cpus;
    struct baro_value mean = report_fact(s, "host", "cpu_mean_cores");
    lines_begin(l, "cpu", TONE_FAINT);
    if (mean.absent) {
        put_not_known(&b, s, mean.absent);
    } else {
        buf_printf(&b, "%s cores busy", CORES(mean.real));
        if (report_has_u64(s, "host", "cores", &cpus))
            buf_printf(&b, " of %llu", (unsigned long long)cpus);
        if (report_has_real(s, "host", "cpu_peak_cores", &peak) && peak > mean.real)
            buf_printf(&b, ", peak %s", CORES(peak));
    }
    lines_part(l, &b);
    if (report_has_real(s, "host", "load_peak", &load)) {
        buf_str(&b, "load peak ");
        fmt_decimal(&b, load, 2);
        lines_part(l, &b);
    }
    if (report_has_real(s, "host", "cpu_steal_ratio", &stolen) && stolen >= 0.001)
        lines_say(l, "%s stolen", PERCENT(stolen));
    lines_finish(l, &b);
}

static void put_host_memory(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    uint64_t total, left, swapped = report_u64(s, "host", "swap_used_peak_bytes");
    struct baro_value used = report_fact(s, "host", "memory_used_peak_bytes");
    lines_begin(l, "memory", TONE_FAINT);
    if (used.absent) {
        report_not_known(&b, used.absent);
    } else {
        buf_printf(&b, "peak %s used", BYTES(used.u64));
        if (report_has_u64(s, "host", "memory_total_bytes", &total))
            buf_printf(&b, " of %s", BYTES(total));
    }
    lines_part(l, &b);
    if (report_has_u64(s, "host", "memory_available_least_bytes", &left))
        lines_say(l, "%s available at the lowest", BYTES(left));
    if (swapped)
        lines_say(l, "swap peak %s", BYTES(swapped));
    lines_finish(l, &b);
}

static void traffic(struct lines *l, const struct baro_summary *s, const char *label, const char *in,
                    const char *verb_in, const char *out, const char *verb_out)
{
    struct buf b = {0};
    uint64_t sent;
    struct baro_value v = report_fact(s, "host", in);
    lines_begin(l, label, TONE_FAINT);
    if (v.absent) {
        put_not_known(&b, s, v.absent);
    } else {
        buf_printf(&b, "%s %s", verb_in, BYTES(v.u64));
        if (report_has_u64(s, "host", out, &sent))
            buf_printf(&b, ", %s %s", verb_out, BYTES(sent));
    }
    lines_finish(l, &b);
}

void report_host(struct lines *l, const struct baro_summary *s)
{
    cores(l, s);
    put_host_memory(l, s);
    traffic(l, s, "disks", "disk_read_bytes", "read", "disk_write_bytes", "wrote");
    traffic(l, s, "network", "net_receive_bytes", "received", "net_transmit_bytes", "sent");
}
