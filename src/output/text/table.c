/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of the job, as a table. */
#include <string.h>

#include "base/fmt.h"
#include "output/text/cells.h"
#include "output/text/parts.h"
#include "output/text/read_fact.h"

#define ROWS 5u

/* A command, or several together. */
struct command_figures {
    uint64_t processes, cpu_ns, rss_bytes, tcp_bytes[2];
    bool has_cpu, has_rss;
    unsigned process_flags, cpu_flags, rss_flags, tcp_flags;
};

static const char *const tcp_facts[] = {"tcp_sent_bytes", "tcp_received_bytes"};

/* Adds the figures of a command. The peak of several commands is the largest mark of one process, and no sum; it is
 * a lower bound if one of them is. */
static void add_figures(struct command_figures *f, const struct baro_summary *s, size_t i)
{
    struct baro_value cpu = report_row(s, "commands", "cpu_ns", i),
                      rss = report_row(s, "commands", "rss_peak_bytes", i),
                      processes = report_row(s, "commands", "processes", i);
    f->processes += processes.u64;
    f->process_flags |= processes.flags;
    f->cpu_ns += cpu.u64;
    f->rss_bytes = rss.u64 > f->rss_bytes ? rss.u64 : f->rss_bytes;
    f->has_cpu = f->has_cpu || !cpu.absent;
    f->has_rss = f->has_rss || !rss.absent;
    f->cpu_flags |= cpu.flags;
    f->rss_flags |= rss.flags;
    for (size_t k = 0; k < 2; k++) {
        struct baro_value tcp = report_row(s, "commands", tcp_facts[k], i);
        f->tcp_bytes[k] += tcp.u64;
        f->tcp_flags |= tcp.flags;
    }
}

static void put_marked(struct buf *b, unsigned flags, uint64_t v, void (*format)(struct buf *, uint64_t))
{
    buf_str(b, baro_value_prefix(flags, BARO_PREFIX_SYMBOL));
    format(b, v);
}

/* Leaves out "at least 0". Returns whether a number was written. */
static bool put_known(struct buf *b, bool is, unsigned flags, uint64_t v, void (*format)(struct buf *, uint64_t))
{
    is = is && (v || !(flags & BARO_VALUE_LOWER_BOUND));
    if (is)
        put_marked(b, flags, v, format);
    else
        buf_byte(b, '?');
    return is;
}

/* Does a row have TCP traffic? If none has, the table has no such columns. */
static void put_tcp(struct cells *c, const struct command_figures *f)
{
    struct buf b = {0};
    for (unsigned k = 0; k < 2; k++) {
        if (f->tcp_bytes[0] || f->tcp_bytes[1])
            put_marked(&b, f->tcp_flags, f->tcp_bytes[k], fmt_bytes);
        cells_put(c, 5 + k, &b);
    }
    buf_done(&b);
}

static void put_figures(struct cells *c, const struct command_figures *f, uint64_t total)
{
    struct buf b = {0};
    put_marked(&b, f->process_flags, f->processes, fmt_count);
    cells_put(c, 1, &b);
    bool has_cpu = put_known(&b, f->has_cpu, f->cpu_flags, f->cpu_ns, fmt_duration);
    cells_put(c, 2, &b);
    if (has_cpu && total && !f->cpu_flags) /* no percentage of a value that is not exact */
        lines_percent(&b, (double)f->cpu_ns / (double)total);
    cells_put(c, 3, &b);
    put_known(&b, f->has_rss, f->rss_flags, f->rss_bytes, fmt_bytes);
    cells_put(c, 4, &b);
    put_tcp(c, f);
    buf_done(&b);
}

static void fill_cells(struct lines *l, const struct baro_summary *s, size_t i, uint64_t total, unsigned name_width,
                       struct cells *ret)
{
    struct buf b = {0};
    struct command_figures f = {0};
    const char *name = report_row(s, "commands", "name", i).text;
    if (*name)
        lines_name(l, &b, name, name_width);
    else
        buf_str(&b, "(not known)");
    cells_put(ret, 0, &b);
    add_figures(&f, s, i);
    put_figures(ret, &f, total);
    buf_done(&b);
}

static void row_of_rest(const struct baro_summary *s, size_t from, size_t n, uint64_t total, struct cells *ret)
{
    struct buf b = {0};
    struct command_figures f = {0};
    for (size_t i = from; i < n; i++)
        add_figures(&f, s, i);
    fmt_count(&b, n - from);
    buf_str(&b, " more");
    cells_put(ret, 0, &b);
    put_figures(ret, &f, total);
    buf_done(&b);
}

static void put_note(struct lines *l, const char *text)
{
    struct buf b = {0};
    buf_str(&b, text);
    lines_begin(l, "", TONE_FAINT);
    lines_finish(l, &b);
}

/* Does any number of the table begin with this mark? Names and titles do not count. */
static bool any_has(const struct cells *rows, unsigned n, const char *mark)
{
    for (unsigned i = 1; i < n; i++) {
        for (unsigned k = 1; k < CELLS; k++) {
            if (strncmp(rows[i].text[k], mark, strlen(mark)) == 0)
                return true;
        }
    }
    return false;
}

void report_commands(struct lines *l, const struct baro_summary *s)
{
    static const struct cells titles = {{"command", "processes", "cpu", "share", "peak rss"}};
    struct cells rows[ROWS + 2] = {0};
    bool has_tcp = false;
    unsigned n = 0, name_width = cells_name_width(l);
    size_t commands = report_rows(s, "commands");
    if (commands < 2)
        return; /* the lines above the table have said it */
    rows[n++] = titles;
    uint64_t total = report_u64(s, "job", "cpu_ns");
    size_t shown = commands <= ROWS + 1 ? commands : ROWS;
    for (size_t i = 0; i < shown; i++)
        fill_cells(l, s, i, total, name_width, &rows[n++]);
    if (shown < commands)
        row_of_rest(s, shown, commands, total, &rows[n++]);
    for (size_t i = 0; i < commands; i++)
        has_tcp |= report_row(s, "commands", tcp_facts[0], i).u64 || report_row(s, "commands", tcp_facts[1], i).u64;
    if (has_tcp) {
        memcpy(rows[0].text[5], "tcp sent", sizeof("tcp sent"));
        memcpy(rows[0].text[6], "received", sizeof("received"));
    }
    static const unsigned char first_to_go[] = {3, 1, 4, 0};
    cells_print(l, "heaviest", rows, n, first_to_go);
    if (any_has(rows, n, "?"))
        put_note(l, "? not known: ended before it was read");
    if (any_has(rows, n, "≥"))
        put_note(l, "≥ at least: without processes that were not seen, and what others used after they were read last");
    if (any_has(rows, n, "≈"))
        put_note(l, "≈ about: perf or taskstats may have counted a little more or less");
}
