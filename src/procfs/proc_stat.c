/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/stat: "btime 1795233600\n" and "processes 7621\n", behind a line of interrupts that can be 100 kB long on large
 * machines. */
#include "procfs/procfs.h"
#include "procfs/text.h"

int proc_stat_parse(struct span text, struct proc_stat *ret)
{
    const char *p = text.at, *end = p + text.len;
    struct proc_stat st = {0};
    struct span line;
    while (text_line(&p, end, &line)) {
        uint64_t v;
        if (TEXT_KEY(line, "btime ") && text_count(line, 6, &v)) {
            st.btime = v;
            st.has_btime = true;
        } else if (TEXT_KEY(line, "processes ") && text_count(line, 10, &v)) {
            st.processes = v;
            st.has_processes = true;
        }
    }
    if (!st.has_btime && !st.has_processes)
        return BARO_E_SYNTAX;
    *ret = st;
    return 0;
}
