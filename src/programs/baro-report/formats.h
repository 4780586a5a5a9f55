/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of a report: one row each, with one function that is in a file of its own. */
#ifndef PROGRAMS_BARO_REPORT_FORMATS_H
#define PROGRAMS_BARO_REPORT_FORMATS_H

#include "baro/baro.h"

/* What a report is made from. */
struct report_input {
    struct baro_tape *tape; /* at its beginning; a format may move it */
    const char *path;       /* of the tape */
    long zone;              /* of local time when the recording began: seconds east of UTC */
    bool force;             /* replace what is there */
};

/* Writes one file through a sink. Returns 0, a negative code with its text in err, or what the sink returned. */
typedef int report_function(const struct report_input *in, baro_sink *sink, void *context, struct baro_error *err);

struct report_format {
    const char *name;       /* of --format, in the order of report_format_names */
    const char *ending;     /* of the names of such files, with the dot */
    report_function *write;
};

/* Ended by a row without a name. The first one is the default. */
extern const struct report_format report_formats[];

report_function report_html, report_markdown, report_json;

#endif
