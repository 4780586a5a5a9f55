/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of a report: one row each, with a function in a file of its own. */
#ifndef PROGRAMS_BARO_REPORT_FORMATS_H
#define PROGRAMS_BARO_REPORT_FORMATS_H

#include "baro/baro.h"

/* The source of a report. */
struct report_input {
    struct baro_tape *tape; /* at its beginning; a format may move it */
    const char *path;       /* path of the tape */
    const char *name;       /* name of the tape in the report */
    size_t number;          /* number of the tape in a report of several, from 1; 0: a report of one */
    long zone;              /* local time zone when the recording began: seconds east of UTC */
};

/* Writes one file through a sink. Returns 0, a negative code with its text in err, or what the sink returned. */
typedef int report_function(const struct report_input *in, baro_sink *sink, void *context, struct baro_error *err);

/* The same of several tapes, which it opens. */
struct several;
typedef int report_several_function(struct several *s, baro_sink *sink, void *context, struct baro_error *err);

struct report_format {
    const char *name;   /* value of --format, in the order of report_format_names */
    const char *ending; /* ending of the names of such files, with the dot */
    report_function *write;
    report_several_function *write_several; /* NULL: the format takes one tape */
};

/* Ended by a row without a name. The first one is the default. */
extern const struct report_format report_formats[];

report_function report_html, report_markdown, report_json;
report_several_function several_markdown, several_json;

#endif
