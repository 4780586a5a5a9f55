/* SPDX-License-Identifier: Apache-2.0 */
/* The block at the end of a run. */
#include "base/clock.h"
#include "base/fmt.h"
#include "output/text/parts.h"
#include "output/text/read.h"

static void put_target(struct buf *b, const struct baro_summary *s)
{
    struct baro_value name = report_fact(s, "targets", "name");
    size_t n = report_rows(s, "targets");
    buf_printf(b, "%s%spid %d", name.absent ? "" : name.text, name.absent ? "" : ", ",
               (int)report_u64(s, "targets", "pid"));
    if (n > 1)
        buf_printf(b, " and %zu more", n - 1);
}

void report_title(const struct baro_summary *s, struct buf *ret)
{
    size_t from = ret->len;
    const char *host = report_text(s, "host", "name"), *name = report_text(s, "", "name");
    buf_str(ret, name);
    for (size_t i = 0; !*name && i < report_rows(s, "command"); i++) {
        buf_str(ret, i ? " " : "");
        report_argument(report_row(s, "command", "argument", i).text, ret);
    }
    if (report_is_host_only(s))
        buf_str(ret, *host ? host : "the machine");
    else if (ret->len == from && report_text_is(s, "", "mode", "attach"))
        put_target(ret, s);
    else if (ret->len == from)
        buf_str(ret, "(no command)");
}

/* By an observer: the tape has no end, as another observer may go on with it. */
static bool is_stopped(const struct baro_summary *s)
{
    return report_is(s, "exit", "is_detached") && report_fact(s, "exit", "wait_status").absent == BARO_ABSENT_NOT_YET;
}

enum report_result report_result(const struct baro_summary *s, bool running, struct buf *ret)
{
    struct baro_value status = report_fact(s, "exit", "wait_status");
    if (status.absent == BARO_PRESENT) {
        report_status((int)status.u64, ret);
        return status.u64 == 0 ? REPORT_GOOD : REPORT_BAD;
    }
    if (report_is(s, "exit", "is_detached")) {
        buf_str(ret, is_stopped(s) ? "recording stopped, the job was running" : "recorded for");
        return REPORT_OTHER;
    }
    if (status.absent == BARO_ABSENT_UNKNOWN) {
        buf_str(ret, "ended, status not known");
        return REPORT_OTHER;
    }
    buf_str(ret, running ? "running" : "cut off, no end on the tape");
    return running ? REPORT_OTHER : REPORT_CUT_OFF;
}

static void head(struct lines *l, const struct baro_summary *s)
{
    static const enum lines_tone tones[] = {
        [REPORT_GOOD] = TONE_GOOD, [REPORT_BAD] = TONE_BAD, [REPORT_CUT_OFF] = TONE_WARN, [REPORT_OTHER] = TONE_PLAIN};
    struct buf end = {0}, title = {0};
    enum lines_tone tone = tones[report_result(s, l->style.running, &end)];
    report_title(s, &title);
    buf_byte(&title, 0);
    buf_str(&end, report_is(s, "exit", "is_detached") && !is_stopped(s) ? " " : l->style.utf8 ? " · " : " - ");
    fmt_duration(&end, report_u64(s, "", "wall_ns"));
    unsigned taken = lines_columns((const char *)end.at, end.len), width = l->style.width;
    bool apart = taken + 2 + 20 > width; /* too little of the line is left for the command */
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

static void not_known(struct buf *b, int absent)
{
    buf_printf(b, "not known: %s", report_reason(absent));
}

/* ---- cpu ---- */

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
        not_known(b, cpu.absent);
        return;
    }
    report_marked(b, cpu, fmt_duration);
    if (!cpu.u64 || (user.absent && system.absent))
        return;
    buf_str(b, " (");
    put_part_of_cpu(b, "user ", user);
    buf_str(b, user.absent || system.absent ? "" : ", ");
    put_part_of_cpu(b, "system ", system);
    buf_byte(b, ')');
}

static void put_block_cores(struct buf *b, struct baro_value v)
{
    buf_str(b, baro_value_prefix(v.flags, BARO_PREFIX_WORDS));
    fmt_decimal(b, v.real, v.real < 10 ? 2 : 1);
}

