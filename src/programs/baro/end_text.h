/* SPDX-License-Identifier: Apache-2.0 */
/* What `run` and `record` print at the end of a recording: the summary, and verdicts. */
#ifndef PROGRAMS_BARO_END_TEXT_H
#define PROGRAMS_BARO_END_TEXT_H

#include "programs/baro/recording.h"

/* Prints the summary once the observer has every record, even if not all of them are on the tape. */
void end_text_summary(struct recording *r, struct buf *ret);
/* Prints verdicts once the tape is complete. Only for a job of less than a second that failed (a successful short
 * command does not wait until its tape is read), and for one without a sample after its first second. */
void end_text_reason(struct recording *r, struct buf *ret);

#endif
