/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/limits (fs/proc/base.c, proc_pid_limits): "%-25s %-20s %-20s %-10s\n" of name, soft, hard and unit. The
 * kernel enforces the soft limit; of CPU time it is the hard one that ends a process whatever it does.
 */
#include "kernel/proc/procfs.h"
#include "kernel/proc/text.h"

static bool parse_limit(struct span line, size_t key_len, bool hard, uint64_t *ret)
{
    struct span rest = span_of(line.at + key_len, line.len - key_len), word;
    uint64_t v;
    for (int i = 0; i <= hard; i++) {
        scan_blanks(&rest);
        if (!scan_word(&rest, &word))
            return false;
    }
    if (span_equal(word, "unlimited")) {
        *ret = UINT64_MAX;
        return true;
    }
    if (!scan_u64(&word, &v) || word.len)
        return false;
    *ret = v;
    return true;
}

int pid_limits_parse(struct span text, struct pid_limits *ret)
{
    static const char *const keys[PID_LIMIT_MAX] = {[PID_LIMIT_CPU] = "Max cpu time ",
                                                    [PID_LIMIT_AS] = "Max address space ",
                                                    [PID_LIMIT_DATA] = "Max data size ",
                                                    [PID_LIMIT_NPROC] = "Max processes "};
    const char *p = text.at, *end = p + text.len;
    struct pid_limits limits = {0};
    struct span line;
    while (text_line(&p, end, &line)) {
        for (int i = 0; i < PID_LIMIT_MAX; i++) {
            if (span_starts(line, keys[i]) && parse_limit(line, strlen(keys[i]), i == PID_LIMIT_CPU, &limits.value[i]))
                limits.valid |= 1u << i;
        }
    }
    if (!limits.valid)
        return BARO_E_SYNTAX;
    *ret = limits;
    return 0;
}
