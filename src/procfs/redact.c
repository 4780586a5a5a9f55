/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redaction of one argument: passes mark what is secret, then the argument is written with "***" in those places. When
 * in doubt a secret goes: a tape is kept and shared, and a command line is read for what ran, not for its password.
 */
#include <string.h>

#include "procfs/procfs.h"
#include "procfs/redact.h"

enum { DEPTH_MAX = 3 };

void mark(struct marks *m, const char *from, const char *to)
{
    if (from >= to || m->all)
        return;
    if (m->n == MARKS_MAX) {
        m->all = true;
        return;
    }
    m->at[m->n].from = (size_t)(from - m->base);
    m->at[m->n].to = (size_t)(to - m->base);
    m->n++;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool has_space(struct span s)
{
    for (size_t i = 0; i < s.len; i++)
        if (is_space(s.at[i]))
            return true;
    return false;
}

/* The next word of a shell's text: quotes hold it together. What separates commands is a word of its own. */
static bool take_word(struct span *rest, struct span *ret)
{
    static const char separators[] = ";|&()`";
    const char *p = rest->at, *end = p + rest->len;
    while (p < end && is_space(*p))
        p++;
    if (p == end)
        return false;
    const char *start = p;
    char quote = 0;
    if (strchr(separators, *p) && *p)
        p++;
    else
        for (; p < end && (quote || (!is_space(*p) && !(*p && strchr(separators, *p)))); p++) {
            if (quote ? *p == quote : *p == '"' || *p == '\'')
                quote = quote ? 0 : *p;
            else if (*p == '\\' && quote != '\'' && p + 1 < end)
                p++;
        }
    *ret = span_of(start, (size_t)(p - start));
    *rest = span_of(p, (size_t)(end - p));
    return true;
}

static bool is_separator(struct span word)
{
    return word.len == 1 && memchr(";|&()`", word.at[0], 6);
}

static struct span inside(struct span word)
{
    if (word.len >= 2 && (word.at[0] == '"' || word.at[0] == '\'') && word.at[word.len - 1] == word.at[0])
        return span_of(word.at + 1, word.len - 2);
    return word;
}

/* Flags and their values among the words of a text; pairs, URLs and shapes were looked for in the whole of it. */
static void words_mark(struct marks *m, struct span text, int depth)
{
    struct span rest = text, word, before = {"", 0}, program = {"", 0};
    while (!m->all && take_word(&rest, &word)) {
        if (is_separator(word)) {
            program = before = span_of("", 0);
            continue;
        }
        if (!program.len) {
            if (!memchr(word.at, '=', word.len))
                program = path_base(inside(word));
            before = word;
            continue;
        }
        flags_mark(m, program, before, word, true);
        struct span inner = inside(word);
        if (inner.len < word.len && depth < DEPTH_MAX && has_space(inner) && !program_takes_prose(program))
            words_mark(m, inner, depth + 1);
        program = redact_program(program, word);
        before = word;
    }
}

/* Joins ranges that meet, in order. Insertion sort: there are few, and most come in order. */
static void marks_sort(struct marks *m)
{
    for (size_t i = 1; i < m->n; i++)
        for (size_t j = i; j && m->at[j].from < m->at[j - 1].from; j--) {
            size_t from = m->at[j].from, to = m->at[j].to;
            m->at[j] = m->at[j - 1];
            m->at[j - 1].from = from;
            m->at[j - 1].to = to;
        }
}

static void marks_write(struct marks *m, struct buf *ret)
{
    size_t done = 0;
    marks_sort(m);
    for (size_t i = 0; i < m->n; i++) {
        if (m->at[i].from > done || i == 0) {
            buf_add(ret, m->base + done, m->at[i].from - done);
            buf_add(ret, "***", 3);
        }
        if (m->at[i].to > done)
            done = m->at[i].to;
    }
    buf_add(ret, m->base + done, m->len - done);
}

bool redact_argument(struct span program, struct span before, struct span argument, struct buf *ret)
{
    struct marks m;
    m.base = argument.at;
    m.len = argument.len;
    m.n = 0;
    m.all = false;
    if (!flags_mark(&m, program, before, argument, false)) {
        bool words = has_space(argument), script = words && program_takes_script(program, before);
        if (!span_starts(argument, "--secret=") || !program_takes_name(program, span_str("secret")))
            pairs_mark(&m, argument, script);
        urls_mark(&m, argument, script);
        shapes_mark(&m, argument);
        if (words && !program_takes_prose(program))
            words_mark(&m, argument, 0);
    }
    if (m.all)
        buf_add(ret, "***", 3);
    else
        marks_write(&m, ret);
    return m.all || m.n;
}
