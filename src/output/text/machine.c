/* SPDX-License-Identifier: Apache-2.0 */
/* The line about the machine, if it was busy with something else or short of something. */
#include "base/clock.h"
#include "output/text/parts.h"
#include "output/text/read_fact.h"

/* Shares below these are not mentioned. */
#define LEAST_WATCHED NS_PER_SEC /* CPU times come in steps of 10 ms on each CPU */
#define LEAST_OTHERS 0.2         /* cores, */
#define LEAST_OTHERS_SHARE 0.05  /* and of all of them */
#define LEAST_STEAL 0.01
#define LEAST_WAIT 0.1 /* for a CPU or I/O; processes of one job delay each other as well */
#define LEAST_MEMORY_WAIT 0.01
#define LEAST_SWAPPED 1000000u
#define LITTLE_LEFT 20u /* a twentieth of the memory */

static void others(struct lines *l, const struct baro_summary *s)
{
    double cores;
    uint64_t cpus;
    if (report_is_machine(s) || !report_has_real(s, "host", "cpu_others_mean_cores", &cores) ||
        !report_has_u64(s, "host", "cores", &cpus) || cores < LEAST_OTHERS || cores < LEAST_OTHERS_SHARE * (double)cpus)
        return;
    uint64_t ranks = report_u64(s, "host", "ranks_beside"); /* 0 also where that is not known */
    struct buf part = {0};
    buf_str(&part, "others");
    if (ranks)
        buf_printf(&part, ", %llu other rank%s of the job among them,", (unsigned long long)ranks,
                   ranks > 1 ? "s" : "");
    buf_printf(&part, " kept %s of %llu cores busy", CORES(cores), (unsigned long long)cpus);
    lines_part(l, &part);
    buf_done(&part);
}

static void put_pressure(struct buf *b, const struct baro_summary *s)
{
    static const struct {
        const char *fact, *what;
        double least;
    } of[] = {
        {"cpu_some_ratio", "cpu", LEAST_WAIT},
        {"memory_some_ratio", "memory", LEAST_MEMORY_WAIT},
        {"io_some_ratio", "i/o", LEAST_WAIT},
    };
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        double ratio;
        if (report_has_real(s, "host.pressure", of[i].fact, &ratio) && ratio >= of[i].least)
            buf_printf(b, "%s %s %s", b->len ? "," : "pressure:", of[i].what, PERCENT(ratio));
    }
}

static void little_memory(struct lines *l, const struct baro_summary *s)
{
    uint64_t left, total, in = report_u64(s, "host", "swap_in_bytes"), out = report_u64(s, "host", "swap_out_bytes");
    if (report_has_u64(s, "host", "memory_available_least_bytes", &left) &&
        report_has_u64(s, "host", "memory_total_bytes", &total) && left < total / LITTLE_LEFT)
        lines_say(l, "%s of memory available at the lowest", BYTES(left));
    if (in >= LEAST_SWAPPED || out >= LEAST_SWAPPED)
        lines_say(l, "swapped %s in, %s out", BYTES(in), BYTES(out));
}

/* OOM kills that the line of limits does not mention. */
static void kills(struct lines *l, struct buf *b, const struct baro_summary *s)
{
    uint64_t killed = report_u64(s, "host", "oom_kills"), own;
    if (!report_has_u64(s, "limits", "oom_kills_in_group", &own))
        own = report_u64(s, "limits", "oom_kills");
    if (killed > own)
        report_kills(b, "", killed - own, own ? " more OOM-killed" : " OOM-killed");
    lines_part(l, b);
}

void report_machine(struct lines *l, const struct baro_summary *s)
{
    struct buf out = {0}, b = {0};
    struct lines parts = {.out = &out, .style = l->style, .column = LINES_INDENT};
    if (report_u64(s, "host", "watched_ns") >= LEAST_WATCHED) {
        double stolen;
        others(&parts, s);
        if (report_has_real(s, "host", "cpu_steal_ratio", &stolen) && stolen >= LEAST_STEAL)
            lines_say(&parts, "%s stolen", PERCENT(stolen));
        put_pressure(&b, s);
        lines_part(&parts, &b);
        little_memory(&parts, s);
    }
    kills(&parts, &b, s);
    if (out.len) {
        lines_begin(l, "machine", TONE_FAINT);
        buf_add(l->out, out.at, out.len);
        lines_end(l);
    }
    l->out->failed = l->out->failed || out.failed || b.failed;
    buf_done(&b);
    buf_done(&out);
}
