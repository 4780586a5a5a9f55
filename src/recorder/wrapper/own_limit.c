/* SPDX-License-Identifier: Apache-2.0 */
/* A limit of memory for the command's own control group. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "recorder/wrapper/own_cgroup.h"

/* Swap counts as well: a limit on memory alone would make the job slower, not end it. v2 has a limit of its own for
 * swap (absent without CONFIG_SWAP), v1 one for both together, which may not be below the first (absent with
 * swapaccount=0).
 */
static int limit_dir(const struct own_dir *d, uint64_t bytes, bool whole)
{
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
    int code = own_write(d->path, d->v2 ? "memory.max" : "memory.limit_in_bytes", text);
    if (code < 0)
        return code;
    if (d->v2)
        own_write(d->path, "memory.swap.max", "0");
    else
        own_write(d->path, "memory.memsw.limit_in_bytes", text);
    if (d->v2 && whole)
        own_write(d->path, "memory.oom.group", "1"); /* 4.19 */
    return 0;
}

int own_limit(struct own_group *g, uint64_t bytes, bool whole, struct baro_error *err)
{
    int code = -ENOENT, worst = -ENOENT;
    for (size_t i = 0; i < g->n && code < 0; i++) {
        code = limit_dir(&g->at[i], bytes, whole);
        if (code == 0)
            g->memory = i + 1;
        else if (code != -ENOENT)
            worst = code;
    }
    if (code == 0)
        return 0;
    if (worst != -ENOENT)
        return error_set(err, worst, "%s", strerror(-worst));
    return error_set(err, worst, "the memory controller is not available in %s", g->n ? g->at[0].parent : "any group");
}

void own_unlimit(const struct own_dir *d)
{
    own_write(d->path, "memory.memsw.limit_in_bytes", "-1");
    own_write(d->path, "memory.limit_in_bytes", "-1");
}
