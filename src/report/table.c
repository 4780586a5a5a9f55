/* SPDX-License-Identifier: Apache-2.0 */
#include "report/table.h"

#include <string.h>

#include "base/fmt.h"

#define LEFT_OUT_MUCH 4u /* fewer left out than a quarter of those taken are no news */

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

static void numbers(struct cells *c, uint64_t n, uint64_t cpu, bool has_cpu, uint64_t total, uint64_t rss, bool has_rss)
{
    struct buf b = {0};
    fmt_count(&b, n);
    put(c, 1, &b);
    if (has_cpu)
        fmt_duration(&b, cpu);
    else
        buf_byte(&b, '?');
    put(c, 2, &b);
    if (has_cpu && total)
        lines_percent(&b, (double)cpu / (double)total);
    put(c, 3, &b);
    if (has_rss)
        fmt_bytes(&b, rss);
    else
        buf_byte(&b, '?');
    put(c, 4, &b);
    buf_done(&b);
}

static void row_of(struct lines *l, const struct command *c, uint64_t total, unsigned name_width, struct cells *ret)
{
    struct buf b = {0};
    if (*c->name)
        lines_name(l, &b, c->name, name_width);
    else
        buf_str(&b, "(not known)");
    put(ret, 0, &b);
    numbers(ret, c->processes, c->value[COMMAND_CPU], c->covered[COMMAND_CPU] > 0, total, c->value[COMMAND_RSS_PEAK],
            c->covered[COMMAND_RSS_PEAK] > 0);
    buf_done(&b);
}

static void row_of_rest(const struct baro_summary *s, size_t from, uint64_t total, struct cells *ret)
{
    uint64_t n = 0, cpu = 0, rss = 0;
    bool has_cpu = false, has_rss = false;
    for (size_t i = from; i < s->n_order; i++) {
        const struct command *c = summary_command(s, i);
        n += c->processes;
        cpu += c->value[COMMAND_CPU];
        rss = c->value[COMMAND_RSS_PEAK] > rss ? c->value[COMMAND_RSS_PEAK] : rss;
        has_cpu = has_cpu || c->covered[COMMAND_CPU];
        has_rss = has_rss || c->covered[COMMAND_RSS_PEAK];
    }
    struct buf b = {0};
    fmt_count(&b, s->n_order - from);
    buf_str(&b, " more");
    put(ret, 0, &b);
    numbers(ret, n, cpu, has_cpu, total, rss, has_rss);
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
    if (s->n_order < 2)
        return; /* the lines above have said it all */
    rows[n++] = titles;
    uint64_t total = s->job_absent[JOB_cpu] == BARO_PRESENT ? s->job[JOB_cpu] : 0;
    size_t shown = s->n_order <= ROWS + 1 ? s->n_order : ROWS;
    for (size_t i = 0; i < shown; i++)
        row_of(l, summary_command(s, i), total, name_width, &rows[n++]);
    if (shown < s->n_order)
        row_of_rest(s, shown, total, &rows[n++]);
    print(l, rows, n, narrow ? 4 : LINES_INDENT);
}

/* ---- what makes the figures less than whole ---- */

static void note(struct lines *l, struct buf *b)
{
    if (!b->len)
        return;
    lines_begin(l, "note", TONE_WARN);
    lines_part(l, b);
    lines_end(l);
}

static void note_counts(struct lines *l, const struct baro_summary *s, struct buf *b)
{
    uint64_t v;
    if (s->gaps) {
        buf_str(b, "nothing could be recorded for ");
        fmt_duration(b, s->gap_ns);
        note(l, b);
    }
    if (s->suspended_ns) {
        buf_str(b, "the machine slept for ");
        fmt_duration(b, s->suspended_ns);
        note(l, b);
    }
    if (s->clock_steps) {
        buf_str(b, "the wall clock was set during the run; times here come from another clock");
        note(l, b);
    }
    if (summary_self(s, RECORDER_lossy_intervals, &v) == BARO_PRESENT && v) {
        buf_str(b, "events were lost in ");
        fmt_count(b, v);
        buf_str(b, v == 1 ? " interval" : " intervals");
        buf_str(b, ": counts of processes are lower bounds, totals are not touched");
        note(l, b);
    }
    if (summary_self(s, RECORDER_missed, &v) == BARO_PRESENT && v) {
        fmt_count(b, v);
        buf_str(b, v == 1 ? " sample was missed" : " samples were missed");
        note(l, b);
    }
}

void report_notes(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    uint64_t v;
    note_counts(l, s, &b);
    if (summary_self(s, RECORDER_thinned, &v) == BARO_PRESENT && v) {
        fmt_count(&b, v);
        buf_str(&b, v == 1 ? " read was left out to stay within the overhead budget"
                           : " reads were left out to stay within the overhead budget");
        note(l, &b);
    }
    uint64_t samples;
    if (summary_self(s, RECORDER_left_out, &v) == BARO_PRESENT &&
        summary_self(s, RECORDER_samples, &samples) == BARO_PRESENT && v > samples / LEFT_OUT_MUCH) {
        fmt_count(&b, v);
        buf_str(&b, v == 1 ? " sample was left out to stay within the overhead budget"
                           : " samples were left out to stay within the overhead budget");
        note(l, &b);
    }
    if (s->wrapper_lost) {
        buf_str(&b, "the wrapper went away before the job: what it reaped after that is missing");
        note(l, &b);
    }
    if (s->damaged_bytes) {
        fmt_bytes(&b, s->damaged_bytes);
        buf_str(&b, " of the tape are damaged and were stepped over");
        note(l, &b);
    }
    if (s->warnings) {
        lines_name(l, &b, s->warning, 160);
        note(l, &b);
    }
    if (s->failed) {
        buf_str(&b, "out of memory: parts of this summary are missing");
        note(l, &b);
    }
    buf_done(&b);
}
