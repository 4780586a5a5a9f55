/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of the job, as a table. */
#include <string.h>

#include "base/fmt.h"
#include "report/parts.h"
#include "report/read.h"

#define ROWS 5u
#define CELLS 5u
#define CELL_MAX 160u
#define NARROW 70u /* columns: the table then stands below its label */

struct cells {
    char text[CELLS][CELL_MAX];
};

static void put(struct cells *c, unsigned i, struct buf *b)
{
    size_t n = b->failed ? 0 : b->len < CELL_MAX - 1 ? b->len : CELL_MAX - 1;
    memcpy(c->text[i], b->at ? b->at : (const unsigned char *)"", n);
    c->text[i][n] = 0;
    buf_clear(b);
}

/* A command, or several together. */
struct figures {
    uint64_t processes, cpu_ns, rss_bytes;
    bool has_cpu, has_rss;
};

/* The largest mark of one process is not a sum. */
static void add_figures(struct figures *f, const struct baro_summary *s, size_t i)
{
    struct baro_value cpu = report_row(s, "commands", "cpu_ns", i),
                      rss = report_row(s, "commands", "rss_peak_bytes", i);
    f->processes += report_row(s, "commands", "processes", i).u64;
    f->cpu_ns += cpu.u64;
    f->rss_bytes = rss.u64 > f->rss_bytes ? rss.u64 : f->rss_bytes;
    f->has_cpu = f->has_cpu || !cpu.absent;
    f->has_rss = f->has_rss || !rss.absent;
}

static void put_figures(struct cells *c, const struct figures *f, uint64_t total)
{
    struct buf b = {0};
    fmt_count(&b, f->processes);
    put(c, 1, &b);
    if (f->has_cpu)
        fmt_duration(&b, f->cpu_ns);
    else
        buf_byte(&b, '?');
    put(c, 2, &b);
    if (f->has_cpu && total)
        lines_percent(&b, (double)f->cpu_ns / (double)total);
    put(c, 3, &b);
    if (f->has_rss)
        fmt_bytes(&b, f->rss_bytes);
    else
        buf_byte(&b, '?');
    put(c, 4, &b);
    buf_done(&b);
}

static void row_of(struct lines *l, const struct baro_summary *s, size_t i, uint64_t total, unsigned name_width,
                   struct cells *ret)
{
    struct buf b = {0};
    struct figures f = {0};
    const char *name = report_row(s, "commands", "name", i).text;
    if (*name)
        lines_name(l, &b, name, name_width);
    else
        buf_str(&b, "(not known)");
    put(ret, 0, &b);
    add_figures(&f, s, i);
    put_figures(ret, &f, total);
    buf_done(&b);
}

static void row_of_rest(const struct baro_summary *s, size_t from, size_t n, uint64_t total, struct cells *ret)
{
    struct buf b = {0};
    struct figures f = {0};
    for (size_t i = from; i < n; i++)
        add_figures(&f, s, i);
    fmt_count(&b, n - from);
    buf_str(&b, " more");
    put(ret, 0, &b);
    put_figures(ret, &f, total);
    buf_done(&b);
}

/* What does not fit is left out: the share, then the number of processes. 0: not shown. */
static void widths(const struct cells *rows, unsigned n, unsigned room, unsigned width[CELLS])
{
    static const unsigned first_to_go[] = {3, 1};
    unsigned all = 0;
    for (unsigned c = 0; c < CELLS; c++) {
        for (unsigned r = 0; r < n; r++) {
            unsigned w = lines_columns(rows[r].text[c], strlen(rows[r].text[c]));
            width[c] = w > width[c] ? w : width[c];
        }
        all += width[c] + (c ? 2 : 0);
    }
    for (size_t i = 0; i < sizeof(first_to_go) / sizeof(*first_to_go) && all > room; i++) {
        all -= width[first_to_go[i]] + 2;
        width[first_to_go[i]] = 0;
    }
}

static void print(struct lines *l, const struct cells *rows, unsigned n, unsigned indent)
{
    unsigned width[CELLS] = {0};
    widths(rows, n, l->style.width - indent, width);
    for (unsigned r = 0; r < n; r++) {
        bool below = indent < LINES_INDENT;
        if (r == 0 && below) {
            lines_tone(l, TONE_FAINT);
            buf_str(l->out, "  heaviest\n");
        } else if (r == 0) {
            lines_begin(l, "heaviest", TONE_FAINT);
        }
        if (r || below)
            lines_spaces(l->out, indent);
        if (r == 0)
            lines_tone(l, TONE_FAINT);
        for (unsigned c = 0; c < CELLS; c++) {
            if (!width[c])
                continue;
            unsigned pad = width[c] - lines_columns(rows[r].text[c], strlen(rows[r].text[c]));
            lines_spaces(l->out, c ? pad + 2 : 0);
            buf_str(l->out, rows[r].text[c]);
            lines_spaces(l->out, c ? 0 : pad);
        }
        if (r == 0)
            lines_tone(l, TONE_PLAIN);
        lines_end(l);
    }
}

void report_commands(struct lines *l, const struct baro_summary *s)
{
    static const struct cells titles = {{"command", "processes", "cpu", "share", "peak rss"}};
    struct cells rows[ROWS + 2];
    bool narrow = l->style.width < NARROW;
    unsigned n = 0, name_width = l->style.width > 90 ? 36 : narrow ? 15 : 24;
    size_t commands = report_rows(s, "commands");
    if (commands < 2)
        return; /* the lines above have said it all */
    rows[n++] = titles;
    uint64_t total = report_u64(s, "job", "cpu_ns");
    size_t shown = commands <= ROWS + 1 ? commands : ROWS;
    for (size_t i = 0; i < shown; i++)
        row_of(l, s, i, total, name_width, &rows[n++]);
    if (shown < commands)
        row_of_rest(s, shown, commands, total, &rows[n++]);
    print(l, rows, n, narrow ? 4 : LINES_INDENT);
}
