/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs: a line for each, and one of all where there are several; energy of CPUs and memory. */
#include <string.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "output/rows/escaped.h"
#include "output/text/parts.h"
#include "output/text/read_fact.h"

#define GPUS_MOST 8u       /* lines; the JSON has all */
#define THROTTLED_LEAST 50 /* a share of the time from here on is mentioned */

static struct baro_value gpu_fact(const struct baro_summary *s, const char *name, size_t i)
{
    return report_row(s, "gpus", name, i);
}

/* Writes energy: "412 J", "12.3 kJ", "1.24 MJ"; from 36 kJ on also in watt-hours, the unit in which people pay for
 * it. */
static void joules(struct buf *b, struct baro_value v)
{
    static const char *const units[] = {"J", "kJ", "MJ", "GJ"};
    double n = v.real;
    size_t i = 0;
    for (; n >= 1000 && i < 3; i++)
        n /= 1000;
    buf_str(b, baro_value_prefix(v.flags, BARO_PREFIX_SYMBOL));
    buf_printf(b, n >= 100 ? "%.0f %s" : n >= 10 ? "%.1f %s" : "%.2f %s", n, units[i]);
    if (v.real >= 36000)
        buf_printf(b, " (%.3g Wh)", v.real / 3600);
}

static void put_share_of_job(struct buf *b, struct baro_value all, struct baro_value job)
{
    if (job.absent || job.real <= 0 || job.real >= all.real)
        return;
    buf_str(b, ", the job's share ");
    joules(b, job);
}

static void use(struct lines *l, struct buf *b, const struct baro_summary *s, size_t i)
{
    struct baro_value mean = gpu_fact(s, "busy_ratio", i), peak = gpu_fact(s, "busy_peak_ratio", i),
                      job = gpu_fact(s, "busy_job_ratio", i), others = gpu_fact(s, "busy_others_ratio", i),
                      unknown = gpu_fact(s, "busy_unattributed_ratio", i), active = gpu_fact(s, "sm_active_ratio", i);
    if (mean.absent) {
        lines_say(l, "use not known: %s", report_reason(mean.absent));
        return;
    }
    buf_printf(b, "%s busy", PERCENT(mean.real));
    if (!peak.absent)
        buf_printf(b, ", peak %s", PERCENT(peak.real));
    lines_part(l, b);
    if (!active.absent)
        lines_say(l, "multiprocessors %s", PERCENT(active.real));
    bool any = (!others.absent && others.real >= 0.005) || (!unknown.absent && unknown.real >= 0.005);
    if (any && !job.absent) {
        buf_printf(b, "the job %s", PERCENT(job.real));
        if (others.real >= 0.005)
            buf_printf(b, ", others %s", PERCENT(others.real));
        if (unknown.real >= 0.005)
            buf_printf(b, ", unattributed %s", PERCENT(unknown.real));
        lines_part(l, b);
    }
}

static void put_gpu_memory(struct lines *l, struct buf *b, const struct baro_summary *s, size_t i)
{
    struct baro_value used = gpu_fact(s, "memory_used_peak_bytes", i), job = gpu_fact(s, "memory_job_peak_bytes", i),
                      total = gpu_fact(s, "memory_total_bytes", i),
                      unknown = gpu_fact(s, "memory_unattributed_peak_bytes", i);
    if (used.absent)
        return;
    buf_printf(b, "memory %s", BYTES(used.u64));
    if (!total.absent)
        buf_printf(b, " of %s", BYTES(total.u64));
    lines_part(l, b);
    if (!job.absent && job.u64 && job.u64 + job.u64 / 10 < used.u64)
        lines_say(l, "the job's %s", BYTES(job.u64));
    if (!unknown.absent && unknown.u64)
        lines_say(l, "unattributed %s", BYTES(unknown.u64));
}

static void energy(struct lines *l, struct buf *b, const struct baro_summary *s, size_t i)
{
    struct baro_value e = gpu_fact(s, "energy_joules", i), mean = gpu_fact(s, "power_mean_watts", i),
                      limit = gpu_fact(s, "power_limit_watts", i), job = gpu_fact(s, "job_energy_joules", i);
    if (e.absent)
        return;
    joules(b, e);
    if (!mean.absent) {
        buf_printf(b, ", %.0f W", mean.real);
        if (!limit.absent)
            buf_printf(b, " of %.0f W", limit.real);
    }
    put_share_of_job(b, e, job);
    lines_part(l, b);
}

static void throttled(struct lines *l, const struct baro_summary *s, size_t i)
{
    static const struct {
        const char *fact, *by;
    } kinds[] = {
        {"throttled_power_ns", "power"}, {"throttled_thermal_ns", "heat"}, {"throttled_hardware_ns", "hardware"}};
    uint64_t watched = gpu_fact(s, "watched_ns", i).u64;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
        struct baro_value v = gpu_fact(s, kinds[k].fact, i);
        if (!v.absent && v.u64 >= watched / THROTTLED_LEAST && v.u64 >= NS_PER_MS)
            lines_say(l, "throttled by %s for %s", kinds[k].by, DURATION(v.u64));
    }
    struct baro_value xids = gpu_fact(s, "xid_errors", i);
    if (!xids.absent && xids.u64)
        lines_say(l, "%llu Xid error%s", (unsigned long long)xids.u64, xids.u64 == 1 ? "" : "s");
}

