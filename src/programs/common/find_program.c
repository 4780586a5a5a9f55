/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/common/find_program.h"

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

bool program_beside(const char *name, char ret[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);
    const char *given = n < 0 ? (const char *)getauxval(AT_EXECFN) : NULL; /* the path that execve(2) was given */
    if (n < 0 && given)
        n = snprintf(ret, PATH_MAX, "%s", given);
    if (n < 0 || n >= PATH_MAX)
        return false;
    ret[n] = 0;
    char *slash = strrchr(ret, '/');
    size_t left = slash ? (size_t)(PATH_MAX - (slash + 1 - ret)) : 0;
    return slash && snprintf(slash + 1, left, "%s", name) < (int)left;
}