static void cores(struct buf *b, const struct baro_summary *s)
{
    struct baro_value mean = report_fact(s, "job", "cores_mean"), peak = report_fact(s, "job", "cores_peak");
    if (report_u64(s, "", "wall_ns") < 10 * NS_PER_MS || mean.absent)
        return;
    put_block_cores(b, mean);
    buf_str(b, " cores of ");
    report_cores(b, report_fact(s, "limits", "cores_at_most").real);
    if (!peak.absent && peak.real > mean.real) {
        buf_str(b, ", peak ");
        put_block_cores(b, peak);
    }
}

/* Nobody reads how long the threads of a short job waited. */
static bool delay_is_unknown(const struct baro_summary *s)
{
    uint64_t lag = report_u64(s, "job", "run_delay_lag_ns");
    return lag >= NS_PER_SEC && lag > report_u64(s, "job", "cpu_ns") / 2;
}

static void cpu(struct lines *l, const struct baro_summary *s)
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
    if (is_known && delay.u64 >= 10 * NS_PER_MS) {
        buf_str(&b, "waited ");
        report_marked(&b, delay, fmt_duration);
        buf_str(&b, " for a core");
    } else if (is_known && delay_is_unknown(s)) {
        buf_str(&b, "how long it waited for a core is not known");
    }
    lines_part(l, &b);
    lines_end(l);
    buf_done(&b);
}

/* ---- i/o ---- */

static void amount(struct buf *b, const struct baro_summary *s, const char *before, const char *name)
{
    struct baro_value v = report_fact(s, "job", name);
    buf_str(b, before);
    report_marked(b, v, fmt_bytes);
    buf_str(b, v.absent ? "not known" : "");
}

/* For a job that is charged with 10 MB and more; what the disks wrote beside less was mostly for others. */
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
    uint64_t read, written, charged_read = report_u64(s, "job", "io_read_bytes"),
                            charged_write = report_u64(s, "job", "io_write_bytes");
    if (report_u64(s, "host", "watched_ns") < report_u64(s, "", "wall_ns") / 2 || (!charged_read && !charged_write) ||
        !report_has_u64(s, "host", "disk_read_bytes", &read) ||
        !report_has_u64(s, "host", "disk_write_bytes", &written) ||
        (!differ(read, charged_read) && !differ(written, charged_write)))
        return;
    buf_str(b, "the machine's disks: read ");
    fmt_bytes(b, read);
    buf_str(b, ", wrote ");
    fmt_bytes(b, written);
}

/* More was fetched from storage than was passed to read(): example: a program that maps a file of 200 MB passes nothing
 * to it. */
static bool fetched_more(const struct baro_summary *s)
{
    uint64_t passed, fetched;
    return report_has_u64(s, "job", "io_rchar_bytes", &passed) && report_has_u64(s, "job", "io_read_bytes", &fetched) &&
           fetched > passed;
}

static void io(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    int absent = report_fact(s, "job", "io_rchar_bytes").absent;
    lines_begin(l, "i/o", TONE_FAINT);
    if (absent && report_fact(s, "job", "io_read_bytes").absent) {
        not_known(&b, absent);
    } else {
        amount(&b, s, "read() ", "io_rchar_bytes");
        amount(&b, s, ", write() ", "io_wchar_bytes");
        lines_part(l, &b);
        amount(&b, s, "storage (kernel's count): read ", "io_read_bytes");
        buf_str(&b, fetched_more(s) ? " (mapped files and read-ahead too)" : "");
        amount(&b, s, ", wrote ", "io_write_bytes");
        lines_part(l, &b);
        disks(&b, s);
    }
    lines_part(l, &b);
    lines_end(l);
    buf_done(&b);
}

/* ---- faults and processes ---- */

/* "at least 5 major"; "major not known" */
static void put_count(struct buf *b, struct baro_value v, const char *of)
{
    if (report_says_nothing(v))
        buf_printf(b, "%s ", of);
    report_marked(b, v, fmt_count);
    if (!report_says_nothing(v))
        buf_printf(b, " %s", of);
}

static void two_counts(struct lines *l, const char *what, struct baro_value one, const char *of_one,
                       struct baro_value other, const char *of_other)
{
    struct buf b = {0};
    if (!one.absent && !other.absent) {
        buf_str(&b, what);
        put_count(&b, one, of_one);
        buf_str(&b, ", ");
        put_count(&b, other, of_other);
    }
    lines_part(l, &b);
    buf_done(&b);
}

