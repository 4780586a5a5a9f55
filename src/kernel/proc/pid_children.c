/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/task/TID/children, since 3.5: "12 13 14 ", a blank after each (fs/proc/array.c, children_seq_show). A last
 * number without its blank is truncated and is dropped. A child that is not in the pid namespace of this /proc is 0.
 */
#include "kernel/proc/procfs.h"
#include "kernel/proc/text.h"

int pid_children_parse(struct span text, bool (*fn)(void *context, int32_t pid), void *context)
{
    const char *p = text.at, *end = p + text.len;
    int n = 0;
    while (p < end) {
        uint64_t pid;
        if (*p == ' ' || *p == '\n') {
            p++;
            continue;
        }
        p = text_digits(p, end, &pid);
        if (!p || pid > INT32_MAX || (p < end && *p != ' ' && *p != '\n'))
            return BARO_E_SYNTAX;
        if (p == end)
            break;
        if (!pid)
            continue;
        n++;
        if (!fn(context, (int32_t)pid))
            break;
    }
    return n;
}
