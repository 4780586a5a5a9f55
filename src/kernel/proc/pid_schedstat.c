/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/task/TID/schedstat: "1213285 0 1\n" (fs/proc/base.c, proc_pid_schedstat). "0 0 0" if sched_info is off. */
#include "kernel/proc/procfs.h"
#include "kernel/proc/text.h"

int pid_schedstat_parse(struct span text, struct pid_schedstat *ret)
{
    const char *p = text.at, *end = p + text.len;
    uint64_t v[3];
    for (int i = 0; i < 3; i++) {
        p = text_digits(p, end, &v[i]);
        if (!p || p == end || (*p != '\n' && (i == 2 || *p != ' ')))
            return BARO_E_SYNTAX;
        p++;
    }
    *ret = (struct pid_schedstat){v[0], v[1], v[2]};
    return 0;
}
