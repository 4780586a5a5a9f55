/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-top/view.h"

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

void view_help(struct view *v, struct box box)
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
