/* SPDX-License-Identifier: Apache-2.0 */
/* The table of processes. */

#include "base/fmt.h"
#include "base/command_line.h"
#include "programs/baro-top/view.h"

#define BRANCH_MOST 12u /* levels that are drawn */

/* clang-format off */
enum column_id {
    COLUMN_PID, COLUMN_TASK, COLUMN_USER, COLUMN_STATE, COLUMN_THREADS, COLUMN_FDS, COLUMN_CORES, COLUMN_CORES_TREE,
    COLUMN_CPU, COLUMN_RSS, COLUMN_RSS_TREE, COLUMN_PSS, COLUMN_USS, COLUMN_READ, COLUMN_WRITE, COLUMN_SENT,
    COLUMN_RECEIVED, COLUMNS
};
/* clang-format on */

struct column {
    const char *title, *ascii;
    int width;
    int rank; /* columns with the highest are left out first */
    int show; /* the same for `baro show` */
    int sort; /* enum sort; -1: none */
};

static const struct column columns[COLUMNS] = {
    [COLUMN_PID] = {"PID", NULL, 7, 0, 0, SORT_PID},
    [COLUMN_TASK] = {"TASK", NULL, 10, 3, 3, -1},
    [COLUMN_USER] = {"USER", NULL, 8, 14, 16, -1},
    [COLUMN_STATE] = {"S", NULL, 1, 7, 5, -1},
    [COLUMN_THREADS] = {"THR", NULL, 5, 12, 9, -1},
    [COLUMN_FDS] = {"FDS", NULL, 6, 15, 11, -1},
    [COLUMN_CORES] = {"CORES", NULL, 5, 1, 1, SORT_CORES},
    [COLUMN_CORES_TREE] = {"ΣCORES", "+CORES", 7, 4, 12, SORT_CORES},
    [COLUMN_CPU] = {"CPU", NULL, 10, 6, 4, SORT_CPU},
    [COLUMN_RSS] = {"RSS", NULL, 7, 2, 2, SORT_MEMORY},
    [COLUMN_RSS_TREE] = {"ΣRSS", "+RSS", 8, 5, 13, SORT_MEMORY},
    [COLUMN_PSS] = {"PSS", NULL, 8, 13, 8, -1},
    [COLUMN_USS] = {"USS", NULL, 8, 16, 10, -1},
    [COLUMN_READ] = {"READ/s", NULL, 7, 10, 14, SORT_IO},
    [COLUMN_WRITE] = {"WRITE/s", NULL, 7, 11, 15, SORT_IO},
    [COLUMN_SENT] = {"SENT", NULL, 7, 8, 6, -1},
    [COLUMN_RECEIVED] = {"RECVD", NULL, 7, 9, 7, -1},
};

enum style view_row_style(const struct view *v, enum tab tab, size_t row, enum style style)
{
    return !v->is_once && v->ui->tab == tab && v->ui->row[tab] == row ? STYLE_SELECTED : style;
}

static int width_of(const struct view *v, int c)
{
    return c == COLUMN_TASK && v->task_width > columns[c].width ? v->task_width : columns[c].width;
}

/* Which columns there is room for, beside the command. */
static void choose_columns(const struct view *v, int width, const bool absent[COLUMNS], bool shown[COLUMNS])
{
    int room = width - (width < 60 ? 15 : 22 + (width - 60) / 4);
    for (int c = 0; c < COLUMNS; c++)
        shown[c] = false;
    for (int rank = 0; rank < COLUMNS; rank++) {
        for (int c = 0; c < COLUMNS; c++) {
            if ((v->is_show ? columns[c].show : columns[c].rank) != rank || absent[c])
                continue;
            if (room < width_of(v, c) + 1)
                return;
            room -= width_of(v, c) + 1;
            shown[c] = true;
        }
    }
}

static void cell_absent(struct buf *b, int reason)
{
    buf_str(b, reason == BARO_ABSENT_DENIED ? "denied" : "-");
}

