/* SPDX-License-Identifier: Apache-2.0 */
/* What the job might have had, and the machine around it, where there is something to tell. */
#include <string.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "derive/groups.h"
#include "derive/limits.h"
#include "report/table.h"

#define NAME_COLUMNS 48u
/* Below these a machine is as quiet as any. */
#define LEAST_WATCHED NS_PER_SEC /* CPU times come in steps of 10 ms on each CPU */
#define LEAST_OTHERS 0.2         /* cores, */
#define LEAST_OTHERS_SHARE 0.05  /* and of all of them */
#define LEAST_STEAL 0.01
#define LEAST_WAIT 0.1           /* for a CPU or I/O; processes of one job do that to each other as well */
#define LEAST_MEMORY_WAIT 0.01
#define LEAST_SWAPPED 1000000u
#define LITTLE_LEFT 20u          /* a twentieth of the memory */
#define LEAST_SHARE 0.01

void report_cores(struct buf *b, double cores)
{
    bool whole = cores < 1e9 && cores == (double)(uint64_t)cores;
    fmt_decimal(b, cores, whole ? 0 : cores < 10 ? 2 : 1);
}

static bool limited(const char *source)
{
    return strcmp(source, LIMIT_MACHINE) != 0;
}

void report_memory_share(struct buf *b, const struct baro_summary *s)
{
    const char *source;
    double ratio;
    enum memory_measure measure;
    uint64_t most, limit = summary_memory_limit(s, &source);
    if (summary_memory_peak_ratio(s, &ratio) != BARO_PRESENT || (!limited(source) && ratio < LEAST_SHARE))
        return;
    summary_memory_most(s, &most, &measure);
    if (measure == MEMORY_RSS && s->peak[PEAK_RSS].members > 1)
        return; /* a sum of rss has pages that several share once for each of them: 16 workers that share 1.5 GB sum up
                   to 25 GB */
    if (measure == MEMORY_CGROUP) {
        fmt_bytes(b, most);
        buf_str(b, " with page cache, ");
    } else if (measure == MEMORY_ADDRESS_SPACE) {
        fmt_bytes(b, most);
        buf_str(b, " of address space, ");
    }
    lines_percent(b, ratio);
    buf_str(b, " of ");
    fmt_bytes(b, limit);
}

/* ---- limits ---- */

static void by(const struct lines *l, struct buf *b, const char *source)
{
    buf_str(b, " by ");
    unsigned room = l->style.width - LINES_INDENT;
    lines_path(l, b, source, room < NAME_COLUMNS ? room : NAME_COLUMNS);
}

static void cores(struct lines *l, const struct baro_summary *s, struct buf *b)
{
    const char *source;
    uint64_t ns;
    double limit = summary_cores_limit(s, &source);
    bool held = summary_throttled(s, &ns) == BARO_PRESENT && ns >= NS_PER_MS;
    if (limited(source)) {
        buf_str(b, summary_cores_unknown(s) ? "at most " : "");
        report_cores(b, limit);
        buf_str(b, limit == 1 ? " core" : " cores");
        by(l, b, source);
    }
    if (held) {
        buf_str(b, b->len ? ", held back " : "held back ");
        fmt_duration(b, ns);
        buf_str(b, strncmp(source, "cgroup ", 7) == 0 ? "" : " by a quota");
    }
    lines_part(l, b);
}

static void memory(struct lines *l, const struct baro_summary *s, struct buf *b)
{
    const char *source;
    uint64_t limit = summary_memory_limit(s, &source);
    double group, job;
    if (!limited(source))
        return;
    buf_str(b, summary_memory_unknown(s) ? "at most " : "");
    fmt_bytes(b, limit);
    if (strncmp(source, "RLIMIT_", 7) == 0)
        buf_str(b, strcmp(source, LIMIT_ADDRESS_SPACE) == 0 ? " of address space a process" : " of data a process");
    by(l, b, source);
    if (strcmp(source, LIMIT_DATA) == 0)
        buf_str(b, ", which no sample counts");
    int unknown = summary_memory_group_ratio(s, &group);
    /* What is in there is not the job's alone. */
    if (unknown == BARO_PRESENT && (summary_memory_peak_ratio(s, &job) != BARO_PRESENT || group > job)) {
        buf_str(b, ", ");
        lines_percent(b, group);
        buf_str(b, " full");
    }
    lines_part(l, b);
}

/* Found, and not known all the same. */
static bool out_of_sight(int absent)
{
    return absent != BARO_PRESENT && absent != BARO_ABSENT_NOT_YET;
}

static void unknown(struct buf *b, const struct baro_summary *s)
{
    bool of_cores = out_of_sight(s->limits.cores_absent), of_memory = out_of_sight(s->limits.memory_absent);
    if (of_cores || of_memory)
        buf_printf(b, "%s%s%s not known: a control group out of sight may limit %s", of_cores ? "cores" : "",
                   of_cores && of_memory ? ", " : "", of_memory ? "memory" : "", of_cores && of_memory ? "them" : "it");
}

static void kills(struct buf *b, const char *before, uint64_t n, const char *after)
{
    buf_str(b, before);
    fmt_count(b, n);
    buf_str(b, n == 1 ? " process" : " processes");
    buf_str(b, after);
}

/* The job's, as sure as that is; and of what its control group counts, those that are others'. */
static void report_kills(struct lines *l, struct buf *b, const struct baro_summary *s)
{
    struct summary_oom_kills k = {0};
    uint64_t counted = 0;
    summary_oom_kills(s, &k);
    bool group = summary_group_oom_kills(s, &counted) == BARO_PRESENT;
    if (k.likely)
        kills(b, k.likely > k.least ? "probably " : "", k.likely, " OOM-killed");
    lines_part(l, b);
    if (k.most > k.likely)
        kills(b, k.likely ? "at most " : "perhaps of the job: at most ", k.most, " OOM-killed");
    lines_part(l, b);
    if (group && counted > k.most)
        kills(b, "", counted - k.most, " of others in its control group OOM-killed");
    lines_part(l, b);
}

