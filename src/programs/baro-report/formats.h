/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of a report: one row each, with functions in a file of its own. */
#ifndef PROGRAMS_BARO_REPORT_FORMATS_H
#define PROGRAMS_BARO_REPORT_FORMATS_H

#include "programs/baro-report/several.h"

struct report_format {
    const char *name;   /* value of --format, in the order of report_format_names */
    const char *ending; /* ending of the names of such files, with the dot */
    document_section *section;
    several_around *around; /* NULL: the format takes one tape, and is written by page_write() */
};

/* Ended by a row without a name. The first one is the default. */
extern const struct report_format report_formats[];

#endif