static void cell_value(struct buf *b, const struct baro_row *p, int metric, bool is_bytes)
{
    uint64_t value;
    int reason = baro_row_value(p, metric, &value);
    if (reason)
        cell_absent(b, reason);
    else if (is_bytes)
        fmt_bytes(b, value);
    else
        fmt_count(b, value);
}

static void cell_user(const struct view *v, struct buf *b, const struct baro_row *p)
{
    uint32_t uid = baro_row_uid(p);
    const char *name = v->user ? v->user(v->user_context, uid) : NULL;
    if (name)
        buf_str(b, name);
    else if (uid != UINT32_MAX)
        buf_u64(b, uid);
}

static enum style cell_storage(struct buf *b, const struct node *node, bool is_read)
{
    double rate = is_read ? node->own.read : node->own.write;
    if (node->read_absent)
        cell_absent(b, node->read_absent);
    else
        fmt_bytes(b, whole_of(rate));
    return rate < 1 ? STYLE_FAINT : is_read ? STYLE_READ : STYLE_WRITE;
}

static enum style cell(const struct view *v, struct buf *b, const struct node *node, enum column_id c)
{
    const struct baro_row *p = node->process;
    const struct metrics *m = &v->feed->metric;
    uint64_t state, bytes;
    switch (c) {
    case COLUMN_PID: buf_printf(b, "%d", baro_row_pid(p)); return STYLE_PLAIN;
    case COLUMN_USER: cell_user(v, b, p); return STYLE_FAINT;
    case COLUMN_TASK: buf_str(b, model_task(v->model, p)); return STYLE_PLAIN;
    case COLUMN_STATE:
        if (baro_row_value(p, m->process.state, &state) != BARO_PRESENT)
            state = '-';
        buf_byte(b, state > ' ' && state < 127 ? (uint8_t)state : '?');
        return state == 'R' ? STYLE_GOOD : state == 'D' ? STYLE_BAD : STYLE_FAINT;
    case COLUMN_THREADS: cell_value(b, p, m->process.threads, false); return STYLE_PLAIN;
    case COLUMN_FDS: cell_value(b, p, m->process.fds, false); return STYLE_PLAIN;
    case COLUMN_CORES:
        if (node->cores_absent)
            cell_absent(b, node->cores_absent);
        else
            cell_cores(b, node->own.cores);
        return node->own.cores >= 0.005 ? STYLE_CPU : STYLE_FAINT;
    case COLUMN_CORES_TREE:
        if (!v->model->between.before) {
            cell_absent(b, BARO_ABSENT_NOT_YET);
            return STYLE_FAINT;
        }
        cell_mark(b, v->grid->utf8, node->tree.cores_is_least ? BARO_VALUE_LOWER_BOUND : 0);
        cell_cores(b, node->tree.cores);
        return node->tree.cores >= 0.005 ? STYLE_CPU : STYLE_FAINT;
    case COLUMN_CPU: fmt_duration(b, node->cpu_ns); return STYLE_PLAIN;
    case COLUMN_RSS: cell_value(b, p, m->process.rss, true); return STYLE_MEMORY;
    case COLUMN_RSS_TREE:
        cell_mark(b, v->grid->utf8, node->tree.rss_is_least ? BARO_VALUE_LOWER_BOUND : 0);
        fmt_bytes(b, node->tree.rss);
        return STYLE_MEMORY;
    case COLUMN_PSS:
    case COLUMN_USS:
        if (baro_row_value(p, c == COLUMN_PSS ? m->process.pss : m->process.uss, &bytes) == BARO_PRESENT &&
            memory_pss_is_stale(v->instant->now, m))
            cell_mark(b, v->grid->utf8, BARO_VALUE_ESTIMATE);
        cell_value(b, p, c == COLUMN_PSS ? m->process.pss : m->process.uss, true);
        return STYLE_MEMORY;
    case COLUMN_READ:
    case COLUMN_WRITE: return cell_storage(b, node, c == COLUMN_READ);
    case COLUMN_SENT:
    case COLUMN_RECEIVED:
        cell_value(b, p, c == COLUMN_SENT ? m->process.tcp_sent : m->process.tcp_received, true);
        return c == COLUMN_SENT ? STYLE_WRITE : STYLE_READ;
    default: return STYLE_PLAIN;
    }
}

