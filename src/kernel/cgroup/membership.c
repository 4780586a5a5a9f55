/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/cgroup (kernel/cgroup/cgroup.c, proc_cgroup_show): "hierarchy:controllers:path". The path is not escaped
 * and may contain colons. It is relative to the root of the reader's control group namespace, with "/.." for what is
 * outside of it.
 */
#include "kernel/cgroup/cgroup.h"
#include "kernel/proc/text.h"

static bool upto_colon(struct span *line, struct span *ret)
{
    const char *colon = line->len ? memchr(line->at, ':', line->len) : NULL;
    if (!colon)
        return false;
    *ret = span_of(line->at, (size_t)(colon - line->at));
    *line = span_of(colon + 1, line->len - ret->len - 1);
    return true;
}

bool cgroup_membership_next(struct span *text, struct cgroup_membership *ret)
{
    static const char deleted[] = " (deleted)";
    const size_t n = sizeof(deleted) - 1;
    const char *p = text->at, *end = p + text->len;
    struct cgroup_membership m = {0};
    struct span line;
    bool found = false;
    while (!found && text_line(&p, end, &line)) {
        found = scan_u64(&line, &m.hierarchy) && scan_char(&line, ':') && upto_colon(&line, &m.controllers) &&
                line.len && *line.at == '/';
        m.path = line;
    }
    *text = span_of(p, (size_t)(end - p));
    if (!found)
        return false;
    m.deleted = m.path.len > n && memcmp(m.path.at + m.path.len - n, deleted, n) == 0;
    m.path.len -= m.deleted ? n : 0;
    *ret = m;
    return true;
}

bool cgroup_listed(struct span list, const char *word)
{
    while (list.len) {
        const char *comma = memchr(list.at, ',', list.len);
        size_t n = comma ? (size_t)(comma - list.at) : list.len;
        if (span_equal(span_of(list.at, n), word))
            return true;
        n += comma != NULL;
        list = span_of(list.at + n, list.len - n);
    }
    return false;
}
