/* SPDX-License-Identifier: Apache-2.0 */
/* What the user has chosen to see, and how keys change it. Pure. */
#ifndef PROGRAMS_BARO_TOP_UI_H
#define PROGRAMS_BARO_TOP_UI_H

#include "programs/baro-top/model.h"

/* Keys that are no character; behind the last code point of Unicode. */
enum key {
    KEY_IS_UP = 0x110000,
    KEY_IS_DOWN,
    KEY_IS_LEFT,
    KEY_IS_RIGHT,
    KEY_IS_FAR_LEFT, /* with shift or control */
    KEY_IS_FAR_RIGHT,
    KEY_IS_HOME,
    KEY_IS_END,
    KEY_IS_PAGE_UP,
    KEY_IS_PAGE_DOWN,
    KEY_IS_BACKSPACE,
    KEY_IS_CLICK /* ui.click_row was clicked at */
};
#define KEY_IS_ESCAPE 27
#define KEY_IS_ENTER '\n'
#define KEY_IS_TAB '\t'

enum tab { TAB_PROCESSES, TAB_TASKS, TAB_GPUS, TAB_COMMANDS, TAB_EVENTS, TABS };
enum prompt { PROMPT_NONE, PROMPT_FILTER, PROMPT_TIME };

/* What a key asks for, besides changing what is drawn. */
enum action {
    ACTION_NONE, /* nothing has changed */
    ACTION_DRAW,
    ACTION_ARRANGE, /* other rows, or another order */
    ACTION_MOVE,    /* to another moment: ui.live, ui.at_ns */
    ACTION_BACK,    /* to the previous sample */
    ACTION_ON,      /* to the next sample */
    ACTION_GO,      /* to the moment that ui.input names */
    ACTION_PEAK,    /* to the peak of memory */
    ACTION_MOUSE,   /* the wheel is wanted, or no longer */
    ACTION_QUIT
};

#define UI_INPUT 128

struct ui {
    enum tab tab;
    struct wish wish;
    char filter[UI_INPUT];
    enum prompt prompt;
    char input[UI_INPUT];
    uint32_t *folded;
    size_t cap_folded;
    uint32_t selected; /* the process of the selected row; 0: none yet */
    size_t row[TABS];  /* the selected row */
    size_t top[TABS];  /* the first row that is drawn */
    bool live;         /* follows the newest sample */
    uint64_t at_ns;    /* else: the moment that is shown */
    bool recent;       /* curves have the last two minutes, not all of it */
    bool help, details;
    size_t details_top;
    bool mouse;
    int click_row;     /* row of the table */
    char message[160]; /* in the last line until the next key */
    /* Set by the code that draws: */
    size_t rows[TABS]; /* how many rows each list has; lists of tasks and of GPUs are left out if they are empty */
    size_t page;       /* how many are drawn */
    size_t details_rows;
    uint64_t first_ns, last_ns; /* begin and end of the recording */
};

/* The list that comes behind this one. */
enum tab ui_next_tab(const struct ui *u);
void ui_init(struct ui *u);
void ui_done(struct ui *u);
enum action ui_key(struct ui *u, const struct model *m, uint32_t key);
/* Keeps the selection on its process, and on the screen, after the rows have changed. */
void ui_settle(struct ui *u, const struct model *m);

#endif