/* The lines that lead to a node. */
static int draw_branch(struct view *v, int row, int column, int end, struct model_row r, enum style style)
{
    const struct model *m = v->model;
    size_t path[BRANCH_MOST];
    unsigned n = 0;
    for (size_t k = r.node; k != MODEL_NONE && m->at[k].parent != MODEL_NONE && n < BRANCH_MOST; k = m->at[k].parent)
        path[n++] = k;
    bool utf8 = v->grid->utf8;
    while (n > 1) {
        const struct node *up = &m->at[path[--n]];
        column = grid_text(v->grid, row, column, end, style, up->next == MODEL_NONE ? "  " : utf8 ? "│ " : "| ");
    }
    if (n == 1) {
        const struct node *node = &m->at[path[0]];
        column = grid_text(v->grid, row, column, end, style,
                           node->next == MODEL_NONE ? (utf8 ? "└─" : "`-") : (utf8 ? "├─" : "|-"));
    }
    return column;
}

/* Draws the command, beginning with the program's name, without its folder. If there is no room for all of it, its
 * subject is shown, and the text before that is left out. */
static void draw_command(struct view *v, int row, int column, int end, struct model_row r, enum style style)
{
    const struct node *node = &v->model->at[r.node];
    const char *line = "", *name = baro_row_name(node->process);
    baro_row_cmdline(node->process, &line);
    enum style faint = style == STYLE_SELECTED ? style : STYLE_FAINT;
    if (v->ui->wish.is_tree)
        column = draw_branch(v, row, column, end, r, faint);
    if (node->is_folded && v->ui->wish.is_tree)
        column =
            grid_printf(v->grid, row, column, end, style == STYLE_SELECTED ? style : STYLE_WARN, "[+%u] ", node->below);
    if (!*line) {
        grid_printf(v->grid, row, column, end, style, "[%s]", *name ? name : "?");
        return;
    }
    struct command_line c;
    command_line_read(line, 4096, &c);
    enum style strong = style == STYLE_PLAIN ? STYLE_STRONG : style;
    column = grid_bytes(v->grid, row, column, end, strong, c.program.at, c.program.len);
    size_t skip = command_line_skip(&c, end > column + 3 ? (size_t)(end - column - 3) : 0);
    if (skip)
        column = grid_text(v->grid, row, column, end, faint, v->grid->utf8 ? " … " : " ~ ");
    int stop = grid_bytes(v->grid, row, column, end, style, c.rest.at + skip, c.rest.len - skip);
    if (stop + 1 >= end && grid_columns_of(v->grid, c.rest.at + skip, c.rest.len - skip) > end - column)
        grid_point(v->grid, row, end - 1, faint, 0x2026, '~');
}

static void draw_process(struct view *v, struct box box, int row, size_t at, const bool shown[COLUMNS])
{
    struct model_row r = v->model->row[at];
    const struct node *node = &v->model->at[r.node];
    enum style all = view_row_style(v, TAB_PROCESSES, at, node->is_match ? STYLE_PLAIN : STYLE_FAINT);
    struct buf b = {0};
    int column = box.column;
    if (all == STYLE_SELECTED) {
        for (int i = box.column; i < box.end; i++)
            grid_point(v->grid, row, i, all, ' ', ' ');
    }
    for (int c = 0; c < COLUMNS; c++) {
        if (!shown[c])
            continue;
        enum style style = cell(v, &b, node, (enum column_id)c);
        style = all == STYLE_PLAIN ? style : all;
        if (c == COLUMN_USER || c == COLUMN_TASK)
            grid_take(v->grid, row, column, column + width_of(v, c), style, &b);
        else
            grid_take_right(v->grid, row, column, column + width_of(v, c), style, &b);
        column += width_of(v, c) + 1;
    }
    draw_command(v, row, column, box.end, r, all);
    buf_done(&b);
}

