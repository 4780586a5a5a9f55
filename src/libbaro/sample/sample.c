/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/sample/sample.h"

#include <stdlib.h>
#include <string.h>

void baro_process_done(struct baro_process *p)
{
    free(p->name);
    free(p->cmdline);
    p->name = NULL;
    p->cmdline = NULL;
}

static bool replace_text(char **text, const char *at, size_t len)
{
    char *copy = NULL;
    if (at) {
        copy = malloc(len + 1);
        if (!copy)
            return false;
        memcpy(copy, at, len);
        copy[len] = 0;
    }
    free(*text);
    *text = copy;
    return true;
}

bool baro_process_set_name(struct baro_process *p, const char *at, size_t len)
{
    return replace_text(&p->name, at, len);
}

bool baro_process_set_cmdline(struct baro_process *p, const char *at, size_t len)
{
    return replace_text(&p->cmdline, at, len);
}

bool baro_limits_equal(const struct baro_limits *a, const struct baro_limits *b)
{
    return a->memory_bytes == b->memory_bytes && a->cores_ppm == b->cores_ppm && a->pids == b->pids &&
           a->memory_absent == b->memory_absent && a->cores_absent == b->cores_absent &&
           a->pids_absent == b->pids_absent && strcmp(a->memory_source, b->memory_source) == 0 &&
           strcmp(a->cores_source, b->cores_source) == 0 && strcmp(a->pids_source, b->pids_source) == 0;
}
