/* SPDX-License-Identifier: Apache-2.0 */
/* A summary told to people, and to programs. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "baro/summary.h"
#include "base/buf.h"
#include "derive/summary.h"
#include "base/json.h"

struct report_style {
    unsigned width; /* columns of the terminal */
    bool utf8;      /* may show more than ASCII */
    bool color;
    bool running; /* somebody still writes the tape */
    long zone;    /* of local time when the recording began: seconds east of UTC */
};

/* The block of lines that stands at the end of a run. summary must be finished; tape: where it is kept, NULL: nowhere.
 */
void report_block(const struct baro_summary *s, const char *tape, struct report_style style, struct buf *ret);

/* For terminals that show no more than ASCII: what stands behind from, with a u for the micro sign and \xNN for all
 * else. */
void report_ascii(struct buf *b, size_t from);

/* A command's arguments as a POSIX shell would read them, single blanks between; raw bytes. */
void report_arguments(const char *const *argv, struct buf *ret);

/* "exit 0", "SIGKILL", ... of a wait status. */
void report_status(int status, struct buf *ret);

#endif
