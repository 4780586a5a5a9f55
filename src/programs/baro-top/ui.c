/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-top/ui.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/regex.h"

void ui_init(struct ui *u)
{
    *u = (struct ui){.live = true, .wish = {.sort = SORT_CORES, .is_tree = true}};
    u->wish.filter = u->filter;
}

void ui_done(struct ui *u)
{
    regex_free(u->wish.regex);
    free(u->folded);
    u->wish.regex = NULL;
    u->folded = NULL;
}

/* Takes a filter as the user typed it. If it is not a regular expression, it is searched for as plain text. */
static void set_filter(struct ui *u, const char *text)
{
    snprintf(u->filter, sizeof(u->filter), "%s", text);
    regex_free(u->wish.regex);
    u->wish.regex = NULL;
    if (*text)
        regex_make(&u->wish.regex, text, REGEX_IGNORE_CASE, NULL);
}

enum tab ui_next_tab(const struct ui *u)
{
    enum tab next = (u->tab + 1) % TABS;
    while ((next == TAB_TASKS || next == TAB_GPUS) && !u->rows[next])
        next++;
    return next;
}

static size_t last_of(const struct ui *u)
{
    return u->rows[u->tab] ? u->rows[u->tab] - 1 : 0;
}

static void keep_on_screen(struct ui *u)
{
    size_t *row = &u->row[u->tab], *top = &u->top[u->tab], page = u->page ? u->page : 1;
    if (*row > last_of(u))
        *row = last_of(u);
    if (*top + page > u->rows[u->tab])
        *top = u->rows[u->tab] > page ? u->rows[u->tab] - page : 0;
    if (*row < *top)
        *top = *row;
    if (*row >= *top + page)
        *top = *row - page + 1;
}

/* Keeps the selected process selected, wherever its row is now. If none was selected so far, the first row is. */
void ui_settle(struct ui *u, const struct model *m)
{
    if (u->tab == TAB_PROCESSES) {
        size_t row = model_row_of(m, u->selected);
        u->rows[TAB_PROCESSES] = m->n_rows;
        if (row != MODEL_NONE)
            u->row[TAB_PROCESSES] = row;
    }
    keep_on_screen(u);
}

/* ---- rows ---- */

static void select_row(struct ui *u, const struct model *m, size_t row)
{
    u->row[u->tab] = row > last_of(u) ? last_of(u) : row;
    keep_on_screen(u);
    if (u->tab == TAB_PROCESSES && u->row[u->tab] < m->n_rows)
        u->selected = m->at[m->row[u->row[u->tab]].node].id;
}

static bool move_rows(struct ui *u, const struct model *m, uint32_t key)
{
    size_t row = u->row[u->tab], page = u->page ? u->page : 1;
    switch (key) {
    case KEY_IS_UP:
    case 'k': select_row(u, m, row ? row - 1 : 0); return true;
    case KEY_IS_DOWN:
    case 'j': select_row(u, m, row + 1); return true;
    case KEY_IS_PAGE_UP: select_row(u, m, row > page ? row - page : 0); return true;
    case KEY_IS_PAGE_DOWN: select_row(u, m, row + page); return true;
    case '^': select_row(u, m, 0); return true;
    case '$': select_row(u, m, last_of(u)); return true;
    case KEY_IS_CLICK: select_row(u, m, u->top[u->tab] + (size_t)u->click_row); return true;
    default: return false;
    }
}

/* ---- folding ---- */

static void toggle_fold(struct ui *u, uint32_t id)
{
    size_t n = u->wish.n_folded, i = 0;
    while (i < n && u->folded[i] < id)
        i++;
    if (i < n && u->folded[i] == id) {
        memmove(u->folded + i, u->folded + i + 1, (n - i - 1) * sizeof(*u->folded));
        u->wish.n_folded--;
        return;
    }
    if (array_reserve(&u->folded, n + 1, &u->cap_folded, sizeof(*u->folded)) < 0)
        return;
    u->wish.folded = u->folded;
    memmove(u->folded + i + 1, u->folded + i, (n - i) * sizeof(*u->folded));
    u->folded[i] = id;
    u->wish.n_folded++;
}

