/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redaction of one argument: passes mark what is secret, then the argument is written with "***" in those places. In
 * doubt the value is redacted: tapes are kept and shared, and readers of a command line want to know what ran, not its
 * password.
 */
#include <string.h>

#include "kernel/proc/procfs.h"
#include "recorder/redact/redact_parts.h"

enum { DEPTH_MAX = 3 };
/* The passes examine a byte so many times at most, and short texts a little more. */
enum { EXAMINED_EACH = 32, EXAMINED_MORE = 4096 };

void marks_begin(struct secret_ranges *m, struct span text)
{
    m->base = text.at;
    m->len = text.len;
    m->n = 0;
    m->left = EXAMINED_EACH * text.len + EXAMINED_MORE;
    m->all = false;
}

void examined(struct secret_ranges *m, size_t bytes)
{
    m->all |= bytes > m->left;
    m->left -= bytes < m->left ? bytes : m->left;
}

void mark(struct secret_ranges *m, const char *from, const char *to)
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

static bool has_space(struct span s)
{
    for (size_t i = 0; i < s.len; i++)
        if (is_space(s.at[i]))
            return true;
    return false;
}

/* The next word of shell text: quoted text is one word, and what separates commands is a word of its own. */
static bool next_shell_word(struct span *rest, struct span *ret)
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

/* The state of the shell text so far. */
struct shell_state {
    struct span program, before;
    const char *echoed, *echoed_end; /* what echo or printf wrote to the pipe that the command reads */
    bool drinks;                     /* the command reads a secret from its input */
    bool prints;                     /* what echo or printf prints is a secret */
};

/* echo SECRET | sudo -S x */
static void echo_mark(struct secret_ranges *m, const struct shell_state *r)
{
    if (!r->echoed || r->echoed >= r->echoed_end)
        return;
    struct span echoed = span_of(r->echoed, (size_t)(r->echoed_end - r->echoed));
    if (!span_starts(echoed, "$") && !span_starts(echoed, "\"$"))
        mark(m, r->echoed, r->echoed_end);
}

static bool is_drinker(struct span word)
{
    for (const char *const *d = redact_drinkers; *d; d++)
        if (span_equal(word, *d))
            return true;
    return false;
}

static void reading_next(struct shell_state *r, struct span separator)
{
    bool echoes = span_equal(r->program, "echo") || span_equal(r->program, "printf");
    if (separator.at[0] != '|' || !echoes)
        r->echoed = NULL;
    r->program = r->before = span_of("", 0);
    r->drinks = r->prints = false;
}

static void words_mark(struct secret_ranges *m, struct span text, int depth);

/* The program in A=1 COMMAND is COMMAND. In --password-command=COMMAND and passwordeval=COMMAND the program follows the
 * "=", and its output is the secret. */
static void begin_program(struct shell_state *r, struct span word)
{
    const char *equals = memrchr(word.at, '=', word.len);
    if (!equals) {
        r->program = span_base_name(inside(word));
        return;
    }
    struct span key = span_of(word.at, (size_t)(equals - word.at));
    if (!span_ends(key, "ommand") && !span_ends(key, "cmd") && !span_ends(key, "eval"))
        return;
    r->program = span_base_name(span_of(equals + 1, (size_t)(word.at + word.len - equals - 1)));
    r->prints = memmem(key.at, key.len, "pass", 4) || memmem(key.at, key.len, "secret", 6) ||
                memmem(key.at, key.len, "token", 5);
}

/* "user bob password hunter2" of .netrc and the like: a single word that does not look like prose. */
static bool follows_password(const struct shell_state *r, struct span word)
{
    bool digit = false, letter = false;
    for (size_t i = 0; i < word.len; i++) {
        digit |= word.at[i] >= '0' && word.at[i] <= '9';
        letter |= (word.at[i] | 0x20) >= 'a' && (word.at[i] | 0x20) <= 'z';
    }
    return span_equal(r->before, "password") && digit && letter && word.len >= 6 && word.at[0] != '-' &&
           !memchr(word.at, '=', word.len) && !memchr(word.at, '/', word.len);
}

static void word_mark(struct secret_ranges *m, struct shell_state *r, struct span word, int depth)
{
    if (is_drinker(word)) {
        r->drinks = true;
        echo_mark(m, r);
    }
    if (!r->program.len) {
        begin_program(r, word);
        return;
    }
    if (span_equal(r->program, "echo") || span_equal(r->program, "printf")) {
        if (!r->echoed && word.at[0] != '-')
            r->echoed = word.at;
        r->echoed_end = word.at + word.len;
        if (r->prints)
            echo_mark(m, r);
    }
    struct span inner = inside(word);
    if (follows_password(r, inner) && !program_takes_prose(r->program))
        mark(m, inner.at, inner.at + inner.len);
    if (r->drinks && span_equal(r->before, "<<<") && inner.len && inner.at[0] != '$')
        mark(m, inner.at, inner.at + inner.len);
    flags_mark(m, r->program, r->before, word, true);
    if (inner.len < word.len && depth < DEPTH_MAX && has_space(inner) && !program_takes_prose(r->program))
        words_mark(m, inner, depth + 1);
    r->program = redact_program(r->program, word);
}

/* Marks values of flags among the words of a text. Pairs, URLs and shapes are marked elsewhere, in the whole text. */
static void words_mark(struct secret_ranges *m, struct span text, int depth)
{
    struct span rest = text, word;
    struct shell_state r = {{"", 0}, {"", 0}, NULL, NULL, false, false};
    while (!m->all && next_shell_word(&rest, &word)) {
        if (is_separator(word)) {
            reading_next(&r, word);
            continue;
        }
        word_mark(m, &r, word, depth);
        r.before = word;
    }
}

/* Sorts the ranges and joins those that touch. Insertion sort: there are few, and most are in order already. */
static void marks_sort(struct secret_ranges *m)
{
    for (size_t i = 1; i < m->n; i++)
        for (size_t j = i; j && m->at[j].from < m->at[j - 1].from; j--) {
            size_t from = m->at[j].from, to = m->at[j].to;
            m->at[j] = m->at[j - 1];
            m->at[j - 1].from = from;
            m->at[j - 1].to = to;
        }
}

void marks_write(struct secret_ranges *m, struct buf *ret)
{
    if (m->all) {
        buf_add(ret, "***", 3);
        return;
    }
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

void argument_mark(struct secret_ranges *m, struct span program, struct span before, struct span argument)
{
    marks_begin(m, argument);
    if (flags_mark(m, program, before, argument, false))
        return;
    bool words = has_space(argument), script = words && program_takes_script(program, before);
    if (!span_starts(argument, "--secret=") || !program_takes_name(program, span_str("secret")))
        pairs_mark(m, argument, script);
    urls_mark(m, argument, script);
    shapes_mark(m, argument);
    if (words && !program_takes_prose(program)) {
        sql_mark(m, argument);
        expect_mark(m, program, argument);
        words_mark(m, argument, 0);
    }
}

bool redact_argument(struct span program, struct span before, struct span argument, struct buf *ret)
{
    struct secret_ranges m;
    argument_mark(&m, program, before, argument);
    marks_write(&m, ret);
    return m.all || m.n;
}
