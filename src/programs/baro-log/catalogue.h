/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A catalogue of tapes that were read: heads and figures, in an SQLite database in the user's cache folder
 * ($XDG_CACHE_HOME or ~/.cache, barograph/log.sqlite). It may be removed at any time. An entry is valid for a file of
 * the same folder, name, size, time and inode; a tape that is still written has none. If the catalogue can't be used
 * (no folder, another process writes, it is damaged or of another version), all tapes are read.
 */
#ifndef PROGRAMS_BARO_LOG_CATALOGUE_H
#define PROGRAMS_BARO_LOG_CATALOGUE_H

#include "programs/baro-log/figures.h"

struct catalogue;

/* why: gets a line if it is not used, or was made anew. NULL is a catalogue without entries. */
struct catalogue *catalogue_open(struct baro_error *why);
void catalogue_close(struct catalogue *c);

/* Fills the heads of the rows that it has, and forgets files that are gone. */
void catalogue_heads(struct catalogue *c, struct tape_row *rows, size_t n);
void catalogue_keep_head(struct catalogue *c, const struct tape_row *row);
/* Returns NULL if it has none. */
struct figures *catalogue_figures(struct catalogue *c, const struct tape_row *row);
void catalogue_keep_figures(struct catalogue *c, const struct tape_row *row, const struct figures *f);
/* The same of one number that is not among them. Returns false if it has none. */
bool catalogue_figure(struct catalogue *c, const struct tape_row *row, const char *name, struct figure *ret);
void catalogue_keep_figure(struct catalogue *c, const struct tape_row *row, const char *name, const struct figure *f);

#endif
