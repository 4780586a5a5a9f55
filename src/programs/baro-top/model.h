/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows that are shown for a moment: the tree of processes with what each one, and all processes below it, use,
 * filtered and ordered as the user asked. Pure: made only from samples and settings.
 */
#ifndef PROGRAMS_BARO_TOP_MODEL_H
#define PROGRAMS_BARO_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "programs/baro-top/instant.h"
#include "programs/baro-top/metrics.h"

#define MODEL_NONE SIZE_MAX

/* Values that are added up over processes. An absent value counts as 0 in a sum; struct node has the reason for each
 * process. */
struct process_sums {
    double cores, read, write; /* bytes per second */
    uint64_t rss, pss;
    bool cores_is_least, rss_is_least; /* the sum is a lower bound: a value in it is one, or is absent */
};

struct node {
    const struct baro_row *process;
    uint32_t id;
    size_t parent, first, next; /* positions in the model: its parent, first child, and next sibling, of those shown */
    struct process_sums own, tree; /* tree: sum with all below it, even those that ended since the last sample */
    int cores_absent, read_absent, rss_absent; /* reasons why values of `own` are absent (enum baro_absent) */
    uint64_t cpu_ns;
    uint32_t below; /* processes below it */
    bool is_match;  /* the filter fits the process */
    bool is_shown;  /* the process, or one below it, fits the filter */
    bool is_folded;
};

/* A row of the table of processes. */
struct model_row {
    size_t node;
    unsigned depth;
};

/* Processes of one name: those that are alive, and those that ended since the previous sample. */
struct command_now {
    const char *name;
    double cores;
    uint32_t living;
    bool is_least; /* cores is a lower bound */
};

enum sort { SORT_CORES, SORT_CPU, SORT_MEMORY, SORT_IO, SORT_PID, SORT_NAME, SORTS };

/* What the user asked for. */
struct wish {
    enum sort sort;
    bool is_reversed, is_tree;
    bool folds_all;         /* each process with children is folded, except those in the list */
    const uint32_t *folded; /* sorted ids of the folded processes; with folds_all, of those that are not folded */
    size_t n_folded;
    const char *filter;  /* "": none */
    struct regex *regex; /* NULL: the filter is plain text */
    const char *task;    /* the processes of this task alone; NULL: all */
};

struct model {
    struct node *at;
    size_t n, cap;
    struct model_row *row;
    size_t n_rows, cap_rows;
    size_t n_matches;
    struct command_now *command;
    size_t n_commands, cap_commands;
    struct baro_interval between; /* the two samples between which use is computed */
    size_t *order;                /* for sorting */
    size_t last_command;          /* the command to which a process was added last; MODEL_NONE: none */
    bool has_by_id;
    struct map by_pid, by_id, by_ended_pid, by_name;
};

/* Reads an instant. It and the header of its tape must live as long as the model is used. Returns 0 or -ENOMEM. */
int model_read(struct model *m, const struct baro_header *header, const struct instant *i,
               const struct metrics *metric);
/* Chooses and orders the rows. */
void model_arrange(struct model *m, const struct wish *w);
/* If there are more rows, leaves the first `most` of the list. Returns how many it left out, and the sum of their
 * cores. */
size_t model_limit(struct model *m, struct wish *w, size_t most, struct process_sums *ret_rest);
void model_done(struct model *m);
/* The row of a process; MODEL_NONE: it is not shown. */
size_t model_row_of(const struct model *m, uint32_t id);
/* The command of that name as it is now; NULL: no process has it. */
const struct command_now *model_command(const struct model *m, const char *name);
/* The name of the task of a process; "": it belongs to none. */
const char *model_task(const struct model *m, const struct baro_row *p);

#endif
