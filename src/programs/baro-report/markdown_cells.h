/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of tables in Markdown, and the table of tasks. */
#ifndef PROGRAMS_BARO_REPORT_MARKDOWN_CELLS_H
#define PROGRAMS_BARO_REPORT_MARKDOWN_CELLS_H

#include "baro/summary.h"
#include "base/buf.h"

/* Adds text without line breaks at its blanks. */
void markdown_unbroken(struct buf *out, const struct buf *text);
/* Ends the cell before, and adds a value: with "at least" or "about", or the reason why it is absent. */
void markdown_cell(struct buf *out, const struct baro_fact *fact, struct baro_value v);
void markdown_fact(struct buf *out, const struct baro_summary *s, const char *section, const char *name, size_t row);
/* Adds a line that explains the words that stand for numbers in the table that begins at `from`. */
void markdown_legend(struct buf *out, size_t from);

/* Adds a table of what each task used, sorted by CPU time; nothing if there are no tasks. */
void markdown_tasks(const struct baro_summary *s, struct buf *out);

#endif
