/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of tables in Markdown, and the table of tasks. */
#ifndef PROGRAMS_BARO_REPORT_MARKDOWN_CELLS_H
#define PROGRAMS_BARO_REPORT_MARKDOWN_CELLS_H

#include "baro/summary.h"
#include "base/buf.h"

/* Adds text in which no line is broken at a blank. */
void markdown_unbroken(struct buf *out, const struct buf *text);
/* The end of the cell before, and a value: with "at least" or "about", or why it is absent. */
void markdown_cell(struct buf *out, struct baro_value v, void (*format)(struct buf *, uint64_t));
void markdown_cell_real(struct buf *out, struct baro_value v);
/* A line that says what the words mean which stand for a number in the table that begins at `from`. */
void markdown_legend(struct buf *out, size_t from);

/* What each task used, the one with most CPU time first; nothing if there is none. */
void markdown_tasks(const struct baro_summary *s, struct buf *out);

#endif