static bool any_kills(const struct baro_summary *s)
{
    struct summary_oom_kills k = {0};
    uint64_t counted = 0;
    summary_oom_kills(s, &k);
    summary_group_oom_kills(s, &counted);
    return k.most || counted;
}

void report_limits(struct lines *l, const struct baro_summary *s)
{
    const char *of_cores, *of_memory, *of_pids;
    uint64_t v, refused = 0;
    struct buf b = {0};
    summary_cores_limit(s, &of_cores);
    summary_memory_limit(s, &of_memory);
    uint64_t pids = summary_pids_limit(s, &of_pids);
    bool held = summary_throttled(s, &v) == BARO_PRESENT && v >= NS_PER_MS;
    bool killed = any_kills(s);
    summary_fork_refusals(s, &refused);
    unknown(&b, s);
    if (!b.len && !limited(of_cores) && !limited(of_memory) && !held && !killed && !refused)
        return;
    buf_clear(&b);
    lines_begin(l, "limits", held || killed || refused ? TONE_WARN : TONE_FAINT);
    cores(l, s, &b);
    memory(l, s, &b);
    unknown(&b, s);
    lines_part(l, &b);
    report_kills(l, &b, s);
    if (refused) {
        fmt_count(&b, refused);
        buf_str(&b, refused == 1 ? " fork refused" : " forks refused");
        if (pids && limited(of_pids)) {
            buf_str(&b, ": at most ");
            fmt_count(&b, pids);
            buf_str(&b, " threads");
            by(l, &b, of_pids);
        }
    }
    lines_part(l, &b);
    lines_end(l);
    buf_done(&b);
}

/* ---- the machine ---- */

static void others(struct buf *b, const struct baro_summary *s)
{
    double cores;
    uint64_t cpus;
    if (summary_machine_others(s, &cores) != BARO_PRESENT || summary_machine_cpus(s, &cpus) != BARO_PRESENT ||
        cores < LEAST_OTHERS || cores < LEAST_OTHERS_SHARE * (double)cpus)
        return;
    buf_str(b, "others kept ");
    fmt_decimal(b, cores, cores < 10 ? 2 : 1);
    buf_printf(b, " of %llu cores busy", (unsigned long long)cpus);
}

static void steal(struct buf *b, const struct baro_summary *s)
{
    double ratio;
    if (summary_machine_steal(s, &ratio) != BARO_PRESENT || ratio < LEAST_STEAL)
        return;
    lines_percent(b, ratio);
    buf_str(b, " stolen");
}

static void pressure(struct buf *b, const struct baro_summary *s)
{
    static const struct {
        enum machine_counter counter;
        const char *what;
        double least;
    } of[] = {
        {MACHINE_CPU_SOME, "cpu", LEAST_WAIT},
        {MACHINE_MEMORY_SOME, "memory", LEAST_MEMORY_WAIT},
        {MACHINE_IO_SOME, "i/o", LEAST_WAIT},
    };
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        double ratio;
        if (machine_share(&s->machine, of[i].counter, &ratio) != BARO_PRESENT || ratio < of[i].least)
            continue;
        buf_printf(b, "%s %s ", b->len ? "," : "pressure:", of[i].what);
        lines_percent(b, ratio);
    }
}

static void little_memory(struct lines *l, struct buf *b, const struct baro_summary *s)
{
    uint64_t in = 0, out = 0, left, total;
    if (summary_machine_gauge(s, MACHINE_MEMORY_AVAILABLE, &left) == BARO_PRESENT &&
        summary_machine_memory(s, &total) == BARO_PRESENT && left < total / LITTLE_LEFT) {
        fmt_bytes(b, left);
        buf_str(b, " of memory available at the lowest");
        lines_part(l, b);
    }
    summary_machine_grown(s, MACHINE_SWAP_IN, &in);
    summary_machine_grown(s, MACHINE_SWAP_OUT, &out);
    if (in < LEAST_SWAPPED && out < LEAST_SWAPPED)
        return;
    buf_str(b, "swapped ");
    fmt_bytes(b, in);
    buf_str(b, " in, ");
    fmt_bytes(b, out);
    buf_str(b, " out");
    lines_part(l, b);
}

void report_machine(struct lines *l, const struct baro_summary *s)
{
    struct buf out = {0}, b = {0};
    struct lines parts = {.out = &out, .style = l->style, .column = LINES_INDENT};
    uint64_t killed = 0, own = 0;
    struct summary_oom_kills k = {0};
    if (summary_machine_watched_ns(s) >= LEAST_WATCHED) {
        others(&b, s);
        lines_part(&parts, &b);
        steal(&b, s);
        lines_part(&parts, &b);
        pressure(&b, s);
        lines_part(&parts, &b);
        little_memory(&parts, &b, s);
    }
    summary_machine_grown(s, MACHINE_OOM_KILLS, &killed);
    if (summary_group_oom_kills(s, &own) != BARO_PRESENT && summary_oom_kills(s, &k) == BARO_PRESENT)
        own = k.likely;
    if (killed > own)
        kills(&b, "", killed - own, own ? " more OOM-killed" : " OOM-killed");
    lines_part(&parts, &b);
    if (out.len) {
        lines_begin(l, "machine", TONE_FAINT);
        buf_add(l->out, out.at, out.len);
        lines_end(l);
    }
    l->out->failed = l->out->failed || out.failed || b.failed;
    buf_done(&b);
    buf_done(&out);
}
