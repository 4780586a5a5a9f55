/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job's CPU time by command. Most processes of a compile are too short for the samples; their exit records, which
 * this counts, are on the tape.
 */
#include "base/fmt.h"
#include "output/text/read_fact.h"
#include "programs/baro-top/view.h"

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

static const struct view_column columns[COMMANDS_COLUMNS] = {
    {"CORES", 6, 30}, {"LIVE", 6, 58},     {"CPU", 11, 0},  {"SHARE", 5, 64},
    {"ALL", 8, 0},    {"PEAK RSS", 8, 48}, {"READ", 8, 80}, {"WRITTEN", 8, 90},
};

size_t view_commands_count(const struct view *v)
{
    return report_rows(v->feed->summary, "commands");
}

static struct baro_value fact_of(const struct view *v, size_t row, const char *name)
{
    return report_row(v->feed->summary, "commands", name, row);
}

/* Writes a value with its mark. */
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

static enum style put_command_cell(const struct view *v, struct buf *b, size_t row, int c)
{
    struct baro_value cpu = fact_of(v, row, "cpu_ns"), all = report_fact(v->feed->summary, "job", "cpu_ns");
    const char *name = fact_of(v, row, "name").text;
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
    case COMMANDS_ALL: put_marked(b, v, fact_of(v, row, "processes"), fmt_count); return STYLE_PLAIN;
    case COMMANDS_PEAK: put_marked(b, v, fact_of(v, row, "rss_peak_bytes"), fmt_bytes); return STYLE_MEMORY;
    case COMMANDS_READ: put_marked(b, v, fact_of(v, row, "io_read_bytes"), fmt_bytes); return STYLE_READ;
    default: put_marked(b, v, fact_of(v, row, "io_write_bytes"), fmt_bytes); return STYLE_WRITE;
    }
}

static enum style put_command_name(const struct view *v, struct buf *b, size_t row)
{
    const char *name = fact_of(v, row, "name").text;
    buf_str(b, name && *name ? name : "?");
    return STYLE_STRONG;
}

void view_commands(struct view *v, struct box box, bool is_panel)
{
    const struct view_list list = {TAB_COMMANDS, view_commands_count(v), columns,          COMMANDS_COLUMNS,
                                   "COMMAND",    put_command_cell,       put_command_name, 1 + COMMANDS_CPU};
    view_list(v, &list, box, is_panel);
}
