/* SPDX-License-Identifier: Apache-2.0 */
/* The block at the end of a run: the story in the time it takes to read it. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "derive/limits.h"
#include "report/lines.h"
#include "report/table.h"

#define WIDTH_MIN 40u
#define WIDTH_MAX 100u
#define SHORT (30 * NS_PER_MS) /* ended before its memory was looked at twice */

static struct buf title_of(const struct baro_summary *s)
{
    struct buf b = {0};
    report_arguments((const char *const *)s->argv, &b);
    if (report_is_alone(s)) {
        buf_str(&b, s->host[0] ? s->host : "the machine");
    } else if (!b.len && s->mode == BARO_MODE_ATTACH) {
        buf_printf(&b, "%s%spid %d", s->target_name, s->target_name[0] ? ", " : "", s->targets[0]);
        if (s->n_targets > 1)
            buf_printf(&b, " and %zu more", s->n_targets - 1);
    } else if (!b.len) {
        buf_str(&b, "(no command)");
    }
    buf_byte(&b, 0);
    return b;
}

static enum lines_tone result(const struct baro_summary *s, bool running, struct buf *b)
{
    int status, absent = summary_status(s, &status);
    enum lines_tone tone = TONE_PLAIN;
    if (absent == BARO_PRESENT) {
        report_status(status, b);
        tone = status == 0 ? TONE_GOOD : TONE_BAD;
    } else if (s->detached) {
        buf_str(b, "recorded for");
        return TONE_PLAIN;
    } else if (absent == BARO_ABSENT_UNKNOWN) {
        buf_str(b, "ended, status not known");
    } else {
        buf_str(b, running ? "running" : "cut off, no end on the tape");
        tone = running ? TONE_PLAIN : TONE_WARN;
    }
    return tone;
}

static void head(struct lines *l, const struct baro_summary *s)
{
    struct buf end = {0}, title = title_of(s);
    enum lines_tone tone = result(s, l->style.running, &end);
    buf_str(&end, s->detached ? " " : l->style.utf8 ? " · " : " - ");
    fmt_duration(&end, summary_wall_ns(s));
    unsigned taken = lines_columns((const char *)end.at, end.len), width = l->style.width;
    bool apart = taken + 2 + 20 > width; /* too little is left of the line for the command */
    lines_tone(l, TONE_STRONG);
    size_t from = l->out->len;
    lines_name(l, l->out, title.failed ? "" : (const char *)title.at, apart ? width : width - taken - 2);
    unsigned n = l->out->failed ? 0 : lines_columns((const char *)l->out->at + from, l->out->len - from);
    lines_tone(l, TONE_PLAIN);
    if (apart)
        lines_end(l);
    lines_spaces(l->out, apart ? 2 : n + taken + 2 < width ? width - n - taken : 2);
    lines_tone(l, tone);
    buf_add(l->out, end.at, end.len);
    lines_tone(l, TONE_PLAIN);
    lines_end(l);
    buf_done(&end);
    buf_done(&title);
}

/* Counters of a job that has not been reaped to its end are lower bounds. */
static bool exact(const struct baro_summary *s)
{
    return strcmp(summary_kernel_source(s), "ledger") != 0;
}

