/* SPDX-License-Identifier: Apache-2.0 */
/* Draws data into cells. Pure: nothing here makes system calls, and each part writes into its own rows of the grid. */
#ifndef PROGRAMS_BARO_TOP_VIEW_H
#define PROGRAMS_BARO_TOP_VIEW_H

#include "base/clock.h"
#include "programs/baro-top/feed.h"
#include "programs/baro-top/grid.h"
#include "programs/baro-top/memory.h"
#include "programs/baro-top/model.h"
#include "programs/baro-top/ui.h"

struct view {
    struct grid *grid;
    const struct feed *feed;
    const struct instant *instant;
    const struct model *model;
    struct ui *ui;
    const char *(*user)(void *context, uint32_t uid); /* the name of a user; NULL: they are shown as numbers */
    void *user_context;
    bool is_once;         /* printed, without keys */
    int task_width;       /* of the widest task, where names are whole; 0: as on a screen */
    size_t later_events;  /* printed: so many of the newest are left out */
    bool is_show;         /* what each process holds goes before what it reads and writes */
    struct memory memory; /* memory of the job at the instant; set by view_head() */
};

/* A part of the screen. */
struct box {
    int row, column, rows, end; /* end: the column behind it */
};

/* All of it, on a screen. */
void view_draw(struct view *v);

/* What of a long recording is read or printed with a moment. */
#define VIEW_BEFORE_NS (600 * NS_PER_SEC)
#define VIEW_AFTER_NS (300 * NS_PER_SEC)

/* print.c: parts of it as text. Each returns 0 or -ENOMEM. */
struct printing {
    unsigned width;
    bool color;
    bool is_whole; /* the table has all columns, and commands in full */
    struct buf *out;
};
int print_head(struct view *v, int most_rows, const struct printing *p);
/* If there are more processes, only these, the heaviest, as a list; most 0: all. m: that of the view. */
int print_processes(struct view *v, struct model *m, size_t most, const struct printing *p);
int print_tasks_and_gpus(struct view *v, const struct printing *p);
/* Of the events those around the moment that is shown. */
int print_commands_and_events(struct view *v, const struct printing *p);

/* head.c: the job's figures with their curves. Returns the rows that it took. */
int view_head(struct view *v, int most_rows);
/* spark.c */
void view_spark(struct grid *g, struct box box, enum style style, const float *value, int n, double scale);
/* lanes.c: phases over the time axis, and the axis itself; column: of the text at its left. Returns the rows that it
 * took. */
int view_lanes(struct view *v, struct box box, int column, uint64_t from_ns, uint64_t to_ns);
/* table.c */
void view_processes(struct view *v, struct box box);
/* list.c: draws the lists of commands.c, tasks.c and gpus.c */
struct view_column {
    const char *title;
    int width, least; /* least: the smallest width of the box in which it is shown */
};
struct view_list {
    enum tab tab;
    size_t rows;
    const struct view_column *columns;
    int n_columns;
    const char *name_title;
    /* Each appends its text and returns its style. */
    enum style (*put_cell)(const struct view *v, struct buf *b, size_t row, int column);
    enum style (*put_name)(const struct view *v, struct buf *b, size_t row);
    int sorted; /* 1 + the column by which the rows are sorted; 0: none */
};
void view_list(struct view *v, const struct view_list *l, struct box box, bool is_panel);
/* tasks.c */
void view_tasks(struct view *v, struct box box, bool is_panel);
size_t view_tasks_count(const struct view *v);
/* gpus.c */
void view_gpus(struct view *v, struct box box, bool is_panel);
size_t view_gpus_count(const struct view *v);
/* commands.c */
void view_commands(struct view *v, struct box box, bool is_panel);
size_t view_commands_count(const struct view *v);
/* events.c */
void view_events(struct view *v, struct box box, bool is_panel);
size_t view_events_count(const struct view *v);
/* details.c */
void view_details(struct view *v, struct box box);

/* head_memory.c: the line of memory. */
struct memory head_memory(const struct view *v);
void head_memory_value(const struct view *v, struct buf *b, enum style *ret_style);
void head_memory_note(const struct view *v, struct buf *b);
double head_memory_scale(const struct view *v, double most);

/* Cells that several parts have. */
/* "≥" before a lower bound and "≈" before an estimate (enum baro_value_flag): ">" and "~" without UTF-8. */
void cell_mark(struct buf *b, bool utf8, unsigned flags);
void cell_absent_why(struct buf *b, int reason); /* "-", with the reason where it is not that there is none yet */
void cell_cores(struct buf *b, double cores);
void cell_rate(struct buf *b, double bytes_per_second);
/* The style of a row of a list. */
enum style view_row_style(const struct view *v, enum tab tab, size_t row, enum style style);

#endif