static void faults(struct lines *l, const struct baro_summary *s)
{
    struct baro_value minor = report_fact(s, "job", "faults_minor"),
                      voluntary = report_fact(s, "job", "switches_voluntary");
    if (minor.absent && voluntary.absent)
        return;
    lines_begin(l, "faults", TONE_FAINT);
    two_counts(l, "pages ", minor, "minor", report_fact(s, "job", "faults_major"), "major");
    two_counts(l, "context switches ", voluntary, "voluntary", report_fact(s, "job", "switches_involuntary"),
               "involuntary");
    lines_end(l);
}

/* Is there an upper bound of how many processes began? */
static bool is_range(const struct baro_summary *s, uint64_t *ret_most)
{
    struct baro_value most = report_fact(s, "job", "processes_started_at_most");
    *ret_most = most.u64;
    return report_is(s, "job", "processes_started_is_lower_bound") && !most.absent;
}

static void unsampled(struct buf *b, const struct baro_summary *s)
{
    struct baro_value v = report_fact(s, "job", "processes_unsampled");
    uint64_t most;
    if (report_fact(s, "job", "processes_started").absent)
        return;
    if (is_range(s, &most)) {
        uint64_t unseen = most - report_u64(s, "job", "processes_started");
        fmt_count(b, unseen);
        buf_printf(b, " process%s at most %s not seen", unseen == 1 ? "" : "es", unseen == 1 ? "was" : "were");
    } else if (v.absent || (!v.u64 && report_is(s, "job", "processes_started_is_lower_bound"))) {
        buf_str(b, "how many processes were too short to be sampled is not known");
    } else if (v.u64) {
        fmt_count(b, v.u64);
        buf_str(b, v.u64 == 1 ? " process was too short to be sampled, counted all the same"
                              : " processes were too short to be sampled, counted all the same");
    }
}

/* "at least 280", or, where there is a bound, "280 to 301". */
static void started_count(struct buf *b, const struct baro_summary *s, struct baro_value v)
{
    uint64_t most;
    bool both = is_range(s, &most);
    v.flags = both ? 0 : v.flags;
    report_marked(b, v, fmt_count);
    if (!both)
        return;
    buf_str(b, " to ");
    fmt_count(b, most);
}

static void started(struct buf *b, const struct baro_summary *s)
{
    struct baro_value v = report_fact(s, "job", "processes_started");
    struct baro_value peak = report_fact(s, "job", "processes_peak");
    if (report_says_nothing(v)) {
        buf_str(b, "not known");
        return;
    }
    started_count(b, s, v);
    buf_str(b, " started");
    if (!peak.absent) {
        buf_str(b, ", peak ");
        report_marked(b, peak, fmt_count);
        buf_str(b, " at once");
    }
}

static void processes(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    struct baro_value threads = report_fact(s, "job", "threads_peak");
    uint64_t survivors = report_u64(s, "job", "survivors");
    struct baro_value survivor = report_fact(s, "job", "survivor_name");
    lines_begin(l, "processes", TONE_FAINT);
    started(&b, s);
    lines_part(l, &b);
    if (threads.u64 > report_u64(s, "job", "processes_peak")) { /* each process has one */
        report_marked(&b, threads, fmt_count);
        buf_str(&b, " threads");
    }
    lines_part(l, &b);
    if (survivors) {
        fmt_count(&b, survivors);
        buf_str(&b, survivors == 1 ? " outlives it: " : " outlive it: ");
        lines_name(l, &b, survivor.absent ? "(not known)" : survivor.text, 24);
        buf_str(&b, survivors == 1 ? "" : ", ...");
    }
    lines_part(l, &b);
    lines_end(l);
    buf_done(&b);
}

/* ---- accounting ---- */

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

