/* SPDX-License-Identifier: Apache-2.0 */
/* The runs that a command is about: which tapes, which of them fit the filters, and their numbers. */
#ifndef PROGRAMS_BARO_LOG_LOG_H
#define PROGRAMS_BARO_LOG_LOG_H

#include "base/regex.h"
#include "programs/baro-log/catalogue.h"

struct log {
    const struct cli *cli;
    const struct settings *settings;
    struct baro_runs *kept; /* the folder of kept runs; NULL: the user named tapes */
    struct tape_list named;
    struct tape_rows rows;
    size_t named_count; /* how many of the rows have no number: they come first */
    struct catalogue *catalogue;
    struct regex *command;
    unsigned walked; /* tapes that were walked over: their figures were not in the catalogue */
};

/* Lists the tapes that the operands name, without them the kept runs: those without a number by their names, then the
 * kept runs, the newest last. No tape is read. */
int log_list(struct log *l, const struct cli *cli, const struct settings *s, char **operands, struct baro_error *err);
void log_done(struct log *l);

/* Reads the heads from row `from` on. */
void log_heads(struct log *l, size_t from);
/* Does a filter need the heads of all rows? */
bool log_has_filter(const struct log *l);
/* Reads all heads, and keeps the rows that fit --command, --tag, --since and --failed. Unreadable tapes fit none. */
void log_filter(struct log *l);
/* Reads the heads of what fits the filters, in the order of time; without filters and operands only of the command that
 * ran last. */
void log_choose(struct log *l, bool has_operands);
/* Returns the figures of a tape, borrowed from its row; NULL if it can't be read. */
const struct figures *log_figures(struct log *l, struct tape_row *row);

/* Orders rows by their keys, the largest last; those with NAN come first. */
void log_sort(struct tape_rows *rows);

/* Writes what ran, in at most so many columns of ASCII, or bytes; escaped. */
void log_title(const struct tape_row *row, size_t most, struct buf *ret);

/* The least, the median and the most of some numbers, which are sorted; NAN: there are none. */
struct range {
    double least, median, most;
};
struct range range_of(double *values, size_t n);

#endif
