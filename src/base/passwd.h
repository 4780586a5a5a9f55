/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Users of /etc/passwd, read without getpwuid_r(3) and getpwnam(3). A static program can use no other database of
 * users. In glibc 2.36 these functions end the program if the first or the third of their 15 allocations fails (they
 * use NULL, or an assertion fails). So callers use them only for users that the file does not have.
 */
#ifndef BASE_PASSWD_H
#define BASE_PASSWD_H

#include <stddef.h>
#include <stdint.h>

#define PASSWD_FILE "/etc/passwd"
#define PASSWD_NAME_MOST 256u

struct passwd_user {
    char name[PASSWD_NAME_MOST];
    uint32_t uid;
};

/* Finds the first user in a file with this number or name. Allocates nothing. Returns 1; 0 if there is none; a
 * negative code if the file can't be read. */
int passwd_by_uid(const char *path, uint32_t uid, struct passwd_user *ret);
int passwd_by_name(const char *path, const char *name, struct passwd_user *ret);

#endif
