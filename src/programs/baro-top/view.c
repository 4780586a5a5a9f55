/* SPDX-License-Identifier: Apache-2.0 */
/* The layout: the job at the top, lists below, further lists at the side of a wide screen, keys in the last line. */
#include "programs/baro-top/view.h"

#include <string.h>

#include "base/fmt.h"

/* ---- help ---- */

static const char marks[] = "≥ ≈"; /* the marks of cell_mark() */

/* Keys and what they do; a line without a key is a heading. */
static const struct {
    const char *key, *text;
} lines[] = {
    {NULL, "Lists"},
    {"Tab", "processes, tasks, GPUs, commands, events"},
    {"up down PgUp PgDn", "select a row (also j, k; ^ and $: first and last)"},
    {"Enter", "all that is known of the process, and back"},
    {"c t m i p n", "sort by cores, CPU time, memory, I/O, pid, name"},
    {"s r", "next order; the other way round"},
    {"T f F", "tree or one list; fold what is below a process; fold all"},
    {"/ Esc", "filter names, commands and tasks: a regular expression; end"},
    {NULL, "Time"},
    {"left right", "back and on by a hundredth ([ ]: a tenth; , .: a sample)"},
    {"Home End 0 ... 9", "the beginning; the newest sample; 0 % to 90 % of it"},
    {"g P", "go to +90s, -10s, 50%, 12:30:05; to the peak of memory"},
    {"Space", "freeze, and go on"},
    {"z", "curves of all of it, or of the last two minutes"},
    {NULL, "Columns"},
    {"CORES RSS", "of the process itself"},
    {"with a sum sign", "with all below it, also what ended since the sample before"},
    {"SENT RECVD", "by its TCP sockets so far (--metrics default,tcp)"},
    {"memory rss", "sum of rss: shared pages count in each process (pss: once)"},
    {marks, "at least so much; about so much"},
    {"w", "mouse wheel on or off (off: the terminal can select text)"},
    {"q", "quit"},
};
#define LINES ((int)(sizeof(lines) / sizeof(*lines)))

static void draw_line(struct view *v, int row, int column, int end, int i)
{
    if (!lines[i].key) {
        grid_text(v->grid, row, column, end, STYLE_STRONG, lines[i].text);
        return;
    }
    grid_text(v->grid, row, column + 1, column + 19, STYLE_KEY,
              lines[i].key == marks && !v->grid->utf8 ? ">= ~" : lines[i].key);
    grid_text(v->grid, row, column + 20, end, STYLE_PLAIN, lines[i].text);
}

static void view_help(struct view *v, struct box box)
{
    int width = box.end - box.column, across = box.rows < LINES && width >= 150 ? 2 : 1;
    int down = (LINES + across - 1) / across;
    for (int i = 0; i < LINES; i++) {
        int row = i % down, part = i / down;
        if (row < box.rows)
            draw_line(v, box.row + row, box.column + 1 + part * (width / 2), box.column + (part + 1) * (width / across),
                      i);
    }
}

#define SIDE_FROM 150 /* columns: from there on there is room at the side */
#define LANES_FROM 20 /* rows: from there on phases have lanes */

static const char *const tab_names[TABS] = {"processes", "tasks", "GPUs", "commands", "events"};
static const char *const sort_names[SORTS] = {"cores", "CPU time", "memory", "I/O", "pid", "name"};

static int head_rows(const struct view *v)
{
    int rows = v->grid->rows, lanes = baro_timeline_lanes(v->feed->timeline);
    if (v->ui->help && rows < 40)
        return 1; /* the help needs the room: 22 rows, and so fits into 80x24 */
    lanes = rows < LANES_FROM ? 0 : lanes > 3 ? 3 : lanes;
    lanes += v->feed->verdicts && rows >= LANES_FROM; /* and a row for the verdict */
    if (rows < 8)
        return rows < 5 ? 1 : 2;
    return (rows < 14 ? 4 : rows < 20 ? 6 : rows < 36 ? 8 : rows < 50 ? 10 : 12) + lanes;
}

/* What the list shows, and how. */
static void draw_bar(struct view *v, struct box box)
{
    struct grid *g = v->grid;
    const struct ui *u = v->ui;
    struct buf b = {0};
    int column = box.column + 1;
    for (enum tab t = 0; t < TABS; t++) {
        if ((t == TAB_TASKS || t == TAB_GPUS) && !u->rows[t])
            continue;
        column = grid_text(g, box.row, column, box.end, u->tab == t ? STYLE_STRONG : STYLE_FAINT, tab_names[t]);
        column += 2;
    }
    if (u->tab == TAB_PROCESSES) {
        if (*u->filter) {
            fmt_count(&b, v->model->n_matches);
            buf_printf(&b, " of ");
        }
        fmt_count(&b, v->model->n);
        buf_printf(&b, " by %s%s", sort_names[u->wish.sort], u->wish.is_reversed ? ", reversed" : "");
    } else if (u->tab == TAB_COMMANDS) {
        buf_printf(&b, "%s, by CPU time", v->feed->state == BARO_TAPE_RUNNING ? "so far" : "of all that was recorded");
    }
    if (*u->filter && u->tab == TAB_PROCESSES)
        buf_printf(&b, ", filter %s%s", u->filter, u->wish.regex ? "" : " (as text)");
    ptrdiff_t phase = baro_timeline_phase_at(v->feed->timeline, u->live ? v->feed->last_ns : u->at_ns);
    if (phase >= 0 && g->rows < LANES_FROM) { /* there are no lanes to see it in */
        buf_clear(&b);
        buf_printf(&b, "in %s", baro_timeline_get(v->feed->timeline, (size_t)phase)->name);
    }
    if (grid_columns_of(g, b.len ? (const char *)b.at : "", b.len) < box.end - 1 - column)
        grid_take_right(g, box.row, column + 1, box.end - 1, STYLE_FAINT, &b);
    buf_done(&b);
}

