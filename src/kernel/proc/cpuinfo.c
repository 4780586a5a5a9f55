/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/cpuinfo: "key\t: value\n", a paragraph for each CPU (arch/X/kernel/cpu/proc.c and the like): x86 has "model
 * name" and "cpu MHz", power "cpu" and "clock", mips "cpu model", loongarch "Model Name" and "CPU MHz", riscv "uarch",
 * s390 "cpu MHz dynamic"; arm64 has only numbers for implementer and part.
 */
#include "kernel/proc/machine.h"
#include "kernel/proc/text.h"

struct pair {
    struct span key, value;
};

static bool pair_of(struct span line, struct pair *ret)
{
    const char *colon = memchr(line.at, ':', line.len), *end = line.at + line.len;
    if (!colon)
        return false;
    size_t key = (size_t)(colon - line.at);
    while (key && (line.at[key - 1] == ' ' || line.at[key - 1] == '\t'))
        key--;
    const char *value = text_blanks(colon + 1, end);
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *ret = (struct pair){span_of(line.at, key), span_of(value, (size_t)(end - value))};
    return key > 0;
}

/* "2596.120", "3425.000000MHz" */
static bool megahertz(struct span value, uint64_t *ret_hertz)
{
    const char *p = value.at, *end = p + value.len;
    uint64_t v, unit = 1000000;
    p = text_digits(p, end, &v);
    if (!p || __builtin_mul_overflow(v, unit, &v))
        return false;
    if (p < end && *p == '.') {
        for (p++; p < end && *p >= '0' && *p <= '9'; p++) {
            unit /= 10;
            if (__builtin_add_overflow(v, unit * (uint64_t)(*p - '0'), &v))
                return false;
        }
    }
    if (p != end && !(end - p == 3 && memcmp(p, "MHz", 3) == 0))
        return false;
    *ret_hertz = v;
    return v > 0;
}

int proc_cpuinfo_parse(struct span text, struct proc_cpuinfo *ret,
                       void (*fn)(void *context, uint32_t cpu, uint64_t hertz), void *context)
{
    static const char *const models[] = {"model name", "Model Name", "cpu model", "cpu", "uarch", NULL};
    static const char *const clocks[] = {"cpu MHz", "CPU MHz", "clock", "cpu MHz dynamic", NULL};
    const char *p = text.at, *end = p + text.len;
    struct proc_cpuinfo info = {0};
    struct span line;
    struct pair pair;
    uint64_t number = PROC_CPU_ALL, v;
    bool any = false;
    while (text_line(&p, end, &line)) {
        if (!pair_of(line, &pair))
            continue;
        any = true;
        const char *value_end = pair.value.at + pair.value.len;
        if (span_equal(pair.key, "processor") || span_equal(pair.key, "cpu number"))
            number = text_digits(pair.value.at, value_end, &v) == value_end && v < PROC_CPU_ALL ? v : PROC_CPU_ALL;
        else if (!info.model.len && span_is_one_of(pair.key, models))
            info.model = pair.value;
        else if (!info.implementer.len && span_equal(pair.key, "CPU implementer"))
            info.implementer = pair.value;
        else if (!info.part.len && span_equal(pair.key, "CPU part"))
            info.part = pair.value;
        else if (fn && number != PROC_CPU_ALL && span_is_one_of(pair.key, clocks) && megahertz(pair.value, &v))
            fn(context, (uint32_t)number, v);
    }
    if (!any)
        return BARO_E_SYNTAX;
    *ret = info;
    return 0;
}
