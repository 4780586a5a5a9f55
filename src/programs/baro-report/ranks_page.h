/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of a job as one page. */
#ifndef PROGRAMS_BARO_REPORT_RANKS_PAGE_H
#define PROGRAMS_BARO_REPORT_RANKS_PAGE_H

#include "output/ranks/ranks.h"

/* notes: lines about tapes that are not counted, escaped. Returns 0 or -ENOMEM. */
int ranks_page(const struct ranks *r, const struct buf *notes, struct buf *ret);

#endif