static void cpu(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    uint64_t v;
    double mean, peak;
    const char *source;
    int absent = summary_job(s, JOB_cpu, &v);
    lines_begin(l, "cpu", TONE_FAINT);
    if (absent != BARO_PRESENT) {
        buf_printf(&b, "not known: %s", baro_absent_name((enum baro_absent)absent));
        lines_part(l, &b);
        lines_end(l);
        buf_done(&b);
        return;
    }
    buf_str(&b, exact(s) || !v ? "" : "at least ");
    fmt_duration(&b, v);
    if (v && summary_job(s, JOB_cpu_user, &v) == BARO_PRESENT) {
        buf_str(&b, " (user ");
        fmt_duration(&b, v);
        buf_str(&b, ", system ");
        summary_job(s, JOB_cpu_system, &v);
        fmt_duration(&b, v);
        buf_byte(&b, ')');
    }
    lines_part(l, &b);
    if (summary_wall_ns(s) >= 10 * NS_PER_MS && summary_cores_mean(s, &mean) == BARO_PRESENT) {
        fmt_decimal(&b, mean, mean < 10 ? 2 : 1);
        buf_str(&b, " cores of ");
        report_cores(&b, summary_cores_limit(s, &source));
        if (summary_cores_peak(s, &peak) == BARO_PRESENT && peak > mean) {
            buf_str(&b, ", peak ");
            fmt_decimal(&b, peak, peak < 10 ? 2 : 1);
        }
        lines_part(l, &b);
    }
    if (summary_job(s, JOB_run_delay, &v) == BARO_PRESENT && v >= 10 * NS_PER_MS) {
        buf_str(&b, "waited at least ");
        fmt_duration(&b, v);
        buf_str(&b, " for a core");
        lines_part(l, &b);
    }
    lines_end(l);
    buf_done(&b);
}

static void holders(struct lines *l, struct buf *b, const struct baro_summary *s, const struct summary_peak *peak)
{
    for (size_t i = 0; i < peak->n_top && i < 3; i++) {
        const struct summary_holder *h = &peak->top[i];
        buf_str(b, i ? ", " : ": ");
        lines_name(l, b, s->commands.at[h->command].name, 24);
        if (h->processes > 1) {
            buf_printf(b, " %s", lines_times(l));
            fmt_count(b, h->processes);
        }
        if (peak->n_top > 1) {
            buf_byte(b, ' ');
            fmt_bytes(b, h->value);
        }
    }
}

static const char *why_no_memory(const struct baro_summary *s, int absent)
{
    bool unseen = s->ended && (absent == BARO_ABSENT_NOT_YET || absent == BARO_PRESENT);
    return unseen ? "it ended before it was looked at" : baro_absent_name((enum baro_absent)absent);
}

static void peak_between_samples(struct lines *l, struct buf *b, const struct baro_summary *s,
                                 const struct summary_rss *rss)
{
    buf_str(b, "peak at least ");
    fmt_bytes(b, rss->value);
    buf_str(b, " rss");
    if (rss->has_holder && *s->commands.at[rss->holder].name) {
        buf_str(b, ": ");
        lines_name(l, b, s->commands.at[rss->holder].name, 24);
    }
    buf_str(b, ", between samples");
}

/* PSS where nothing can have been higher: it counts shared pages once. Else RSS, and PSS as the lower bound that it is.
 */
static void memory_peak(struct lines *l, const struct baro_summary *s, const struct summary_rss *rss, bool whole)
{
    struct buf b = {0};
    const struct summary_peak *peak = whole ? &s->peak[PEAK_PSS] : &s->peak[PEAK_RSS];
    if (!whole && rss->unsampled) {
        peak_between_samples(l, &b, s, rss);
    } else if (peak->absent == BARO_PRESENT && peak->value) {
        bool bound = whole ? peak->covered < peak->members : rss->is_bound;
        buf_str(&b, bound ? "peak at least " : "peak ");
        fmt_bytes(&b, whole ? peak->value : rss->value);
        buf_str(&b, whole ? " pss at " : " rss at ");
        fmt_moment(&b, peak->t_ns);
        holders(l, &b, s, peak);
    } else {
        buf_printf(&b, "not known: %s", why_no_memory(s, peak->absent));
    }
    lines_part(l, &b);
    buf_done(&b);
}

