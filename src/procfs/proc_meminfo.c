/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/meminfo: "MemTotal:       24689528 kB\n" and some fifty lines like it. */
#include "procfs/procfs.h"
#include "procfs/text.h"

int proc_meminfo_total(struct span text, uint64_t *ret_bytes)
{
    const char *p = text.at, *end = p + text.len;
    struct span line;
    while (text_line(&p, end, &line))
        if (TEXT_KEY(line, "MemTotal:"))
            return text_kb(line, sizeof("MemTotal:") - 1, ret_bytes) ? 0 : BARO_E_SYNTAX;
    return BARO_E_SYNTAX;
}
