/* SPDX-License-Identifier: Apache-2.0 */
#include "base/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool program_in_path(const char *name, char ret[PATH_MAX])
{
    const char *at = getenv("PATH");
    errno = ENOENT;
    if (strchr(name, '/'))
        return snprintf(ret, PATH_MAX, "%s", name) < PATH_MAX;
    for (at = at ? at : "/bin:/usr/bin"; *at; at += *at == ':') {
        size_t len = strcspn(at, ":");
        if (*at == '/' && len < PATH_MAX && snprintf(ret, PATH_MAX, "%.*s/%s", (int)len, at, name) < PATH_MAX &&
            is_program(ret))
            return true;
        at += len;
    }
    errno = ENOENT;
    return false;
}

void program_python_path(void)
{
    const char *given = getenv("PYTHONPATH");
    char *kept = given ? malloc(strlen(given) + 1) : NULL, *to = kept;
    for (const char *at = given; kept && *at; at += *at == ':') {
        size_t len = strcspn(at, ":");
        if (*at == '/') {
            to += to > kept;
            memcpy(to, at, len);
            to += len;
            *to = ':';
        }
        at += len;
    }
    if (!kept || to == kept) {
        unsetenv("PYTHONPATH");
    } else {
        *to = 0;
        setenv("PYTHONPATH", kept, 1);
    }
    free(kept);
}
