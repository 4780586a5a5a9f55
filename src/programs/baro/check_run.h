/* SPDX-License-Identifier: Apache-2.0 */
/* `baro run --check`: `baro check`, which another program has, before and after the command. */
#ifndef PROGRAMS_BARO_CHECK_RUN_H
#define PROGRAMS_BARO_CHECK_RUN_H

#include <stdbool.h>

/* Is the budget well-formed? Else that was reported. */
bool check_run_is_valid(const char *budget);
/* Checks a tape, and prints to stderr_fd what it says. Returns the exit status. */
int check_run(const char *budget, const char *tape, int stderr_fd);

#endif
