/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job's CPU time by command. Most processes of a compile are too short for the samples; their exit records, which
 * this counts, are on the tape.
 */
#include <string.h>

#include "base/fmt.h"
#include "output/text/read.h"
#include "programs/baro-top/view.h"

struct fact_ids {
    int name, processes, cpu, rss, read, write;
};

static struct fact_ids find_facts(void)
{
    const char *s = "commands";
    return (struct fact_ids){
        baro_summary_fact_find(s, "name"),          baro_summary_fact_find(s, "processes"),
        baro_summary_fact_find(s, "cpu_ns"),        baro_summary_fact_find(s, "rss_peak_bytes"),
        baro_summary_fact_find(s, "io_read_bytes"), baro_summary_fact_find(s, "io_write_bytes"),
    };
}

/* In the order of the columns. */
enum {
    COMMANDS_NOW,
    COMMANDS_LIVE,
    COMMANDS_CPU,
    COMMANDS_SHARE,
    COMMANDS_ALL,
    COMMANDS_PEAK,
    COMMANDS_READ,
    COMMANDS_WRITE,
    COMMANDS_COLUMNS
};

static const struct {
    const char *title;
    int width, least; /* least: the minimal width of the box */
} columns[COMMANDS_COLUMNS] = {
    {"CORES", 6, 30}, {"LIVE", 6, 58},     {"CPU", 11, 0},  {"SHARE", 5, 64},
    {"ALL", 8, 0},    {"PEAK RSS", 8, 48}, {"READ", 8, 80}, {"WRITTEN", 8, 90},
};

size_t view_commands_count(const struct view *v)
{
    return report_rows(v->feed->summary, "commands");
}

static struct baro_value fact_value(const struct view *v, int fact, size_t row)
{
    struct baro_value ret;
    baro_summary_value(v->feed->summary, fact, row, &ret);
    return ret;
}

/* Writes a value by its unit, marked if it is a lower bound or an estimate. */
static void put_marked(struct buf *b, const struct view *v, struct baro_value value,
                       void (*format)(struct buf *b, uint64_t value))
{
    if (value.absent) {
        buf_str(b, value.absent == BARO_ABSENT_DENIED ? "denied" : "-");
        return;
    }
    cell_mark(b, v->grid->utf8, value.flags);
    format(b, value.u64);
}

static enum style put_command_cell(const struct view *v, struct buf *b, int c, const struct fact_ids *f, size_t row)
{
    struct baro_value cpu = fact_value(v, f->cpu, row), all = report_fact(v->feed->summary, "job", "cpu_ns");
    const char *name = fact_value(v, f->name, row).text;
    const struct command_now *now = name ? model_command(v->model, name) : NULL;
    switch (c) {
    case COMMANDS_NOW:
        cell_mark(b, v->grid->utf8, now && now->is_least && v->model->between.before ? BARO_VALUE_LOWER_BOUND : 0);
        cell_cores(b, now ? now->cores : 0);
        return now && now->cores >= 0.005 ? STYLE_CPU : STYLE_FAINT;
    case COMMANDS_LIVE: fmt_count(b, now ? now->living : 0); return now && now->living ? STYLE_PLAIN : STYLE_FAINT;
    case COMMANDS_CPU: put_marked(b, v, cpu, fmt_duration); return STYLE_PLAIN;
    case COMMANDS_SHARE:
        if (all.u64 && !cpu.absent)
            buf_printf(b, "%u %%", (unsigned)((double)cpu.u64 / (double)all.u64 * 100 + 0.5));
        return STYLE_PLAIN;
    case COMMANDS_ALL: put_marked(b, v, fact_value(v, f->processes, row), fmt_count); return STYLE_PLAIN;
    case COMMANDS_PEAK: put_marked(b, v, fact_value(v, f->rss, row), fmt_bytes); return STYLE_MEMORY;
    case COMMANDS_READ: put_marked(b, v, fact_value(v, f->read, row), fmt_bytes); return STYLE_READ;
    default: put_marked(b, v, fact_value(v, f->write, row), fmt_bytes); return STYLE_WRITE;
    }
}

static void draw_command(struct view *v, struct box box, int at, const struct fact_ids *f, size_t row, bool is_panel)
{
    struct grid *g = v->grid;
    struct buf b = {0};
    int column = box.column, width = box.end - box.column;
    enum style all = is_panel ? STYLE_PLAIN : view_row_style(v, TAB_COMMANDS, row, STYLE_PLAIN);
    for (int i = box.column; i < box.end && all == STYLE_SELECTED; i++)
        grid_point(g, at, i, all, ' ', ' ');
    for (int c = 0; c < COMMANDS_COLUMNS; c++) {
        if (columns[c].least > width)
            continue;
        enum style style = put_command_cell(v, &b, c, f, row);
        grid_take_right(g, at, column, column + columns[c].width, all == STYLE_SELECTED ? all : style, &b);
        column += columns[c].width + 1;
    }
    const char *name = fact_value(v, f->name, row).text;
    grid_text(g, at, column, box.end, all == STYLE_SELECTED ? all : STYLE_STRONG, name && *name ? name : "?");
    buf_done(&b);
}

void view_commands(struct view *v, struct box box, bool is_panel)
{
    struct grid *g = v->grid;
    struct fact_ids facts = find_facts();
    struct buf b = {0};
    int column = box.column;
    size_t n = view_commands_count(v), top = is_panel || v->is_once ? 0 : v->ui->top[TAB_COMMANDS];
    for (int i = box.column; i < box.end; i++)
        grid_point(g, box.row, i, STYLE_HEADING, ' ', ' ');
    for (int c = 0; c < COMMANDS_COLUMNS; c++) {
        if (columns[c].least > box.end - box.column)
            continue;
        buf_str(&b, columns[c].title);
        grid_take_right(g, box.row, column, column + columns[c].width, c == COMMANDS_CPU ? STYLE_SORTED : STYLE_HEADING,
                        &b);
        column += columns[c].width + 1;
    }
    buf_done(&b);
    grid_text(g, box.row, column, box.end, STYLE_HEADING, "COMMAND");
    for (int i = 1; i < box.rows && top + (size_t)i - 1 < n; i++)
        draw_command(v, box, box.row + i, &facts, top + (size_t)i - 1, is_panel);
}
