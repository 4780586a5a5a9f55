/* SPDX-License-Identifier: Apache-2.0 */
/* How much the job used of each resource, and who held it: a line each. */
#include <string.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "output/text/parts.h"
#include "output/text/read_fact.h"
#include "output/text/used.h"

#define USED_BYTES 10000000 /* less I/O than that is small */
#define WAITED_LEAST_NS (10 * NS_PER_MS)
#define IO_WAITED_LEAST 0.1
#define APART 10u            /* a tenth */
#define APART_BYTES 16000000 /* a program and its libraries */

struct walk {
    const struct baro_summary *s;
    struct report_style style;
    used_visit *visit;
    void *context;
};

static void put_used(const struct walk *w, struct used u, struct buf *text)
{
    u.text = text;
    if (text->len || text->failed)
        w->visit(w->context, &u);
    buf_done(text);
}

static void put_cpu(const struct walk *w)
{
    struct buf b = {0};
    struct baro_value cpu = report_fact(w->s, "job", "cpu_ns"), mean = report_fact(w->s, "job", "cores_mean"),
                      peak = report_fact(w->s, "job", "cores_peak");
    double cores = report_fact(w->s, "limits", "cores_at_most").real;
    if (cpu.absent)
        report_not_known(&b, cpu.absent);
    else
        report_marked(&b, cpu, fmt_duration);
    if (!cpu.absent && !mean.absent) {
        buf_printf(&b, " · %s%s of ", baro_value_prefix(mean.flags, BARO_PREFIX_SYMBOL), CORES(mean.real));
        report_cores(&b, cores);
        buf_str(&b, cores == 1 ? " core" : " cores");
        if (!peak.absent && peak.real >= mean.real * 1.1 && peak.real > 0.1)
            buf_printf(&b, ", peak %s%s", baro_value_prefix(peak.flags, BARO_PREFIX_SYMBOL), CORES(peak.real));
    }
    put_used(w, (struct used){.label = "cpu", .curve = "cores", .full = cores, .tone = TONE_CPU}, &b);
}

/* Writes who held most at the peak, where that is not the whole job. */
static void put_holder(const struct walk *w, bool is_needed, struct buf *b)
{
    struct lines l = {.style = w->style};
    const char *name = report_row(w->s, "rss_peak_held_by", "name", 0).text;
    uint64_t n = report_row(w->s, "rss_peak_held_by", "processes", 0).u64;
    if (report_rows(w->s, "rss_peak_held_by") < 2 || !name || !*name)
        return;
    buf_str(b, " · ");
    lines_name(&l, b, name, 20);
    if (n > 1)
        buf_printf(b, " ×%s", COUNT(n));
    if (!is_needed) /* it counts shared pages, which what is needed does not */
        buf_printf(b, " %s", BYTES(report_row(w->s, "rss_peak_held_by", "bytes", 0).u64));
}

/* A limit is of what is needed, which counts shared pages once, and tmpfs. */
static void put_memory(const struct walk *w)
{
    struct buf b = {0};
    struct baro_value rss = report_fact(w->s, "job", "rss_peak_bytes"),
                      needed = report_fact(w->s, "limits", "memory_peak_bytes"),
                      ratio = report_fact(w->s, "limits", "memory_peak_ratio");
    bool is_limited = report_is_limit(report_text(w->s, "limits", "memory_at_most_source"));
    double full = 0;
    if (is_limited && !ratio.absent && !needed.absent) {
        buf_printf(&b, "%s %s", report_needed(w->s), MARKED(needed, fmt_bytes));
        if (!ratio.flags)
            buf_printf(&b, ", %s", PERCENT(ratio.real));
        buf_str(&b, " of ");
        fmt_limit(&b, report_u64(w->s, "limits", "memory_at_most_bytes"));
        full = (double)report_u64(w->s, "limits", "memory_at_most_bytes");
    } else if (rss.absent || !rss.u64) {
        report_not_known(&b, rss.absent);
    } else {
        report_marked(&b, rss, fmt_bytes);
        uint64_t apart = needed.u64 > rss.u64 ? needed.u64 - rss.u64 : rss.u64 - needed.u64;
        struct baro_value most = report_fact(w->s, "limits", "memory_peak_at_most_bytes");
        /* A bound that is less than rss says nothing, unless what may be needed is less, too. */
        bool is_little = needed.flags & BARO_VALUE_LOWER_BOUND && needed.u64 < rss.u64 &&
                         (most.absent || most.u64 > rss.u64 - rss.u64 / 4);
        if (!needed.absent && !is_little && apart > rss.u64 / 4 && apart >= APART_BYTES)
            buf_printf(&b, " rss, %s %s", report_needed(w->s), MARKED(needed, fmt_bytes));
    }
    put_holder(w, full > 0, &b);
    put_used(w, (struct used){.label = "memory", .curve = "rss_peak_bytes", .full = full, .tone = TONE_MEMORY}, &b);
}

