/* SPDX-License-Identifier: Apache-2.0 */
/* Finds programs that belong together by their places relative to each other, wherever they are installed. */
#ifndef PROGRAMS_COMMON_FIND_PROGRAM_H
#define PROGRAMS_COMMON_FIND_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/* Makes a path from the folder of this program: "baro-report", "../bin/baro". Returns false if the folder is not known,
 * or the path is too long. The file need not exist. */
bool program_beside(const char *name, char ret[PATH_MAX]);

#endif