static void memory(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    const struct summary_peak *pss = &s->peak[PEAK_PSS];
    struct summary_rss rss;
    summary_rss_peak(s, &rss);
    bool whole = summary_memory_peak(s) == pss;
    uint64_t largest;
    int no_largest = summary_job(s, JOB_process_rss_peak, &largest);
    lines_begin(l, "memory", TONE_FAINT);
    memory_peak(l, s, &rss, whole);
    if (!whole && pss->absent == BARO_PRESENT && pss->value) {
        buf_str(&b, summary_pss_is_approximate(s) ? "pss about " : "pss at least ");
        fmt_bytes(&b, pss->value);
        lines_part(l, &b);
    }
    if (no_largest == BARO_PRESENT && largest && (whole || !rss.of_process)) { /* else it is the peak itself */
        buf_str(&b, summary_wall_ns(s) < SHORT ? "largest process at least " : "largest process ");
        fmt_bytes(&b, largest);
    }
    lines_part(l, &b);
    report_memory_share(&b, s);
    lines_part(l, &b);
    if (s->peak[PEAK_SWAP].absent == BARO_PRESENT && s->peak[PEAK_SWAP].value) {
        buf_str(&b, "swap ");
        fmt_bytes(&b, s->peak[PEAK_SWAP].value);
        lines_part(l, &b);
    }
    lines_end(l);
    buf_done(&b);
}

static void amount(struct buf *b, const struct baro_summary *s, enum job_metric metric)
{
    uint64_t v;
    if (summary_job(s, metric, &v) == BARO_PRESENT)
        fmt_bytes(b, v);
    else
        buf_byte(b, '?');
}

/* Of 10 MB and more that the job is charged with; of less, what the disks did was mostly for others. */
static bool differ(uint64_t disks, uint64_t charged)
{
    uint64_t more = disks > charged ? disks : charged, less = disks > charged ? charged : disks;
    return charged >= 10000000 && more - less > more / 10;
}

/*
 * The kernel charges a process when it makes a folio of the page cache dirty, with the whole folio: 4 kB written into
 * each 1 MB of a 512 MB file, four times, were counted as 2,147 MB where write() took 8.4 MB and the disk wrote 8.8 MB
 * (ext4, Linux 6.18). What the disks did is the whole machine's, and may come later.
 */
static void disks(struct buf *b, const struct baro_summary *s)
{
    uint64_t read, written, read_for = 0, written_for = 0;
    summary_job(s, JOB_io_read, &read_for);
    summary_job(s, JOB_io_write, &written_for);
    if (summary_machine_watched_ns(s) < summary_wall_ns(s) / 2 || (!read_for && !written_for) ||
        summary_machine_grown(s, MACHINE_DISK_READ, &read) != BARO_PRESENT ||
        summary_machine_grown(s, MACHINE_DISK_WRITE, &written) != BARO_PRESENT ||
        (!differ(read, read_for) && !differ(written, written_for)))
        return;
    buf_str(b, "the machine's disks: read ");
    fmt_bytes(b, read);
    buf_str(b, ", wrote ");
    fmt_bytes(b, written);
}

static void io(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    int absent = s->job_absent[JOB_io_rchar];
    lines_begin(l, "i/o", TONE_FAINT);
    if (absent != BARO_PRESENT && s->job_absent[JOB_io_read] != BARO_PRESENT) {
        buf_printf(&b, "not known: %s", baro_absent_name((enum baro_absent)absent));
    } else {
        uint64_t bound;
        const char *least = summary_job(s, JOB_io_is_lower_bound, &bound) == BARO_PRESENT && bound ? "at least " : "";
        buf_printf(&b, "read %s", least);
        amount(&b, s, JOB_io_rchar);
        buf_printf(&b, ", wrote %s", least);
        amount(&b, s, JOB_io_wchar);
        lines_part(l, &b);
        buf_printf(&b, "storage (kernel's count): read %s", least);
        amount(&b, s, JOB_io_read);
        buf_printf(&b, ", wrote %s", least);
        amount(&b, s, JOB_io_write);
        lines_part(l, &b);
        disks(&b, s);
    }
    lines_part(l, &b);
    lines_end(l);
    buf_done(&b);
}

