/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets in names: https://user:password@host as the source of a mount, token=X as a control group or a process. */
#include <string.h>

#include "recorder/redact/redact_parts.h"

/* A token that is recognised by its form has at least this many bytes (AKIA and 16 more); all others have one of these
 * characters. */
#define LEAST_TOKEN 14u

static bool can_hide(struct span name)
{
    if (name.len >= LEAST_TOKEN)
        return true;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        if (c == '=' || c == ':' || c == '@')
            return true;
    }
    return false;
}

static void part_mark(struct secret_ranges *m, struct span part)
{
    pairs_mark(m, part, false);
    urls_mark(m, part, false);
    shapes_mark(m, part);
}

bool redact_name(struct span name, struct buf *ret)
{
    struct secret_ranges m;
    marks_begin(&m, name);
    if (!can_hide(name)) {
        buf_add(ret, name.at, name.len);
        return false;
    }
    const char *p = name.at, *end = p + name.len;
    if (memmem(name.at, name.len, "://", 3))
        part_mark(&m, name);
    /* A value extends to the end of its path component: /a/token=x/b. */
    while (p < end) {
        const char *slash = memchr(p, '/', (size_t)(end - p)), *stop = slash ? slash : end;
        if (stop > p)
            part_mark(&m, span_of(p, (size_t)(stop - p)));
        p = stop + 1;
    }
    marks_write(&m, ret);
    return m.all || m.n;
}

void redact_name_to(const char *name, char *to, size_t cap)
{
    struct span text = span_str(name ? name : "");
    struct buf b = {0};
    bool failed = false;
    if (can_hide(text)) {
        redact_name(text, &b);
        failed = b.failed;
        text = span_of((const char *)b.at, b.len);
    }
    size_t n = failed ? 0 : text.len < cap ? text.len : cap - 1;
    if (n)
        memcpy(to, text.at, n);
    to[n] = 0;
    buf_done(&b);
}