static void put_io(const struct walk *w)
{
    struct buf b = {0};
    struct baro_value read = report_fact(w->s, "job", "io_rchar_bytes"),
                      wrote = report_fact(w->s, "job", "io_wchar_bytes"),
                      fetched = report_fact(w->s, "job", "io_read_bytes"),
                      stored = report_fact(w->s, "job", "io_write_bytes");
    uint64_t passed = read.u64 + wrote.u64, disk = fetched.u64 + stored.u64;
    bool is_small = passed < USED_BYTES && disk < USED_BYTES;
    if (!read.absent && !report_says_nothing(read))
        buf_printf(&b, "read %s", MARKED(read, fmt_bytes));
    if (!wrote.absent && !report_says_nothing(wrote))
        buf_printf(&b, "%swrote %s", b.len ? ", " : "", MARKED(wrote, fmt_bytes));
    uint64_t apart = disk > passed ? disk - passed : passed - disk;
    if (disk >= USED_BYTES && (apart > passed / APART || !b.len)) {
        buf_str(&b, b.len ? " · disk " : "disk ");
        buf_printf(&b, "%s, %s", MARKED(fetched, fmt_bytes), MARKED(stored, fmt_bytes));
    }
    put_used(w, (struct used){.label = "i/o", .curve = "io_bytes_per_second", .tone = TONE_IO, .is_small = is_small},
             &b);
}

struct joined {
    const char *label; /* parts of this line alone; NULL: of all */
    struct buf text;
};

static void join_part(void *context, const char *label, const char *part, size_t len)
{
    struct joined *j = context;
    if (j->label && strcmp(j->label, label) != 0)
        return;
    buf_str(&j->text, j->text.len ? " · " : "");
    buf_add(&j->text, part, len);
}

/* Puts the parts of a line of the long block into one. */
static void put_line(const struct walk *w, const char *label, bool is_minor, const char *only,
                     void (*report)(struct lines *l, const struct baro_summary *s))
{
    struct buf none = {0};
    struct joined joined = {.label = only};
    struct lines l = {.out = &none, .style = w->style, .visit = join_part, .context = &joined};
    report(&l, w->s);
    put_used(w, (struct used){.label = label, .is_minor = is_minor, .tone = TONE_PLAIN}, &joined.text);
    buf_done(&none);
}

/* A tape that has the machine and no job. */
static void put_host(const struct walk *w)
{
    static const char *const labels[] = {"cpu", "memory", "disks", "network"};
    for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++)
        put_line(w, labels[i], false, labels[i], report_host);
    put_line(w, "gpu", false, "gpu", report_gpus);
    put_line(w, "disk of", true, NULL, report_directories);
}

void used_rows(const struct baro_summary *s, struct report_style style, used_visit *visit, void *context)
{
    struct walk w = {.s = s, .style = style, .visit = visit, .context = context};
    if (report_is_host_only(s) || report_is_machine(s)) {
        put_host(&w);
        return;
    }
    struct baro_value gpus = report_fact(s, "gpu", "used");
    put_cpu(&w);
    put_memory(&w);
    put_io(&w);
    if (report_rows(s, "gpus") && (gpus.absent || gpus.u64))
        put_line(&w, "gpu", false, "gpu", report_gpus);
    put_line(&w, "network", true, NULL, report_network);
    put_line(&w, "disk of", true, NULL, report_directories);
}

void used_waiting(const struct baro_summary *s, struct buf *ret)
{
    struct baro_value delay = report_fact(s, "job", "run_delay_ns");
    uint64_t throttled = report_u64(s, "limits", "throttled_ns");
    double io;
    size_t from = ret->len;
    if (delay.u64 >= WAITED_LEAST_NS)
        buf_printf(ret, "%s for a core", MARKED(delay, fmt_duration));
    if (throttled >= WAITED_LEAST_NS)
        buf_printf(ret, "%s%s by a quota of CPU time", ret->len > from ? " · " : "", DURATION(throttled));
    if (report_has_real(s, "host.pressure", "io_some_ratio", &io) && io >= IO_WAITED_LEAST)
        buf_printf(ret, "%sthreads of the machine for i/o %s of the time", ret->len > from ? " · " : "", PERCENT(io));
}
