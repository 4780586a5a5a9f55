/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/pressure/{cpu,memory,io,irq} (4.20+; irq 6.1+): "some avg10=1.98 avg60=1.90 avg300=2.54 total=1539269260\n",
 * the total in microseconds. */
#include "kernel/proc/machine.h"
#include "kernel/proc/text.h"

static bool total_of(struct span line, uint64_t *ret_ns)
{
    static const char key[] = " total=";
    const char *at = memmem(line.at, line.len, key, sizeof(key) - 1);
    uint64_t us;
    return at && text_count(line, (size_t)(at - line.at) + sizeof(key) - 1, &us) &&
           !__builtin_mul_overflow(us, 1000u, ret_ns);
}

int proc_pressure_parse(struct span text, struct proc_pressure *ret)
{
    const char *p = text.at, *end = p + text.len;
    struct proc_pressure pr = {0};
    struct span line;
    while (text_line(&p, end, &line)) {
        if (TEXT_KEY(line, "some "))
            pr.has_some = total_of(line, &pr.some_ns);
        else if (TEXT_KEY(line, "full "))
            pr.has_full = total_of(line, &pr.full_ns);
    }
    if (!pr.has_some && !pr.has_full)
        return BARO_E_SYNTAX;
    if (!pr.has_some)
        pr.some_ns = 0;
    if (!pr.has_full)
        pr.full_ns = 0;
    *ret = pr;
    return 0;
}
