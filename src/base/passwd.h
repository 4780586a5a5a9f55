/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Users of /etc/passwd, without getpwuid_r(3) and getpwnam(3). A static program has no other databases of users; and
 * those of glibc 2.36 end the program where the first or the third of their 15 allocations fails (NULL is used, an
 * assertion fails), so they are asked for users alone that the file does not have.
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

/* The first user of a file with this number or name. Nothing is allocated. Returns 1; 0: there is none; a negative
 * code: the file can't be read. */
int passwd_by_uid(const char *path, uint32_t uid, struct passwd_user *ret);
int passwd_by_name(const char *path, const char *name, struct passwd_user *ret);

#endif
