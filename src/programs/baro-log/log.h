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
/* Keeps the runs whose command is that of the newest one. The rows are ordered by time. */
void log_keep_newest_command(struct log *l);
/* Takes a row out: its memory is freed, and the caller closes the gap. */
void log_drop(struct tape_row *row);
/* Returns the figures of a tape, or NULL if it can't be read; the caller frees them. */
struct figures *log_figures(struct log *l, struct tape_row *row);

/* Orders rows by the time at which they began. Those that can't be read come first. */
void log_by_time(struct tape_row *rows, size_t n);

#endif
