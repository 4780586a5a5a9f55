/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/stat, one line of fields with blanks between (fs/proc/array.c, do_task_stat):
 *
 *     7618 (cat) R 7616 7616 3861 0 -1 4194304 105 0 0 ...
 *
 * The name is raw: it may contain blanks, newlines and parentheses, so it ends at the last ')' of the file. Its 15
 * bytes are too few to imitate the 22 fields that must follow.
 */
#include <string.h>

#include "kernel/proc/procfs.h"
#include "kernel/proc/text.h"

enum { FIRST = 4, LAST = 24, SIGIGNORE = 33, EXIT_CODE = 52 };

/* proc(5) calls these signed; the kernel prints a minus in them. */
#define SIGNED(field) (1u << (field))
static const uint32_t signed_fields = SIGNED(4) | SIGNED(5) | SIGNED(6) | SIGNED(7) | SIGNED(8) | SIGNED(16) |
                                      SIGNED(17) | SIGNED(18) | SIGNED(19) | SIGNED(20) | SIGNED(21) | SIGNED(24);

static bool is_end(const char *p, const char *end)
{
    return p < end && (*p == ' ' || *p == '\n');
}

/* One number with the blank or newline after it; negative ones as two's complement. */
static const char *parse_field(const char *p, const char *end, bool negative_too, uint64_t *ret)
{
    uint64_t v;
    bool negative = negative_too && p < end && *p == '-';
    p = text_digits(p + negative, end, &v);
    if (!p || !is_end(p, end) || (negative && v > (uint64_t)INT64_MAX))
        return NULL;
    *ret = negative ? 0 - v : v;
    return p + 1;
}

static bool fits_pid(uint64_t v)
{
    int64_t n = (int64_t)v;
    return n >= INT32_MIN && n <= INT32_MAX;
}

/* Sums in the kernel may fall below zero for a moment; it has then printed values just below 2^64. */
static uint64_t saturated(uint64_t v)
{
    return (int64_t)v < 0 ? 0 : v;
}

/* "7618 (cat) " up to the state. */
static const char *head(const char *p, const char *end, struct pid_stat *st)
{
    uint64_t pid;
    p = text_digits(p, end, &pid);
    if (!p || pid > INT32_MAX || end - p < 2 || p[0] != ' ' || p[1] != '(')
        return NULL;
    p += 2;
    const char *close = memrchr(p, ')', (size_t)(end - p));
    if (!close || end - close < 4 || close[1] != ' ' || close[3] != ' ')
        return NULL;
    size_t len = (size_t)(close - p);
    if (len >= sizeof(st->comm))
        len = sizeof(st->comm) - 1;
    memcpy(st->comm, p, len);
    memset(st->comm + len, 0, sizeof(st->comm) - len);
    st->pid = (int32_t)pid;
    st->state = close[2];
    return close + 4;
}

/* Returns NULL if the text ends before. */
static const char *skip(const char *p, const char *end, int fields)
{
    for (; fields; fields--) {
        while (p < end && *p != ' ')
            p++;
        if (p == end)
            return NULL;
        p++;
    }
    return p;
}

/* Fields that a caller can do without. */
static void later_fields(const char *p, const char *end, struct pid_stat *st)
{
    uint64_t v;
    p = skip(p, end, SIGIGNORE - LAST - 1);
    if (!p)
        return;
    if (parse_field(p, end, false, &v))
        st->sigignore = v;
    p = skip(p, end, EXIT_CODE - SIGIGNORE);
    if (!p || !parse_field(p, end, true, &v) || !fits_pid(v))
        return;
    st->exit_code = (int32_t)v;
    st->has_exit_code = true;
}

int pid_stat_parse(struct span text, struct pid_stat *ret)
{
    const char *end = text.at + text.len;
    struct pid_stat st;
    uint64_t v[LAST + 1];
    const char *p = head(text.at, end, &st);
    for (unsigned field = FIRST; p && field <= LAST; field++)
        p = parse_field(p, end, signed_fields >> field & 1, &v[field]);
    if (!p || !fits_pid(v[4]) || !fits_pid(v[5]) || !fits_pid(v[6]) || v[9] > UINT32_MAX || (int64_t)v[20] < 0)
        return BARO_E_SYNTAX;
    st.ppid = (int32_t)v[4];
    st.pgrp = (int32_t)v[5];
    st.session = (int32_t)v[6];
    st.flags = (uint32_t)v[9];
    st.minflt = v[10];
    st.cminflt = v[11];
    st.majflt = v[12];
    st.cmajflt = v[13];
    st.utime = v[14];
    st.stime = v[15];
    st.cutime = saturated(v[16]);
    st.cstime = saturated(v[17]);
    st.nice = (int64_t)v[19];
    st.num_threads = v[20];
    st.starttime = v[22];
    st.vsize = v[23];
    st.rss = saturated(v[24]);
    st.sigignore = 0;
    st.exit_code = 0;
    st.has_exit_code = false;
    later_fields(p, end, &st);
    *ret = st;
    return 0;
}
