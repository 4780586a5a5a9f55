/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of a job as one page, or as Markdown. */
#ifndef PROGRAMS_BARO_REPORT_RANKS_PAGE_H
#define PROGRAMS_BARO_REPORT_RANKS_PAGE_H

#include "output/ranks/ranks.h"

/* A report of them. notes: lines about tapes that are not counted, escaped. Returns 0 or -ENOMEM. */
typedef int ranks_report(const struct ranks *r, const struct buf *notes, struct buf *ret);
ranks_report ranks_page, ranks_markdown;

#endif
