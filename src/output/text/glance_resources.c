/* SPDX-License-Identifier: Apache-2.0 */
/* A row for each resource that the job used: its curve, how much, and who held it. */
#include <string.h>

#include "base/fmt.h"
#include "base/block_chars.h"
#include "output/text/glance.h"
#include "output/text/read_fact.h"

#define USED_BYTES 10000000  /* less I/O than that is not worth a row */
#define APART 10u            /* a tenth */
#define APART_BYTES 16000000 /* a program and its libraries */

/* fact: NULL: no curve, its room stays empty. full: the value of a full block, 0: the largest. */
static void put_row(struct glance *g, enum glance_drop drop, const char *label, const char *fact, double full,
                    enum lines_tone tone, struct buf *text)
{
    struct lines l = glance_row(g, drop, "", TONE_FAINT, label, g->label);
    if (g->axis.columns) {
        lines_tone(&l, tone);
        if (!fact || !report_curve(&l, g->s, fact, &g->axis, full))
            buf_spaces(l.out, g->axis.columns);
        lines_tone(&l, TONE_PLAIN);
        buf_spaces(l.out, 2);
        l.column += g->axis.columns + 2;
    }
    glance_end(g, &l, text);
}

static void put_cpu(struct glance *g)
{
    struct buf b = {0};
    struct baro_value cpu = report_fact(g->s, "job", "cpu_ns"), mean = report_fact(g->s, "job", "cores_mean"),
                      peak = report_fact(g->s, "job", "cores_peak");
    double cores = report_fact(g->s, "limits", "cores_at_most").real;
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
    put_row(g, DROP_NEVER, "cpu", "cores", cores, TONE_CPU, &b);
}

/* Writes who held most at the peak, where that is not the whole job. */
static void put_holder(struct glance *g, struct buf *b)
{
    struct lines l = {.style = g->style};
    const char *name = report_row(g->s, "rss_peak_held_by", "name", 0).text;
    uint64_t n = report_row(g->s, "rss_peak_held_by", "processes", 0).u64;
    if (report_rows(g->s, "rss_peak_held_by") < 2 || !name || !*name)
        return;
    buf_str(b, " · ");
    lines_name(&l, b, name, 20);
    if (n > 1)
        buf_printf(b, " ×%s", COUNT(n));
    buf_printf(b, " %s", BYTES(report_row(g->s, "rss_peak_held_by", "bytes", 0).u64));
}

/* A limit is of what is needed, which counts shared pages once, and tmpfs. */
static void put_memory(struct glance *g)
{
    struct buf b = {0};
    struct baro_value rss = report_fact(g->s, "job", "rss_peak_bytes"),
                      needed = report_fact(g->s, "limits", "memory_peak_bytes"),
                      ratio = report_fact(g->s, "limits", "memory_peak_ratio");
    bool is_limited = report_is_limit(report_text(g->s, "limits", "memory_at_most_source"));
    double full = 0;
    if (is_limited && !ratio.absent && !needed.absent) {
        report_marked(&b, needed, fmt_bytes);
        buf_str(&b, " of ");
        fmt_limit(&b, report_u64(g->s, "limits", "memory_at_most_bytes"));
        full = (double)report_u64(g->s, "limits", "memory_at_most_bytes");
    } else if (rss.absent || !rss.u64) {
        report_not_known(&b, rss.absent);
    } else {
        report_marked(&b, rss, fmt_bytes);
        uint64_t apart = needed.u64 > rss.u64 ? needed.u64 - rss.u64 : rss.u64 - needed.u64;
        if (!needed.absent && apart > rss.u64 / 4 && apart >= APART_BYTES)
            buf_printf(&b, " rss, needed %s", MARKED(needed, fmt_bytes));
    }
    put_holder(g, &b);
    put_row(g, DROP_NEVER, "memory", "rss_peak_bytes", full, TONE_MEMORY, &b);
}

static void put_io(struct glance *g)
{
    struct buf b = {0};
    struct baro_value read = report_fact(g->s, "job", "io_rchar_bytes"),
                      wrote = report_fact(g->s, "job", "io_wchar_bytes"),
                      fetched = report_fact(g->s, "job", "io_read_bytes"),
                      stored = report_fact(g->s, "job", "io_write_bytes");
    uint64_t passed = read.u64 + wrote.u64, disk = fetched.u64 + stored.u64;
    if (passed < USED_BYTES && disk < USED_BYTES)
        return;
    if (!read.absent && !report_says_nothing(read))
        buf_printf(&b, "read %s", MARKED(read, fmt_bytes));
    if (!wrote.absent && !report_says_nothing(wrote))
        buf_printf(&b, "%swrote %s", b.len ? ", " : "", MARKED(wrote, fmt_bytes));
    uint64_t apart = disk > passed ? disk - passed : passed - disk;
    if (disk >= USED_BYTES && (apart > passed / APART || !b.len)) {
        buf_str(&b, b.len ? " · disk " : "disk ");
        buf_printf(&b, "%s, %s", MARKED(fetched, fmt_bytes), MARKED(stored, fmt_bytes));
    }
    put_row(g, DROP_NEVER, "i/o", "io_bytes_per_second", 0, TONE_IO, &b);
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

/* Puts the parts of a line of the long block into one row. */
static void put_line(struct glance *g, enum glance_drop drop, const char *label, const char *only,
                     void (*report)(struct lines *l, const struct baro_summary *s))
{
    struct buf none = {0};
    struct joined joined = {.label = only};
    struct lines l = {.out = &none, .style = g->style, .visit = join_part, .context = &joined};
    report(&l, g->s);
    if (joined.text.len)
        put_row(g, drop, label, NULL, 0, TONE_PLAIN, &joined.text);
    buf_done(&joined.text);
    buf_done(&none);
}

void glance_resources(struct glance *g)
{
    struct baro_value gpus = report_fact(g->s, "gpu", "used");
    put_cpu(g);
    put_memory(g);
    put_io(g);
    if (report_rows(g->s, "gpus") && (gpus.absent || gpus.u64))
        put_line(g, DROP_NEVER, "gpu", "gpu", report_gpus);
    put_line(g, DROP_RESOURCE, "network", NULL, report_network);
    put_line(g, DROP_RESOURCE, "disk of", NULL, report_directories);
}

void glance_host(struct glance *g)
{
    static const char *const labels[] = {"cpu", "memory", "disks", "network"};
    for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++)
        put_line(g, DROP_NEVER, labels[i], labels[i], report_host);
    put_line(g, DROP_NEVER, "gpu", "gpu", report_gpus);
    put_line(g, DROP_RESOURCE, "disk of", NULL, report_directories);
}