static void draw_list(struct view *v, struct box box)
{
    if (v->ui->help)
        view_help(v, box);
    else if (v->ui->details)
        view_details(v, box);
    else if (v->ui->tab == TAB_TASKS)
        view_tasks(v, box, false);
    else if (v->ui->tab == TAB_GPUS)
        view_gpus(v, box, false);
    else if (v->ui->tab == TAB_COMMANDS)
        view_commands(v, box, false);
    else if (v->ui->tab == TAB_EVENTS)
        view_events(v, box, false);
    else
        view_processes(v, box);
}

static void draw_side(struct view *v, struct box box)
{
    int tasks = (int)view_tasks_count(v);
    if (tasks) {
        tasks = (tasks < box.rows / 3 ? tasks : box.rows / 3) + 1;
        view_tasks(v, (struct box){box.row, box.column, tasks, box.end}, true);
        box = (struct box){box.row + tasks + 1, box.column, box.rows - tasks - 1, box.end};
    }
    int gpus = (int)view_gpus_count(v);
    if (gpus) {
        gpus = (gpus < box.rows / 3 ? gpus : box.rows / 3) + 1;
        view_gpus(v, (struct box){box.row, box.column, gpus, box.end}, true);
        box = (struct box){box.row + gpus + 1, box.column, box.rows - gpus - 1, box.end};
    }
    int half = box.rows * 3 / 5;
    view_commands(v, (struct box){box.row, box.column, half, box.end}, true);
    view_events(v, (struct box){box.row + half, box.column, box.rows - half, box.end}, true);
}

/* ---- the last line ---- */

static int draw_key(struct view *v, int row, int column, const char *key, const char *text)
{
    if (column + (int)strlen(key) + (int)strlen(text) + 3 > v->grid->columns)
        return column;
    column = grid_text(v->grid, row, column, v->grid->columns, STYLE_KEY, key);
    column = grid_text(v->grid, row, column + 1, v->grid->columns, STYLE_FAINT, text);
    return column + 2;
}

static void draw_foot(struct view *v, int row)
{
    const struct ui *u = v->ui;
    struct grid *g = v->grid;
    bool utf8 = g->utf8;
    int column = 1;
    if (u->prompt) {
        column = grid_text(g, row, 0, g->columns, STYLE_STRONG, u->prompt == PROMPT_FILTER ? " filter: " : " go to: ");
        column = grid_text(g, row, column, g->columns - 1, STYLE_PLAIN, u->input);
        grid_point(g, row, column, STYLE_PLAYHEAD, ' ', ' ');
        if (u->prompt == PROMPT_FILTER && *u->filter && !u->wish.regex)
            grid_text(g, row, column + 2, g->columns, STYLE_WARN, "not a regular expression: looked for as it stands");
        return;
    }
    if (*u->message) {
        grid_text(g, row, 1, g->columns, STYLE_WARN, u->message);
        return;
    }
    if (!u->live)
        column = draw_key(v, row, column, "End", v->feed->state == BARO_TAPE_RUNNING ? "live" : "the end");
    column = draw_key(v, row, column, "?", "help");
    column = draw_key(v, row, column, "q", "quit");
    column = draw_key(v, row, column, "Tab", tab_names[ui_next_tab(u)]);
    column = draw_key(v, row, column, utf8 ? "←→" : "<- ->", "time");
    column = draw_key(v, row, column, "Space", u->live ? "freeze" : "go on");
    column = draw_key(v, row, column, "/", "filter");
    column = draw_key(v, row, column, "Enter", "details");
    column = draw_key(v, row, column, "cmit", "sort");
    column = draw_key(v, row, column, "f", "fold");
    draw_key(v, row, column, "T", u->wish.is_tree ? "list" : "tree");
}

/* ---- all of it ---- */

void view_draw(struct view *v)
{
    struct grid *g = v->grid;
    grid_clear(g);
    int head = view_head(v, head_rows(v)), foot = g->rows >= 6, bar = g->rows >= 10 && !v->ui->help;
    bool has_side = g->columns >= SIDE_FROM && !v->ui->help && !v->ui->details;
    int split = has_side ? g->columns - g->columns / 3 : g->columns;
    struct box box = {head + bar, 0, g->rows - head - bar - foot, has_side ? split - 1 : split};
    struct ui *u = v->ui;
    u->rows[TAB_TASKS] = view_tasks_count(v);
    u->rows[TAB_GPUS] = view_gpus_count(v);
    u->rows[TAB_COMMANDS] = view_commands_count(v);
    u->rows[TAB_EVENTS] = view_events_count(v);
    u->page = box.rows > 1 ? (size_t)box.rows - (u->details ? 0 : 1) : 1;
    ui_settle(u, v->model);
    if (bar)
        draw_bar(v, (struct box){head, 0, 1, box.end});
    draw_list(v, box);
    if (has_side)
        draw_side(v, (struct box){box.row, split + 1, box.rows, g->columns});
    if (foot)
        draw_foot(v, g->rows - 1);
}
