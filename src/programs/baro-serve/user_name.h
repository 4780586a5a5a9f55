/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of a user. getpwuid_r(3) of glibc 2.36 ends the program where the first or the third of its 15 allocations
 * fails (it uses NULL, or asserts), so it is asked for users alone that are not in /etc/passwd.
 */
#ifndef PROGRAMS_BARO_SERVE_USER_NAME_H
#define PROGRAMS_BARO_SERVE_USER_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USER_NAME_MOST 256u

/* Looks for a user in a file like /etc/passwd. Allocates nothing. */
bool user_name_in(const char *path, uint32_t uid, char ret[static USER_NAME_MOST]);
/* The name, or the number as text where nobody knows one. */
void user_name(uint32_t uid, char ret[static USER_NAME_MOST]);

#endif
