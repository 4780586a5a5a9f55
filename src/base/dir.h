/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_DIR_H
#define BASE_DIR_H

#include <stdbool.h>
#include <stddef.h>

/* Calls fn for each name in an open directory, including "." and "..", until fn returns false. Allocates nothing. The
 * descriptor's position is the end afterwards. Returns 0 or -errno. */
int dir_each(int fd, bool (*fn)(void *context, const char *name, size_t len), void *context);

#endif
