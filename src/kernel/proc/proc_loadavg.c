/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/loadavg: "0.20 0.18 0.12 1/80 11206\n"; /proc/uptime: "350735.47 234388.90\n". */
#include "kernel/proc/machine.h"
#include "kernel/proc/text.h"

/* "12.34" in parts of unit, which is a power of ten. More digits than unit has are dropped. */
static const char *decimal(const char *p, const char *end, uint64_t unit, uint64_t *ret)
{
    uint64_t v;
    p = text_digits(p, end, &v);
    if (!p || __builtin_mul_overflow(v, unit, &v))
        return NULL;
    if (p < end && *p == '.') {
        for (p++; p < end && *p >= '0' && *p <= '9'; p++) {
            unit /= 10;
            if (__builtin_add_overflow(v, unit * (uint64_t)(*p - '0'), &v))
                return NULL;
        }
    }
    *ret = v;
    return p;
}

int proc_loadavg_parse(struct span text, struct proc_loadavg *ret)
{
    const char *p = text.at, *end = p + text.len;
    struct proc_loadavg l;
    uint64_t *const loads[] = {&l.load_1m, &l.load_5m, &l.load_15m};
    for (int i = 0; i < 3; i++) {
        p = decimal(p, end, 1000000, loads[i]);
        if (!p || p == end || *p != ' ')
            return BARO_E_SYNTAX;
        p++;
    }
    p = text_digits(p, end, &l.running);
    if (!p || p == end || *p != '/')
        return BARO_E_SYNTAX;
    p = text_digits(p + 1, end, &l.threads);
    if (!p || p == end || (*p != ' ' && *p != '\n'))
        return BARO_E_SYNTAX;
    p = *p == ' ' ? text_digits(p + 1, end, &l.last_pid) : NULL;
    if (!p || p == end || *p != '\n')
        l.last_pid = 0; /* truncated */
    *ret = l;
    return 0;
}

int proc_uptime_parse(struct span text, uint64_t *ret_ns)
{
    const char *end = text.at + text.len;
    uint64_t ns;
    const char *p = decimal(text.at, end, 1000000000u, &ns);
    if (!p || p == end || (*p != ' ' && *p != '\n'))
        return BARO_E_SYNTAX;
    *ret_ns = ns;
    return 0;
}
