/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redaction of one argument or name: rules mark what is secret, then it is written with "***" in those places. In doubt
 * the value is redacted: tapes are kept and shared, and readers of a command line want to know what ran, not its
 * password.
 */
#include <string.h>

#include "base/min_max.h"
#include "recorder/redact/redact_parts.h"

void mark(struct secret_ranges *m, const char *from, const char *to)
{
    size_t begin = (size_t)(from - m->text.at), end = (size_t)(to - m->text.at);
    if (from >= to)
        return;
    if (m->n && m->at[m->n - 1].from == begin) {
        m->at[m->n - 1].to = max_u64(m->at[m->n - 1].to, end);
        return;
    }
    m->all |= m->n == MARKS_MAX;
    if (m->all)
        return;
    size_t i = m->n++; /* in their order: there are few, and most come in order */
    for (; i && m->at[i - 1].from > begin; i--)
        m->at[i] = m->at[i - 1];
    m->at[i].from = begin;
    m->at[i].to = end;
}

static bool marks_write(const struct secret_ranges *m, struct buf *ret)
{
    size_t done = 0;
    for (size_t i = 0; i < m->n && !m->all; i++) {
        if (m->at[i].from > done || i == 0) { /* those that touch become one */
            buf_add(ret, m->text.at + done, m->at[i].from - done);
            buf_add(ret, "***", 3);
        }
        done = max_u64(done, m->at[i].to);
    }
    if (m->all)
        buf_add(ret, "***", 3);
    else
        buf_add(ret, m->text.at + done, m->text.len - done);
    return m->all || m->n;
}

static bool takes_script(struct span program, struct span before)
{
    /* sh -c, bash -lc; the arguments of ssh and watch */
    bool dash_c = before.len >= 2 && before.at[0] == '-' && before.at[1] != '-' && before.at[before.len - 1] == 'c';
    return in_list(redact_remotes, program) ||
           ((dash_c || span_equal(before, "--command")) && in_list(redact_shells, program));
}

bool redact_argument(struct span program, struct span before, struct span argument, struct buf *ret)
{
    struct secret_ranges m = {.text = argument};
    if (!word_mark(&m, program, before, argument, false)) {
        bool blanks = has_blank(argument);
        /* docker --secret=id=NAME,src=FILE */
        if (!span_starts(argument, "--secret=") || !in_list(redact_takes_names, program))
            text_mark(&m, argument, blanks && takes_script(program, before));
        if (blanks && !in_list(redact_prose, program))
            script_mark(&m, argument, 0);
    }
    return marks_write(&m, ret);
}

/* A token that is recognised by its prefix has at least this many bytes (xoxb- and 10 more); all other secrets need one
 * of these characters. */
static bool can_hide(struct span name)
{
    bool special = name.len >= 14;
    for (size_t i = 0; i < name.len && !special; i++)
        special = name.at[i] == '=' || name.at[i] == ':' || name.at[i] == '@';
    return special;
}

bool redact_name(struct span name, struct buf *ret)
{
    struct secret_ranges m = {.text = name};
    if (can_hide(name)) {
        if (memmem(name.at, name.len, "://", 3))
            text_mark(&m, name, false);
        /* A value extends to the end of its path component: /a/token=x/b. */
        const char *slash, *end = name.at + name.len;
        for (const char *p = name.at; p < end; p = slash + 1) {
            slash = memchr(p, '/', (size_t)(end - p));
            slash = slash ? slash : end;
            text_mark(&m, span_of(p, (size_t)(slash - p)), false);
        }
    }
    return marks_write(&m, ret);
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