static enum action fold(struct ui *u, const struct model *m, bool all)
{
    if (u->tab != TAB_PROCESSES || !u->wish.is_tree)
        return ACTION_NONE;
    if (all) {
        u->wish.folds_all = !u->wish.folds_all;
        u->wish.n_folded = 0;
        return ACTION_ARRANGE;
    }
    if (u->row[u->tab] >= m->n_rows)
        return ACTION_NONE;
    const struct node *node = &m->at[m->row[u->row[u->tab]].node];
    if (!node->below)
        return ACTION_NONE;
    u->selected = node->id;
    toggle_fold(u, node->id);
    return ACTION_ARRANGE;
}

/* ---- time ---- */

static enum action go_to(struct ui *u, uint64_t t_ns)
{
    u->live = false;
    u->at_ns = t_ns < u->first_ns ? u->first_ns : t_ns > u->last_ns ? u->last_ns : t_ns;
    return ACTION_MOVE;
}

/* Moves by a hundredth of the recording, or by a tenth if `far`. A step beyond the newest sample follows it again. */
static enum action step_time(struct ui *u, bool back, bool far)
{
    uint64_t length = u->last_ns - u->first_ns, by = length / (far ? 10 : 100), at = u->live ? u->last_ns : u->at_ns;
    if (back)
        return go_to(u, at > by ? at - by : 0);
    if (u->live)
        return ACTION_NONE;
    if (at + by >= u->last_ns) {
        u->live = true;
        return ACTION_MOVE;
    }
    return go_to(u, at + by);
}

static enum action move_time(struct ui *u, uint32_t key)
{
    switch (key) {
    case KEY_IS_LEFT: return step_time(u, true, false);
    case KEY_IS_RIGHT: return step_time(u, false, false);
    case KEY_IS_FAR_LEFT:
    case '[': return step_time(u, true, true);
    case KEY_IS_FAR_RIGHT:
    case ']': return step_time(u, false, true);
    case KEY_IS_HOME: return go_to(u, u->first_ns);
    case KEY_IS_END: u->live = true; return ACTION_MOVE;
    case ' ':
        u->live = !u->live;
        u->at_ns = u->last_ns;
        return ACTION_MOVE;
    case ',': return ACTION_BACK;
    case '.': return ACTION_ON;
    default:
        if (key >= '0' && key <= '9')
            return go_to(u, u->first_ns + (u->last_ns - u->first_ns) / 10 * (key - '0'));
        return ACTION_NONE;
    }
}

/* ---- the line that is typed ---- */

static enum action end_input(struct ui *u)
{
    enum prompt was = u->prompt;
    u->prompt = PROMPT_NONE;
    if (was == PROMPT_TIME)
        return *u->input ? ACTION_GO : ACTION_DRAW;
    return ACTION_ARRANGE;
}

static size_t append_point(char *text, size_t cap, uint32_t point)
{
    size_t len = strlen(text), more = point < 0x80 ? 0 : point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    if (len + more + 2 > cap)
        return len;
    text[len] = (char)(more ? 0xff00u >> (more + 1) | point >> (6 * more) : point);
    for (size_t i = 1; i <= more; i++)
        text[len + i] = (char)(0x80 | (point >> (6 * (more - i)) & 0x3f));
    text[len + more + 1] = 0;
    return len + more + 1;
}

static enum action input_key(struct ui *u, uint32_t key)
{
    size_t len = strlen(u->input);
    if (key == KEY_IS_ENTER)
        return end_input(u);
    if (key == KEY_IS_ESCAPE) {
        bool filter = u->prompt == PROMPT_FILTER;
        u->prompt = PROMPT_NONE;
        if (filter)
            set_filter(u, "");
        return filter ? ACTION_ARRANGE : ACTION_DRAW;
    }
    if (key == KEY_IS_BACKSPACE) {
        while (len && ((unsigned char)u->input[--len] & 0xc0) == 0x80)
            ;
        u->input[len] = 0;
    } else if (key == 0x15) { /* ^U */
        *u->input = 0;
    } else if (key >= ' ' && key < KEY_IS_UP && key != 0x7f) {
        append_point(u->input, sizeof(u->input), key);
    } else {
        return ACTION_NONE;
    }
    if (u->prompt != PROMPT_FILTER)
        return ACTION_DRAW;
    set_filter(u, u->input);
    return ACTION_ARRANGE;
}

