/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_DIR_H
#define BASE_DIR_H

#include <stdbool.h>
#include <stddef.h>

/* Calls fn for each name in an open directory, "." and ".." too, until it returns false; allocates nothing. The
 * descriptor is left at the end of it. Returns 0 or -errno. */
int dir_each(int fd, bool (*fn)(void *context, const char *name, size_t len), void *context);

#endif
