/* SPDX-License-Identifier: Apache-2.0 */
/* Tapes in a list, of `baro ls` and of `baro summary FOLDER`: a line or an object for each. */
#ifndef PROGRAMS_BARO_READ_TAPE_ROWS_H
#define PROGRAMS_BARO_READ_TAPE_ROWS_H

#include "base/json.h"
#include "programs/common/cli.h"
#include "programs/common/tape_list.h"

struct tape_row {
    size_t number;                /* as in @2; 0: it has none, and is listed by its path */
    const char *name, *path;      /* borrowed */
    const struct baro_runs *runs; /* it is run `index` of these; NULL: a tape anywhere */
    size_t index;
    uint64_t bytes;
};

struct tape_rows {
    struct tape_row *at;
    size_t n, cap;
};

int tape_rows_add(struct tape_rows *l, const struct tape_row *row, struct baro_error *err); /* 0 or -ENOMEM */
/* Adds the tapes of a list, from which they borrow. Returns 0 or -ENOMEM. */
int tape_rows_of_list(struct tape_rows *ret, const struct tape_list *list, struct baro_error *err);
void tape_rows_done(struct tape_rows *l);

/* Opens the tape: has it all of these tags? */
bool tape_row_has_tags(const struct tape_row *row, const struct tag_settings *wanted);
/* Opens the tapes, and writes a line for each. */
void tape_rows_table(const struct cli *cli, const struct tape_row *rows, size_t n, struct buf *ret);
void tape_row_json(const struct tape_row *row, struct json *json);

#endif
