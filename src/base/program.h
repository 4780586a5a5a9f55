/* SPDX-License-Identifier: Apache-2.0 */
/* Helper programs of others. What is executed never depends on the working directory, which may be anybody's: root in
 * /tmp. */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/* Searches PATH as execvp(3) does, but in its absolute folders alone. A name with a slash is taken as it is. Returns
 * false and errno if there is no such program. */
bool program_in_path(const char *name, char ret[PATH_MAX]);

/* Takes relative folders out of $PYTHONPATH; an empty one is the working directory. */
void program_python_path(void);

#endif
