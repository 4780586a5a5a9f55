/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/mountinfo (proc(5)): "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n".
 * Any number of optional fields ends with a "-". Some filesystems write an empty source.
 */
#include <errno.h>

#include "kernel/proc/machine.h"
#include "kernel/proc/text.h"

static bool parse_number(const char **p, const char *end, char after, uint32_t *ret)
{
    uint64_t v;
    const char *next = text_digits(*p, end, &v);
    if (!next || v > UINT32_MAX || next == end || *next != after)
        return false;
    *ret = (uint32_t)v;
    *p = next + 1;
    return true;
}

/* The text up to the next blank or the end; may be empty. */
static struct span word(const char **p, const char *end)
{
    const char *start = *p, *blank = memchr(start, ' ', (size_t)(end - start));
    const char *stop = blank ? blank : end;
    *p = blank ? blank + 1 : end;
    return span_of(start, (size_t)(stop - start));
}

static bool mount_line(struct span line, struct proc_mount *ret)
{
    const char *p = line.at, *end = p + line.len;
    if (!parse_number(&p, end, ' ', &ret->id) || !parse_number(&p, end, ' ', &ret->parent) ||
        !parse_number(&p, end, ':', &ret->major) || !parse_number(&p, end, ' ', &ret->minor))
        return false;
    ret->root = word(&p, end);
    ret->point = word(&p, end);
    word(&p, end); /* mount options, not used */
    for (;;) {
        if (p == end)
            return false;
        struct span optional = word(&p, end);
        if (optional.len == 1 && *optional.at == '-')
            break;
    }
    ret->type = word(&p, end);
    ret->source = word(&p, end);
    ret->options = word(&p, end);
    return ret->root.len && ret->point.len && ret->type.len;
}

bool proc_mount_next(struct span *text, struct proc_mount *ret)
{
    const char *p = text->at, *end = p + text->len;
    struct span line;
    struct proc_mount m;
    while (text_line(&p, end, &line)) {
        *text = span_of(p, (size_t)(end - p));
        if (mount_line(line, &m)) {
            *ret = m;
            return true;
        }
    }
    return false;
}

static bool octal(char c)
{
    return c >= '0' && c <= '7';
}

int proc_mount_unescape(struct span text, char *to, size_t cap)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '\\' && text.len - i > 3 && text.at[i + 1] <= '3' && octal(text.at[i + 1]) && octal(text.at[i + 2]) &&
            octal(text.at[i + 3])) {
            c = (char)((text.at[i + 1] - '0') << 6 | (text.at[i + 2] - '0') << 3 | (text.at[i + 3] - '0'));
            i += 3;
        }
        if (n + 1 >= cap)
            return -ENAMETOOLONG;
        to[n++] = c;
    }
    if (n >= cap)
        return -ENAMETOOLONG;
    to[n] = 0;
    return (int)n;
}