/* To start takes as much in a short run as in a long one, so it is a large share of a short one. */
static void cost_to_start(struct buf *b, const struct baro_summary *s)
{
    uint64_t to_start;
    double after;
    if (!report_has_u64(s, "recorder", "cpu_to_start_ns", &to_start) ||
        !report_has_real(s, "recorder", "cpu_after_start_ratio", &after))
        return;
    buf_str(b, ": ");
    fmt_duration(b, to_start);
    buf_str(b, " to start, then ");
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
        fmt_duration(b, cpu_ns);
        buf_str(b, " cpu");
    }
    if (report_has_u64(s, "recorder", "rss_peak_bytes", &rss)) {
        buf_str(b, ", ");
        fmt_bytes(b, rss);
    }
}

static void accounted(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    double remainder;
    lines_begin(l, "accounted", TONE_FAINT);
    if (report_has_real(s, "accounting", "remainder_ratio", &remainder)) {
        struct baro_value cpu = report_fact(s, "job", "cpu_ns");
        unsigned flags = cpu.flags & BARO_VALUE_LOWER_BOUND ? BARO_VALUE_UPPER_BOUND : cpu.flags;
        buf_str(&b, baro_value_prefix(flags, BARO_PREFIX_WORDS));
        share(&b, 1 - remainder);
        buf_str(&b, " of ");
        report_marked(&b, cpu, fmt_duration);
        buf_str(&b, " attributed to processes");
        lines_part(l, &b);
    }
    unsampled(&b, s);
    lines_part(l, &b);
    if (report_text_is(s, "", "cgroup", "own"))
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
    uint64_t cpu_ns = report_u64(s, "before", "cpu_ns");
    if (!cpu_ns)
        return;
    lines_begin(l, "before", TONE_FAINT);
    fmt_duration(&b, cpu_ns);
    buf_str(&b, " cpu used before attaching, counted in nothing above");
    lines_part(l, &b);
    lines_end(l);
    buf_done(&b);
}

static void place_and_time(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    const char *host = report_text(s, "host", "name"), *kernel = report_text(s, "host", "kernel");
    lines_begin(l, "started", TONE_FAINT);
    fmt_time_zone(&b, report_fact(s, "", "start").i64, l->style.zone, false);
    if (*host) {
        buf_str(&b, " on ");
        lines_name(l, &b, host, 40);
    }
    lines_part(l, &b);
    if (*kernel) {
        buf_str(&b, "Linux ");
        lines_name(l, &b, kernel, 40);
    }
    lines_part(l, &b);
    lines_end(l);
    buf_done(&b);
}

static void path(struct lines *l, const char *tape)
{
    struct buf b = {0};
    if (!tape)
        return;
    lines_begin(l, "tape", TONE_FAINT);
    lines_name(l, &b, tape, 4096);
    lines_part(l, &b);
    lines_end(l);
    buf_done(&b);
}

/* All lines but the title, the table of commands, and when and where the recording began. */
static void lines_before_table(struct lines *l, const struct baro_summary *s)
{
    if (report_is_host_only(s)) {
        report_host(l, s);
        report_directories(l, s);
        report_gpus(l, s);
        report_machine(l, s);
        return;
    }
    cpu(l, s);
    report_memory(l, s);
    io(l, s);
    report_network(l, s);
    faults(l, s);
    processes(l, s);
    report_directories(l, s);
    report_gpus(l, s);
    report_limits(l, s);
    report_machine(l, s);
}

/* How complete the recording is, and what it cost: below what was asked for. */
static void lines_about_recording(struct lines *l, const struct baro_summary *s)
{
    accounted(l, s);
    before(l, s);
    report_notes(l, s);
}

void report_block(const struct baro_summary *s, const char *tape, struct report_style style, struct buf *ret)
{
    style = lines_fit(style);
    struct lines l = {.out = ret, .style = style};
    size_t from = ret->len;
    head(&l, s);
    bool drawn = style.curves && report_curves(&l, s); /* with the phases */
    lines_before_table(&l, s);
    if (style.timeline && !drawn)
        report_phases(&l, style.timeline);
    if (!report_is_host_only(s))
        report_commands(&l, s);
    place_and_time(&l, s);
    path(&l, tape);
    lines_about_recording(&l, s);
    if (!style.utf8)
        report_ascii(ret, from);
}

void report_words(const struct baro_summary *s, struct report_style style, report_visit *visit, void *context)
{
    struct buf none = {0};
    struct lines l = {.out = &none, .style = style, .visit = visit, .context = context};
    lines_before_table(&l, s);
    lines_about_recording(&l, s);
    buf_done(&none);
}
