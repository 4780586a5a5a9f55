/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a job and the chain of last finishers as text. */
#ifndef OUTPUT_TEXT_STEPS_H
#define OUTPUT_TEXT_STEPS_H

#include "baro/steps.h"
#include "base/buf.h"

/* Writes what people call a step, raw bytes of at most `most` bytes from the tape: "gcc amalgamation.c", "cc1 #3" where
 * its arguments are not known, "make itself", "no process". */
void report_step_name(const struct baro_step *step, size_t most, struct buf *ret);
/* Writes "ld waited for gcc amalgamation.c, 12.4 s; starting it first saves up to 9.0 s", raw bytes, of the link that
 * could save most. Writes nothing if none could save a hundredth of the wall time. */
void report_chain_saving(const struct baro_steps *steps, struct buf *ret);
/* What a link waited for, in a few words: "a slot"; "" if that is not known. */
const char *report_link_after(const struct baro_step_link *link);
/* How many steps have no command line though others of their name are there. */
size_t report_steps_without_arguments(const struct baro_steps *steps);

/* Chooses the links to show: shown[i] is true for the `most` longest. Returns how many are not shown. */
size_t report_chain_choose(const struct baro_steps *steps, size_t most, bool *shown);

/* most: steps, 0: all; as many links, but 12 if it is not 0. width: 0: as wide as needed. */
int report_steps(const struct baro_steps *steps, size_t most, unsigned width, bool utf8, struct buf *ret);

#endif
