/* SPDX-License-Identifier: Apache-2.0 */
/* A summary as text for people. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "baro/summary.h"
#include "base/buf.h"

struct report_style {
    unsigned width; /* columns of the terminal */
    bool utf8;      /* may show more than ASCII */
    bool color;
    bool running; /* the tape is still written */
    long zone;    /* of local time when the recording began: seconds east of UTC */
};

/* The block of lines at the end of a run. The summary is finished; tape: its path, NULL if it has none. */
void report_block(const struct baro_summary *s, const char *tape, struct report_style style, struct buf *ret);

/* For terminals that show ASCII alone: in the text from there on, u for the micro sign and \xNN for all others. */
void report_ascii(struct buf *b, size_t from);

/* One argument as a POSIX shell would read it; raw bytes. Several: with single blanks between. */
void report_argument(const char *argument, struct buf *ret);
void report_arguments(const char *const *argv, struct buf *ret);

/* "exit 0", "SIGKILL", ... of a wait status. */
void report_status(int status, struct buf *ret);

#endif
