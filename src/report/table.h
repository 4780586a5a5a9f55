/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the block that stand in files of their own. */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "report/lines.h"

void report_commands(struct lines *l, const struct summary *s); /* the heaviest commands, as a table */
void report_notes(struct lines *l, const struct summary *s);    /* what makes the figures less than whole */

#endif
