/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE_EXTENDED 1
#include "programs/baro-top/terminal.h"

#include <errno.h>
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/error.h"

#define RUN_MOST 512 /* characters that are written at once */

bool terminal_is_built(void)
{
    return true;
}

/* ---- colours ---- */

static void colors_init(struct terminal *t)
{
    t->color = t->color && has_colors() && start_color() == OK && use_default_colors() == OK;
    for (short i = 0; t->color && i < STYLES; i++) {
        bool many = COLORS >= 256;
        const struct style_look *l = &style_looks[i];
        init_pair((short)(i + 1), many ? l->fore256 : l->fore8, many ? l->back256 : l->back8);
    }
}

/* A heading or a faint text has no colour of its own among eight. */
static void set_style(const struct terminal *t, enum style style)
{
    const struct style_look *l = &style_looks[style];
    bool plain = !t->color || (COLORS < 256 && l->fore8 < 0 && l->back8 < 0);
    unsigned with = plain ? l->without : l->with;
    attr_t attributes =
        (with & STYLE_BOLD ? A_BOLD : 0) | (with & STYLE_DIM ? A_DIM : 0) | (with & STYLE_REVERSE ? A_REVERSE : 0);
    attr_set(attributes, plain ? 0 : (short)(style + 1), NULL);
}

/* ---- how the terminal was, for terminal_abandon() ---- */

static struct {
    volatile bool is_taken, is_drawn; /* its modes; and what it shows */
    int in_fd, out_fd;
    struct termios modes;
} was;

void terminal_abandon(void)
{
    /* No mouse, plain text, the usual keys, the cursor, the screen before: as xterm and its like have them. */
    static const char leave[] = "\033[?1006;1000l\033[m\033[?1l\033>\033[?25h\033[?1049l";
    if (!was.is_taken)
        return;
    was.is_taken = false;
    ssize_t written = was.is_drawn ? write(was.out_fd, leave, sizeof(leave) - 1) : 0;
    (void)written;
    tcsetattr(was.in_fd, TCSANOW, &was.modes);
}

/* ---- open and close ---- */

static FILE *stream(int fd, const char *mode)
{
    int own = dup(fd);
    FILE *f = own < 0 ? NULL : fdopen(own, mode);
    if (!f && own >= 0)
        close(own);
    return f;
}

static void settings(struct terminal *t, bool mouse)
{
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    terminal_mouse(t, mouse);
}

int terminal_open(struct terminal *t, int in_fd, int out_fd, bool color, struct baro_error *err)
{
    *t = (struct terminal){.color = color};
    bool has_modes = tcgetattr(in_fd, &was.modes) == 0;
    was.in_fd = in_fd;
    was.out_fd = out_fd;
    t->in = stream(in_fd, "r");
    t->out = stream(out_fd, "w");
    if (t->in && t->out) {
        set_escdelay(25);
        was.is_taken = has_modes; /* with what ncurses writes first */
        t->screen = newterm(NULL, t->out, t->in);
    }
    if (!t->screen) {
        const char *term = getenv("TERM");
        terminal_close(t);
        return error_set(err, -ENOTTY, "this terminal (TERM=%s) can't be drawn on; `baro top --once` prints instead",
                         term ? term : "");
    }
    was.is_drawn = true;
    settings(t, false);
    colors_init(t);
    return 0;
}

void terminal_close(struct terminal *t)
{
    if (t->screen) {
        if (!t->is_suspended)
            terminal_suspend(t);
        delscreen(t->screen);
    }
    was.is_taken = false;
    if (t->in)
        fclose(t->in);
    if (t->out)
        fclose(t->out);
    *t = (struct terminal){0};
}

void terminal_suspend(struct terminal *t)
{
    if (t->screen && !t->is_suspended) {
        terminal_mouse(t, false);
        endwin();
    }
    was.is_taken = false;
    t->is_suspended = true;
}

void terminal_resume(struct terminal *t)
{
    t->is_suspended = false;
    was.is_taken = true;
    clearok(stdscr, TRUE);
    refresh();
}

void terminal_size(struct terminal *t, int *ret_rows, int *ret_columns)
{
    struct winsize size;
    int rows = LINES, columns = COLS;
    if (ioctl(fileno(t->out), TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col) {
        rows = size.ws_row;
        columns = size.ws_col;
    }
    if (rows != LINES || columns != COLS) {
        resizeterm(rows, columns);
        clearok(stdscr, TRUE);
    }
    *ret_rows = rows;
    *ret_columns = columns;
}

/* ---- drawing ---- */

static void draw_cells(const struct terminal *t, const struct grid *g, int row)
{
    const struct grid_cell *at = &g->at[(size_t)row * (size_t)g->columns];
    wchar_t run[RUN_MOST];
    move(row, 0);
    for (int i = 0; i < g->columns;) {
        int n = 0;
        enum style style = (enum style)at[i].style;
        for (; i < g->columns && at[i].style == style && n < RUN_MOST; i++) {
            if (at[i].point)
                run[n++] = (wchar_t)at[i].point;
        }
        set_style(t, style);
        addnwstr(run, n);
    }
}

void terminal_draw(struct terminal *t, const struct grid *g)
{
    for (int row = 0; row < g->rows; row++)
        draw_cells(t, g, row);
    refresh();
}

/* ---- keys ---- */

static uint32_t translate(wint_t key)
{
    /* clang-format off */
    static const struct {
        wint_t curses;
        uint32_t key;
    } keys[] = {
        {KEY_UP, KEY_IS_UP},        {KEY_DOWN, KEY_IS_DOWN},       {KEY_LEFT, KEY_IS_LEFT},
        {KEY_RIGHT, KEY_IS_RIGHT},  {KEY_SLEFT, KEY_IS_FAR_LEFT},  {KEY_SRIGHT, KEY_IS_FAR_RIGHT},
        {KEY_HOME, KEY_IS_HOME},    {KEY_END, KEY_IS_END},         {KEY_PPAGE, KEY_IS_PAGE_UP},
        {KEY_NPAGE, KEY_IS_PAGE_DOWN}, {KEY_BACKSPACE, KEY_IS_BACKSPACE}, {KEY_ENTER, KEY_IS_ENTER},
        {KEY_FIND, KEY_IS_HOME},    {KEY_SELECT, KEY_IS_END},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        if (keys[i].curses == key)
            return keys[i].key;
    }
    return 0;
}

static uint32_t mouse_key(int *ret_row)
{
    MEVENT event;
    if (getmouse(&event) != OK)
        return 0;
    *ret_row = event.y;
    if (event.bstate & BUTTON4_PRESSED)
        return KEY_IS_UP;
    if (event.bstate & BUTTON5_PRESSED)
        return KEY_IS_DOWN;
    return event.bstate & (BUTTON1_CLICKED | BUTTON1_PRESSED) ? KEY_IS_CLICK : 0;
}

bool terminal_key(struct terminal *t, uint32_t *ret, int *ret_row)
{
    wint_t key;
    if (t->is_suspended)
        return false;
    for (;;) {
        int kind = get_wch(&key);
        if (kind == ERR)
            return false;
        if (kind == KEY_CODE_YES)
            *ret = key == KEY_MOUSE ? mouse_key(ret_row) : translate(key);
        else
            *ret = key == 0x7f || key == '\b' ? KEY_IS_BACKSPACE : key;
        if (*ret)
            return true;
    }
}

void terminal_mouse(struct terminal *t, bool wanted)
{
    (void)t;
    mousemask(wanted ? BUTTON1_CLICKED | BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED : 0, NULL);
}
