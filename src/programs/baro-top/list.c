/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a list of commands, tasks or GPUs: titles, and for each row its cells and then its name. */
#include "programs/baro-top/view.h"

static bool has_room(const struct view_column *c, struct box box)
{
    return c->least <= box.end - box.column;
}

static void draw_titles(struct view *v, const struct view_list *l, struct box box)
{
    struct buf b = {0};
    int column = box.column;
    for (int i = box.column; i < box.end; i++)
        grid_point(v->grid, box.row, i, STYLE_HEADING, ' ', ' ');
    for (int c = 0; c < l->n_columns; c++) {
        if (!has_room(&l->columns[c], box))
            continue;
        buf_str(&b, l->columns[c].title);
        grid_take_right(v->grid, box.row, column, column + l->columns[c].width,
                        c + 1 == l->sorted ? STYLE_SORTED : STYLE_HEADING, &b);
        column += l->columns[c].width + 1;
    }
    grid_text(v->grid, box.row, column, box.end, STYLE_HEADING, l->name_title);
    buf_done(&b);
}

static void draw_row(struct view *v, const struct view_list *l, struct box box, int at, size_t row, bool is_panel)
{
    struct buf b = {0};
    int column = box.column;
    enum style all = is_panel ? STYLE_PLAIN : view_row_style(v, l->tab, row, STYLE_PLAIN);
    bool is_selected = all == STYLE_SELECTED;
    for (int i = box.column; i < box.end && is_selected; i++)
        grid_point(v->grid, at, i, all, ' ', ' ');
    for (int c = 0; c < l->n_columns; c++) {
        if (!has_room(&l->columns[c], box))
            continue;
        enum style style = l->put_cell(v, &b, row, c);
        grid_take_right(v->grid, at, column, column + l->columns[c].width, is_selected ? all : style, &b);
        column += l->columns[c].width + 1;
    }
    enum style style = l->put_name(v, &b, row);
    grid_take(v->grid, at, column, box.end, is_selected ? all : style, &b);
    buf_done(&b);
}

void view_list(struct view *v, const struct view_list *l, struct box box, bool is_panel)
{
    size_t top = is_panel || v->is_once ? 0 : v->ui->top[l->tab];
    draw_titles(v, l, box);
    for (int i = 1; i < box.rows && top + (size_t)i - 1 < l->rows; i++)
        draw_row(v, l, box, box.row + i, top + (size_t)i - 1, is_panel);
}
