/* SPDX-License-Identifier: Apache-2.0 */
/* What `run` and `record` print at the end of a recording: the summary, and verdicts. */
#ifndef PROGRAMS_BARO_END_TEXT_H
#define PROGRAMS_BARO_END_TEXT_H

#include "programs/baro/recording.h"

/* When the observer has got everything, and not all of it is on the tape. */
void end_text_summary(struct recording *r, struct buf *ret);
/* After that, when the tape is complete: verdicts on a job of less than a second, if it ended badly (nothing is to be
 * read of each short command), and on one that was not sampled after its first second. */
void end_text_reason(struct recording *r, struct buf *ret);

#endif
