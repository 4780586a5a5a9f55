/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/common/beside.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool beside_path(const char *name, char ret[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);
    if (n < 0)
        return false;
    ret[n] = 0;
    char *slash = strrchr(ret, '/');
    size_t left = slash ? (size_t)(PATH_MAX - (slash + 1 - ret)) : 0;
    return slash && snprintf(slash + 1, left, "%s", name) < (int)left;
}
