/* SPDX-License-Identifier: Apache-2.0 */
/* The view as text: part below part, each drawn in a grid of its own. */
#include <string.h>

#include "programs/baro-top/view.h"

#define ROWS_A_TIME 64 /* of the table: where nothing is cut, a grid is as wide as its longest command */
#define ALL_COLUMNS 300
#define COMMANDS_MOST 10

int print_head(struct view *v, int most_rows, const struct printing *p)
{
    int code = grid_resize(v->grid, most_rows, (int)p->width);
    if (code == 0)
        grid_print(v->grid, view_head(v, most_rows), p->color, p->out);
    return code;
}

/* Returns how wide a grid has to be so that these rows have all columns, and commands in full. */
static int whole_width(const struct view *v, size_t first, int rows)
{
    int most = 0;
    for (int i = 0; i < rows && first + (size_t)i < v->model->n_rows; i++) {
        const char *line = "";
        baro_row_cmdline(v->model->at[v->model->row[first + (size_t)i].node].process, &line);
        int n = grid_columns_of(v->grid, line, strlen(line));
        most = n > most ? n : most;
    }
    return ALL_COLUMNS + v->task_width + most;
}

static int widest_task(const struct view *v)
{
    int most = 0;
    for (size_t i = 0; i < v->model->n_rows; i++) {
        const char *name = model_task(v->model, v->model->at[v->model->row[i].node].process);
        int n = grid_columns_of(v->grid, name, strlen(name));
        most = n > most ? n : most;
    }
    return most;
}

/* "(12 more, 0.35 cores)" */
static void print_rest(const struct process_sums *rest, size_t n, struct buf *b)
{
    buf_printf(b, rest->cores_is_least ? "(%zu more, at least " : "(%zu more, ", n);
    cell_cores(b, rest->cores);
    buf_str(b, " cores)\n");
}

int print_processes(struct view *v, struct model *m, size_t most, const struct printing *p)
{
    struct process_sums rest = {0};
    size_t left = most ? model_limit(m, &v->ui->wish, most, &rest) : 0, n = m->n_rows ? m->n_rows : 1;
    int code = 0;
    buf_byte(p->out, '\n');
    v->task_width = p->is_whole ? widest_task(v) : 0;
    for (size_t first = 0; code == 0 && first < n; first += ROWS_A_TIME) {
        int rows = n - first < ROWS_A_TIME ? (int)(n - first) : ROWS_A_TIME, titles = first == 0;
        code = grid_resize(v->grid, rows + titles, p->is_whole ? whole_width(v, first, rows) : (int)p->width);
        if (code < 0)
            break;
        v->ui->top[TAB_PROCESSES] = first;
        view_processes(v, (struct box){titles - 1, 0, rows + 1, v->grid->columns}); /* row -1 is not drawn */
        grid_print(v->grid, rows + titles, p->color, p->out);
    }
    if (left)
        print_rest(&rest, left, p->out);
    return code;
}

static int print_list(struct view *v, size_t rows, void (*draw)(struct view *v, struct box box, bool is_panel),
                      const struct printing *p)
{
    int width = p->is_whole ? ALL_COLUMNS : (int)p->width;
    int code = rows ? grid_resize(v->grid, (int)rows + 1, width) : 0;
    if (code < 0 || !rows)
        return code;
    draw(v, (struct box){0, 0, (int)rows + 1, width}, true);
    buf_byte(p->out, '\n');
    grid_print(v->grid, (int)rows + 1, p->color, p->out);
    return 0;
}

int print_tasks_and_gpus(struct view *v, const struct printing *p)
{
    int code = print_list(v, view_tasks_count(v), view_tasks, p);
    return code < 0 ? code : print_list(v, view_gpus_count(v), view_gpus, p);
}

static int print_events(struct view *v, const struct printing *p)
{
    const struct baro_timeline *t = v->feed->timeline;
    size_t all = view_events_count(v), to = all;
    uint64_t at_ns = v->instant->now ? baro_sample_t_ns(v->instant->now) : 0;
    while (to && baro_timeline_get(t, to - 1)->begin_ns > at_ns + VIEW_AFTER_NS)
        to--;
    size_t from = to;
    while (from && baro_timeline_get(t, from - 1)->begin_ns + VIEW_BEFORE_NS >= at_ns)
        from--;
    v->later_events = all - to;
    int code = print_list(v, to - from, view_events, p);
    if (code >= 0 && to - from < all)
        buf_printf(p->out, "(%zu more, before and after: baro export -e event, -e phase)\n", all - (to - from));
    return code;
}

int print_commands_and_events(struct view *v, const struct printing *p)
{
    size_t n = view_commands_count(v);
    int code = print_list(v, n < COMMANDS_MOST ? n : COMMANDS_MOST, view_commands, p);
    return code < 0 ? code : print_events(v, p);
}
