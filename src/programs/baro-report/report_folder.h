/* SPDX-License-Identifier: Apache-2.0 */
/* A report as a folder: a page in Markdown, and a picture for each figure. */
#ifndef PROGRAMS_BARO_REPORT_REPORT_FOLDER_H
#define PROGRAMS_BARO_REPORT_REPORT_FOLDER_H

#include "programs/baro-report/several.h"

/*
 * Writes report.md and its pictures: PNG, or SVG where there is no cairo; of several tapes those of CPU, memory and I/O
 * of each, with their numbers in the names. They are made in a temporary folder beside `path`, which gets that name
 * when all is written; after a failure there is no folder. An existing folder must be empty, unless `force` is true:
 * then files of the same names are replaced. Returns 0 or a negative code with its text in err.
 */
int report_folder(struct several *s, const char *path, bool force, struct baro_error *err);

#endif
