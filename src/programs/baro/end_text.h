/* SPDX-License-Identifier: Apache-2.0 */
/* What `run` and `record` print at the end of a recording: the summary, and verdicts. */
#ifndef PROGRAMS_BARO_END_TEXT_H
#define PROGRAMS_BARO_END_TEXT_H

#include "programs/baro/recording.h"

/* Once the observer has every record, even if not all of them are on the tape. */
void end_text_summary(struct recording *r, struct buf *ret);

#endif
