/* SPDX-License-Identifier: Apache-2.0 */
/* Tapes in a list, of `baro ls` and of `baro summary FOLDER`: a line or an object for each. */
#ifndef PROGRAMS_COMMON_TAPE_ROWS_H
#define PROGRAMS_COMMON_TAPE_ROWS_H

#include "base/json.h"
#include "programs/common/cli.h"
#include "programs/common/tape_head.h"
#include "programs/common/tape_list.h"

struct tape_row {
    size_t number;                /* as in @2; 0: it has none, and is listed by its path */
    const char *name, *path;      /* borrowed */
    const struct baro_runs *runs; /* it is run `index` of these; NULL: a tape anywhere */
    size_t index;
    uint64_t bytes, inode;
    int64_t changed_ns;      /* 0: not known */
    struct figures *figures; /* of programs/baro-log; NULL: not read so far */
    double key;              /* the value by which a list is ordered */
    struct tape_head *head;  /* NULL: not read so far; with `error` if it can't be. It belongs to struct tape_rows */
};

struct tape_rows {
    struct tape_row *at;
    size_t n, cap;
};

int tape_rows_add(struct tape_rows *l, const struct tape_row *row, struct baro_error *err); /* 0 or -ENOMEM */
/* Adds the tapes of a list, from which they borrow. Returns 0 or -ENOMEM. */
int tape_rows_of_list(struct tape_rows *ret, const struct tape_list *list, struct baro_error *err);
void tape_row_done(struct tape_row *row);
void tape_rows_done(struct tape_rows *l);

/* Opens a tape, for at most so much CPU time. */
int tape_row_open(const struct tape_row *row, uint64_t cpu_ns, struct baro_tape **ret, struct baro_error *err);
/* Reads the head, unless it is there. Without memory it stays NULL. */
void tape_row_read(struct tape_row *row);

enum tape_cell { CELL_NAME, CELL_START, CELL_WALL, CELL_STATE, CELL_BYTES, CELL_TAGS, CELL_COMMAND, CELLS };
/* Writes a cell for people, escaped. */
void tape_row_cell(const struct tape_row *row, enum tape_cell cell, struct buf *ret);
void tape_row_command(const struct tape_head *h, struct buf *ret);
/* Writes the members of an object for programs. */
void tape_row_json(const struct tape_row *row, struct json *json);
/* Reads the tapes, and writes a line for each: all columns but tags. */
void tape_rows_table(const struct cli *cli, struct tape_row *rows, size_t n, struct buf *ret);

#endif
