/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a tape as one self-contained HTML file. */
#ifndef OUTPUT_PAGE_PAGE_H
#define OUTPUT_PAGE_PAGE_H

#include "baro/baro.h"
#include "base/buf.h"

struct page_options {
    const char *tape_name; /* what the page calls the tape, such as the name of its file; bytes */
    long zone;             /* local time zone when the recording began: seconds east of UTC */
    /* A tape of the machine alone, for charts of the machine that the tape itself lacks; its cursor is moved. NULL:
     * none */
    struct baro_tape *machine;
    const char *machine_name;
};

/*
 * Reads the whole tape and writes the page to a sink, in pieces. The cursor is moved. Returns 0, a negative code of the
 * tape or of memory with its text in err, or what the sink returned.
 */
int page_write(struct baro_tape *tape, const struct page_options *options, baro_sink *sink, void *context,
               struct baro_error *err);

#endif
