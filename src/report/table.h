/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the block that stand in files of their own. */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "report/lines.h"

void report_commands(struct lines *l, const struct baro_summary *s); /* the heaviest commands, as a table */
void report_notes(struct lines *l, const struct baro_summary *s);    /* what makes the figures less than whole */
void report_limits(struct lines *l,
                   const struct baro_summary
                       *s); /* which limit binds, and how near it came; nothing where none lies below the machine */
/* alone.c: has the tape no job? Then this tells of the machine what else is told of a job. */
bool report_is_alone(const struct baro_summary *s);
void report_alone(struct lines *l, const struct baro_summary *s);
void report_machine(struct lines *l,
                    const struct baro_summary *s); /* the machine around it, where that tells something */
void report_memory_share(struct buf *b, const struct baro_summary *s); /* "30 % of 512 MB", if that tells something */
void report_cores(struct buf *b, double cores);                        /* "2", "0.50" */

#endif
