/* SPDX-License-Identifier: Apache-2.0 */
#include "base/group_path.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SHORT_ID 12

static bool ends_with(const char *at, size_t len, const char *end)
{
    size_t n = strlen(end);
    return len > n && memcmp(at + len - n, end, n) == 0;
}

/* Returns the id in a part of a path: of "docker-<64 digits>.scope", and of the digits alone. NULL: it has none. */
static const char *id_in(const char *part, size_t len)
{
    len -= ends_with(part, len, ".scope") ? 6 : 0;
    const char *id = len >= GROUP_PATH_ID ? part + len - GROUP_PATH_ID : NULL;
    return id && strspn(id, "0123456789abcdef") >= GROUP_PATH_ID && (id == part || id[-1] == '-') ? id : NULL;
}

/* A pod's part is "pod<uid>", or "kubepods-burstable-pod<uid>.slice" with underscores in the uid. */
static void take_pod(const char *part, size_t len, struct group_path *ret)
{
    char uid[37];
    len -= ends_with(part, len, ".slice") ? 6 : 0;
    if (len < 39 || memcmp(part + len - 39, "pod", 3) != 0)
        return;
    snprintf(uid, sizeof(uid), "%.36s", part + len - 36);
    for (char *c = uid; *c; c++)
        *c = *c == '_' ? '-' : *c;
    memcpy(ret->pod, uid, sizeof(uid));
}

static void take_part(const char *part, size_t len, struct group_path *ret)
{
    const char *found = id_in(part, len);
    if (found) {
        ret->id = found;
        ret->before = part;
    } else if (ends_with(part, len, ".service") || ends_with(part, len, ".scope")) {
        snprintf(ret->unit, sizeof(ret->unit), "%.*s", (int)len, part);
    } else {
        take_pod(part, len, ret);
    }
}

void group_path_read(const char *path, struct group_path *ret)
{
    *ret = (struct group_path){0};
    for (size_t n; *(path += strspn(path, "/")); path += n) {
        n = strcspn(path, "/");
        take_part(path, n, ret);
    }
    if (ret->id)
        snprintf(ret->container, sizeof(ret->container), "%.*s", SHORT_ID, ret->id);
}