static void two_counts(struct lines *l, const struct baro_summary *s, const char *what, enum job_metric one,
                       const char *of_one, enum job_metric other, const char *of_other)
{
    struct buf b = {0};
    uint64_t v, w;
    if (summary_job(s, one, &v) == BARO_PRESENT && summary_job(s, other, &w) == BARO_PRESENT) {
        /* Of a process that ended, these are as of the last look at it; wait4 has them whole. */
        buf_printf(&b, "%s%s", what, strcmp(summary_kernel_source(s), "wait4") == 0 || (!v && !w) ? "" : "at least ");
        fmt_count(&b, v);
        buf_printf(&b, " %s, ", of_one);
        fmt_count(&b, w);
        buf_printf(&b, " %s", of_other);
    }
    lines_part(l, &b);
    buf_done(&b);
}

static void faults(struct lines *l, const struct baro_summary *s)
{
    if (s->job_absent[JOB_faults_minor] != BARO_PRESENT && s->job_absent[JOB_switches_voluntary] != BARO_PRESENT)
        return;
    lines_begin(l, "faults", TONE_FAINT);
    two_counts(l, s, "pages ", JOB_faults_minor, "minor", JOB_faults_major, "major");
    two_counts(l, s, "context switches ", JOB_switches_voluntary, "voluntary", JOB_switches_involuntary, "involuntary");
    lines_end(l);
}

static void unsampled(struct buf *b, const struct baro_summary *s)
{
    uint64_t v;
    int absent = summary_job(s, JOB_processes_unsampled, &v);
    if (absent != BARO_PRESENT || (!v && summary_processes_are_bound(s)))
        buf_str(b, "how many were too short to be sampled is not known");
    else if (v == 0)
        buf_str(b, "all sampled");
    else {
        fmt_count(b, v);
        buf_str(b, " too short to be sampled, counted all the same");
    }
}

static void processes(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    uint64_t v;
    lines_begin(l, "processes", TONE_FAINT);
    if (summary_job(s, JOB_processes_started, &v) == BARO_PRESENT) {
        buf_str(&b, summary_processes_are_bound(s) ? "at least " : "");
        fmt_count(&b, v);
        buf_str(&b, " started");
        if (summary_job(s, JOB_processes_peak, &v) == BARO_PRESENT) {
            buf_str(&b, ", peak ");
            fmt_count(&b, v);
            buf_str(&b, " at once");
        }
        buf_str(&b, ", ");
        unsampled(&b, s);
    } else {
        buf_str(&b, "not known");
    }
    lines_part(l, &b);
    if (s->peak[PEAK_THREADS].absent == BARO_PRESENT && s->peak[PEAK_THREADS].value > 1) {
        fmt_count(&b, s->peak[PEAK_THREADS].value);
        buf_str(&b, " threads");
        lines_part(l, &b);
    }
    if (s->survivors) {
        fmt_count(&b, s->survivors);
        buf_str(&b, s->survivors == 1 ? " outlives it: " : " outlive it: ");
        lines_name(l, &b, *s->survivor ? s->survivor : "(not known)", 24);
        buf_str(&b, s->survivors == 1 ? "" : ", ...");
        lines_part(l, &b);
    }
    lines_end(l);
    buf_done(&b);
}

static void share(struct buf *b, double v)
{
    double percent = v > 1 && v < 1.005 ? 100 : v * 100; /* wait4 counts in microseconds */
    /* 99.97 must not read as 100.0: what is missing is shown. */
    int digits = percent > 99.9 && percent < 100 ? 2 : percent < 1 ? 2 : 1;
    if (percent >= 99.995 && percent < 100)
        percent = 99.99;
    fmt_decimal(b, percent, digits);
    buf_str(b, " %");
}

