/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/limits (fs/proc/base.c, proc_pid_limits): "%-25s %-20s %-20s %-10s\n" of name, soft, hard and unit. The
 * kernel enforces the soft limit.
 */
#include "kernel/proc/procfs.h"
#include "kernel/proc/text.h"

static bool soft_of(struct span line, size_t key_len, uint64_t *ret)
{
    struct span rest = span_of(line.at + key_len, line.len - key_len), word;
    uint64_t v;
    scan_blanks(&rest);
    if (!scan_word(&rest, &word))
        return false;
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
    static const char *const keys[PID_LIMIT_MAX] = {[PID_LIMIT_AS] = "Max address space ",
                                                    [PID_LIMIT_DATA] = "Max data size ",
                                                    [PID_LIMIT_NPROC] = "Max processes "};
    const char *p = text.at, *end = p + text.len;
    struct pid_limits limits = {0};
    struct span line;
    while (text_line(&p, end, &line)) {
        for (int i = 0; i < PID_LIMIT_MAX; i++) {
            if (span_starts(line, keys[i]) && soft_of(line, strlen(keys[i]), &limits.value[i]))
                limits.valid |= 1u << i;
        }
    }
    if (!limits.valid)
        return BARO_E_SYNTAX;
    *ret = limits;
    return 0;
}