static void put_gpu_line(struct lines *l, const struct baro_summary *s, size_t i)
{
    struct buf b = {0};
    const char *name = gpu_fact(s, "name", i).text;
    lines_begin(l, name && strlen(name) < LINES_INDENT ? name : "gpu", TONE_CPU);
    if (name && strlen(name) >= LINES_INDENT) {
        text_escaped(&b, name, strlen(name));
        lines_part(l, &b);
    }
    use(l, &b, s, i);
    put_gpu_memory(l, &b, s, i);
    energy(l, &b, s, i);
    throttled(l, s, i);
    lines_finish(l, &b);
}

static void all(struct lines *l, const struct baro_summary *s, size_t n)
{
    struct buf b = {0};
    struct baro_value visible = report_fact(s, "gpu", "visible"), used = report_fact(s, "gpu", "used"),
                      busy = report_fact(s, "gpu", "busy_job_ns"),
                      memory = report_fact(s, "gpu", "memory_job_peak_bytes"),
                      allocator = report_fact(s, "gpu", "allocator_peak_bytes"),
                      e = report_fact(s, "gpu", "energy_joules"), share = report_fact(s, "gpu", "job_energy_joules");
    const char *model = gpu_fact(s, "model", 0).text;
    bool same = model && *model;
    for (size_t i = 1; i < n && same; i++)
        same = gpu_fact(s, "is_instance", i).u64 || strcmp(model, gpu_fact(s, "model", i).text) == 0;
    lines_begin(l, "gpu", TONE_CPU);
    if (same) {
        buf_printf(&b, "%llu %s ", (unsigned long long)visible.u64, lines_times(l));
        text_escaped(&b, model, strlen(model));
        lines_part(l, &b);
    }
    if (!used.absent)
        lines_say(l, "%s%llu of %llu used", baro_value_prefix(used.flags, BARO_PREFIX_SYMBOL),
                  (unsigned long long)used.u64, (unsigned long long)visible.u64);
    if (!busy.absent && busy.u64)
        lines_say(l, "%s%.3g GPU-seconds", baro_value_prefix(busy.flags, BARO_PREFIX_SYMBOL), (double)busy.u64 / 1e9);
    if (!memory.absent && memory.u64)
        lines_say(l, "peak memory %s", MARKED(memory, fmt_bytes));
    if (!allocator.absent)
        lines_say(l, "allocator's peak %s", BYTES(allocator.u64));
    if (!e.absent && visible.u64 > 1) {
        joules(&b, e);
        put_share_of_job(&b, e, share);
        lines_part(l, &b);
    }
    lines_finish(l, &b);
}

static void cpu_energy(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    struct baro_value machine = report_fact(s, "energy", "machine_joules"),
                      job = report_fact(s, "energy", "job_joules");
    if (machine.absent)
        return;
    lines_begin(l, "energy", TONE_FAINT);
    buf_str(&b, "CPUs and memory ");
    joules(&b, machine);
    lines_part(l, &b);
    if (!job.absent && !report_is_host_only(s)) {
        buf_str(&b, "the job's share ");
        joules(&b, job);
        buf_str(&b, " by CPU time");
        lines_part(l, &b);
    }
    lines_finish(l, &b);
}

static void put_grams(struct lines *l, const char *what, struct baro_value v)
{
    const char *prefix = baro_value_prefix(v.flags, BARO_PREFIX_SYMBOL);
    if (!v.absent && v.real >= 1000)
        lines_say(l, "%s %s%.3g kg", what, prefix, v.real / 1000);
    else if (!v.absent)
        lines_say(l, v.real >= 1 ? "%s %s%.3g g" : "%s %s%.3f g", what, prefix, v.real);
}

/* Writes the emissions together with their factors, because they are only a product. */
static void carbon(struct lines *l, const struct baro_summary *s)
{
    struct baro_value factor = report_fact(s, "carbon", "grams_per_kwh"), gpu = report_fact(s, "carbon", "gpu_grams"),
                      machine = report_fact(s, "carbon", "machine_grams"), job = report_fact(s, "carbon", "job_grams");
    if (factor.absent)
        return;
    lines_begin(l, "carbon", TONE_FAINT);
    put_grams(l, "GPUs", gpu);
    put_grams(l, "CPUs and memory", machine);
    if (!report_is_host_only(s))
        put_grams(l, "the job's share of these", job);
    lines_say(l, "%s%g g/kWh as given, times energy", gpu.absent && machine.absent ? "no energy was recorded: " : "",
              factor.real);
    lines_end(l);
}

void report_gpus(struct lines *l, const struct baro_summary *s)
{
    size_t n = report_rows(s, "gpus");
    if (n)
        all(l, s, n);
    for (size_t i = 0; i < n && i < GPUS_MOST; i++)
        put_gpu_line(l, s, i);
    if (n > GPUS_MOST) {
        lines_begin(l, "", TONE_FAINT);
        lines_say(l, "%zu more GPUs and instances (baro export --entity gpu)", n - GPUS_MOST);
        lines_end(l);
    }
    cpu_energy(l, s);
    carbon(l, s);
}