/* To start takes as much in a short run as in a long one, so its share of a short one is large. */
static void own_start(struct buf *b, const struct baro_summary *s, uint64_t all)
{
    double rate;
    if (!s->self_first_ns || s->self_first_cpu_ns > all ||
        derive_rate(s->self_first_ns, s->self_first_cpu_ns, s->last_ns, all, &rate) != BARO_PRESENT)
        return;
    buf_str(b, ": ");
    fmt_duration(b, s->self_first_cpu_ns);
    buf_str(b, " to start, then ");
    share(b, rate / 1e9);
}

static void own_cost(struct buf *b, const struct baro_summary *s)
{
    uint64_t v;
    double rate;
    if (summary_self(s, RECORDER_cpu, &v) != BARO_PRESENT)
        return;
    buf_str(b, "recorder ");
    if (derive_rate(0, 0, summary_wall_ns(s), v, &rate) == BARO_PRESENT && summary_wall_ns(s) >= NS_PER_SEC) {
        share(b, rate / 1e9);
        buf_str(b, " of a core");
        if (rate / 1e9 * 1e6 > (double)(s->overhead_ppm ? s->overhead_ppm : 10000))
            own_start(b, s, v);
    } else {
        fmt_duration(b, v);
        buf_str(b, " cpu");
    }
    if (summary_self(s, RECORDER_rss_peak, &v) == BARO_PRESENT) {
        buf_str(b, ", ");
        fmt_bytes(b, v);
    }
}

static void accounted(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    double remainder;
    lines_begin(l, "accounted", TONE_FAINT);
    if (summary_remainder(s, &remainder) == BARO_PRESENT) {
        share(&b, 1 - remainder);
        buf_str(&b, " of ");
        fmt_duration(&b, s->job[JOB_cpu]);
        buf_str(&b, " attributed to processes");
        lines_part(l, &b);
    }
    if (s->own_cgroup)
        buf_str(&b, "in a control group of its own");
    lines_part(l, &b);
    own_cost(&b, s);
    lines_part(l, &b);
    lines_end(l);
    buf_done(&b);
}

static void before(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    if (!s->before.known || !s->before.cpu_ns)
        return;
    lines_begin(l, "before", TONE_FAINT);
    fmt_duration(&b, s->before.cpu_ns);
    buf_str(&b, " cpu used before attaching, counted in nothing above");
    lines_part(l, &b);
    lines_end(l);
    buf_done(&b);
}

static void started(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    lines_begin(l, "started", TONE_FAINT);
    fmt_time_zone(&b, s->start_realtime_ns, l->style.zone, false);
    if (s->host[0]) {
        buf_str(&b, " on ");
        lines_name(l, &b, s->host, 40);
    }
    lines_part(l, &b);
    if (s->kernel[0]) {
        buf_str(&b, "Linux ");
        lines_name(l, &b, s->kernel, 40);
    }
    lines_part(l, &b);
    lines_end(l);
    buf_done(&b);
}

void report_block(const struct baro_summary *s, const char *tape, struct report_style style, struct buf *ret)
{
    style.width = style.width < WIDTH_MIN ? WIDTH_MIN : style.width > WIDTH_MAX ? WIDTH_MAX : style.width;
    struct lines l = {.out = ret, .style = style};
    size_t from = ret->len;
    head(&l, s);
    if (report_is_alone(s)) {
        report_alone(&l, s);
        report_machine(&l, s);
    } else {
        cpu(&l, s);
        memory(&l, s);
        io(&l, s);
        faults(&l, s);
        processes(&l, s);
        report_limits(&l, s);
        report_machine(&l, s);
        report_commands(&l, s);
    }
    accounted(&l, s);
    before(&l, s);
    report_notes(&l, s);
    started(&l, s);
    if (tape) {
        struct buf b = {0};
        lines_begin(&l, "tape", TONE_FAINT);
        lines_name(&l, &b, tape, 4096);
        lines_part(&l, &b);
        lines_end(&l);
        buf_done(&b);
    }
    if (!style.utf8)
        report_ascii(ret, from);
}