/* Writes an arrow: down if the largest value is at the top, up if the smallest is. */
static void put_direction(const struct view *v, struct buf *b)
{
    const struct wish *w = &v->ui->wish;
    bool is_rising = (w->sort == SORT_PID || w->sort == SORT_NAME) != w->is_reversed;
    if (v->grid->utf8)
        buf_str(b, is_rising ? "▲" : "▼");
    else
        buf_byte(b, is_rising ? '^' : 'v');
}

static void draw_titles(struct view *v, struct box box, const bool shown[COLUMNS])
{
    struct grid *g = v->grid;
    struct buf b = {0};
    int column = box.column;
    const enum sort sort = v->ui->wish.sort;
    for (int i = box.column; i < box.end; i++)
        grid_point(g, box.row, i, STYLE_HEADING, ' ', ' ');
    for (int c = 0; c < COLUMNS; c++) {
        if (!shown[c])
            continue;
        const struct column *one = &columns[c];
        bool is_own = c == COLUMN_CORES || c == COLUMN_RSS, has_tree = v->ui->wish.is_tree && shown[COLUMN_CORES_TREE];
        bool is_sorted = one->sort == (int)sort && !(is_own && has_tree);
        enum style style = is_sorted ? STYLE_SORTED : STYLE_HEADING;
        if (is_sorted)
            put_direction(v, &b);
        buf_str(&b, g->utf8 || !one->ascii ? one->title : one->ascii);
        if (c == COLUMN_USER || c == COLUMN_TASK)
            grid_take(g, box.row, column, column + width_of(v, c), style, &b);
        else /* the sign of the order may stand between two columns */
            grid_take_right(g, box.row, column > box.column ? column - 1 : column, column + width_of(v, c), style, &b);
        column += width_of(v, c) + 1;
    }
    if (sort == SORT_NAME)
        put_direction(v, &b);
    buf_str(&b, "COMMAND");
    grid_take(g, box.row, column, box.end, sort == SORT_NAME ? STYLE_SORTED : STYLE_HEADING, &b);
    buf_done(&b);
}

static bool shows_tcp(const struct view *v)
{
    uint64_t sent;
    const struct baro_sample *s = v->instant->now;
    return s &&
           baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), v->feed->metric.job.tcp_sent, &sent) == BARO_PRESENT;
}

void view_processes(struct view *v, struct box box)
{
    bool shown[COLUMNS], is_tree = v->ui->wish.is_tree, tcp = shows_tcp(v);
    const bool absent[COLUMNS] = {[COLUMN_CORES_TREE] = !is_tree,
                                  [COLUMN_RSS_TREE] = !is_tree,
                                  [COLUMN_TASK] = !view_tasks_count(v),
                                  [COLUMN_SENT] = !tcp,
                                  [COLUMN_RECEIVED] = !tcp};
    choose_columns(v, box.end - box.column, absent, shown);
    draw_titles(v, box, shown);
    size_t top = v->ui->top[TAB_PROCESSES];
    for (int i = 1; i < box.rows && top + (size_t)i - 1 < v->model->n_rows; i++)
        draw_process(v, box, box.row + i, top + (size_t)i - 1, shown);
    if (v->model->n_rows == 0 && box.rows > 1)
        grid_text(v->grid, box.row + 1, box.column + 1, box.end, STYLE_FAINT,
                  !v->instant->now                ? "no sample yet"
                  : *v->ui->filter && v->model->n ? "no process matches the filter"
                                                  : "no process lives at this moment");
}