/* ---- all others ---- */

static enum action sort_by(struct ui *u, enum sort sort)
{
    u->wish.sort = sort;
    u->wish.is_reversed = false;
    u->top[TAB_PROCESSES] = u->row[TAB_PROCESSES] = 0;
    u->selected = 0;
    return ACTION_ARRANGE;
}

static enum action choose_order(struct ui *u, uint32_t key)
{
    static const char keys[] = "ctmipn"; /* in the order of enum sort */
    const char *at = key < 0x80 && key ? strchr(keys, (int)key) : NULL;
    if (at)
        return sort_by(u, (enum sort)(at - keys));
    if (key == '>' || key == 's')
        return sort_by(u, (u->wish.sort + 1) % SORTS);
    if (key == '<')
        return sort_by(u, (u->wish.sort + SORTS - 1) % SORTS);
    if (key != 'r')
        return ACTION_NONE;
    u->wish.is_reversed = !u->wish.is_reversed;
    return ACTION_ARRANGE;
}

static enum action begin_input(struct ui *u, enum prompt prompt)
{
    u->prompt = prompt;
    snprintf(u->input, sizeof(u->input), "%s", prompt == PROMPT_FILTER ? u->filter : "");
    return ACTION_DRAW;
}

static enum action escape(struct ui *u)
{
    if (u->help || u->details) {
        u->help = u->details = false;
        return ACTION_DRAW;
    }
    if (!*u->filter)
        return ACTION_NONE;
    set_filter(u, "");
    return ACTION_ARRANGE;
}

static enum action toggle(bool *what, enum action then)
{
    *what = !*what;
    return then;
}

static enum action command_key(struct ui *u, const struct model *m, uint32_t key)
{
    switch (key) {
    case 'q': return ACTION_QUIT;
    case '?':
    case 'h': return toggle(&u->help, ACTION_DRAW);
    case KEY_IS_ESCAPE: return escape(u);
    case KEY_IS_TAB: u->tab = ui_next_tab(u); return ACTION_ARRANGE;
    case KEY_IS_ENTER:
        u->details_top = 0;
        if (u->tab == TAB_PROCESSES && u->row[u->tab] < m->n_rows)
            u->selected = m->at[m->row[u->row[u->tab]].node].id;
        return u->tab == TAB_PROCESSES ? toggle(&u->details, ACTION_DRAW) : ACTION_NONE;
    case '/': return begin_input(u, PROMPT_FILTER);
    case 'g': return begin_input(u, PROMPT_TIME);
    case 'P': return ACTION_PEAK;
    case 'T': return toggle(&u->wish.is_tree, ACTION_ARRANGE);
    case 'f':
    case 'F': return fold(u, m, key == 'F');
    case 'z': return toggle(&u->recent, ACTION_DRAW);
    case 'w': return toggle(&u->mouse, ACTION_MOUSE);
    default: return ACTION_NONE;
    }
}

static bool scroll_details(struct ui *u, uint32_t key)
{
    size_t page = u->page ? u->page : 1, most = u->details_rows > page ? u->details_rows - page : 0;
    if (key == KEY_IS_DOWN || key == 'j')
        u->details_top++;
    else if (key == KEY_IS_UP || key == 'k')
        u->details_top -= u->details_top > 0;
    else if (key == KEY_IS_PAGE_DOWN)
        u->details_top += page;
    else if (key == KEY_IS_PAGE_UP)
        u->details_top -= u->details_top > page ? page : u->details_top;
    else
        return false;
    if (u->details_top > most)
        u->details_top = most;
    return true;
}

enum action ui_key(struct ui *u, const struct model *m, uint32_t key)
{
    *u->message = 0;
    if (key == '\r')
        key = KEY_IS_ENTER;
    if (u->prompt)
        return input_key(u, key);
    if (u->help && key != 'q') { /* any key leaves the help */
        u->help = false;
        return ACTION_DRAW;
    }
    if (u->details && scroll_details(u, key))
        return ACTION_DRAW;
    if (move_rows(u, m, key))
        return ACTION_DRAW;
    enum action action = move_time(u, key);
    if (action == ACTION_NONE)
        action = choose_order(u, key);
    return action == ACTION_NONE ? command_key(u, m, key) : action;
}
