/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of libexec are in one folder, installed or in a build tree. */
#ifndef PROGRAMS_COMMON_BESIDE_H
#define PROGRAMS_COMMON_BESIDE_H

#include <limits.h>
#include <stdbool.h>

/* Makes the path of another file in the folder of this program. Returns whether it could. */
bool beside_path(const char *name, char ret[PATH_MAX]);

#endif
