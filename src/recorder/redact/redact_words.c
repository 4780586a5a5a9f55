/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets by the words before them: --password X, -p of mysql, `echo X | sudo -S`. */
#include <string.h>

#include "recorder/redact/redact_parts.h"

enum { DEPTH_MAX = 3, FLAGS = 6, TURNS = 4 };

static bool is_among(const char *const *words, size_t n, struct span word)
{
    for (size_t i = 0; i < n && words[i]; i++)
        if (words[i][0] == word.at[0] && span_equal(word, words[i]))
            return true;
    return false;
}

/* ---- programs ---- */

/* Has the list PROGRAM:WORD? An empty word: PROGRAM with any word. */
static bool has_pair(struct span program, struct span word)
{
    for (const char *p = redact_follows; program.len && (p = next_with(p, program.at[0])) != NULL;) {
        struct span pair = span_of(p, (size_t)(strchrnul(p, ' ') - p));
        if (pair.len > program.len && memcmp(p, program.at, program.len) == 0 && p[program.len] == ':' &&
            (!word.len ||
             (pair.len == program.len + 1 + word.len && memcmp(p + program.len + 1, word.at, word.len) == 0)))
            return true;
    }
    return false;
}

static bool is_known_name(struct span name)
{
    for (const struct word_rule *r = redact_words; r->programs; r++)
        if (in_list(r->programs, name))
            return true;
    for (const struct turn *t = redact_turns; t->programs; t++)
        if (in_list(t->programs, name))
            return true;
    return has_pair(name, span_of("", 0)) || in_list(redact_wrappers, name) || in_list(redact_shells, name) ||
           in_list(redact_prose, name);
}

struct span redact_program(struct span program, struct span argument)
{
    if (!argument.len || argument.at[0] == '-')
        return program;
    for (const struct turn *t = redact_turns; t->programs; t++)
        if (is_among(t->words, TURNS, argument) && in_list(t->programs, program))
            return span_str(t->becomes);
    struct span name = span_base_name(argument);
    return in_list(redact_wrappers, program) && is_known_name(name) ? name : program;
}

/* ---- one word ---- */

static struct span unquoted(struct span s)
{
    if (s.len >= 2 && is_quote(s.at[0]) && s.at[s.len - 1] == s.at[0])
        return span_of(s.at + 1, s.len - 2);
    return s;
}

static bool is_flag(struct span s)
{
    if (s.len < 2 || s.at[0] != '-')
        return span_equal(s, "-");
    return s.at[1] == '-' ? s.len == 2 || is_letter(s.at[2]) : s.len == 2 && is_letter(s.at[1]);
}

static bool is_plain(struct span s)
{
    return s.len && s.at[0] != '-' && s.at[0] != '+';
}

/* Is the value a variable or a file? Then it only names the place of the secret. */
static bool is_reference(struct span s, bool script)
{
    return !s.len || span_equal(s, "-") || span_equal(s, "stdin") || span_starts(s, "\\\\") || span_starts(s, "${") ||
           span_starts(s, "$(") || span_starts(s, "env:") || span_starts(s, "file:") || span_starts(s, "fd:") ||
           (script && s.at[0] == '$');
}

/* user/password@host; the user of a path would be empty. */
static struct span after_slash(struct span value)
{
    if (span_starts(value, "userid="))
        value = span_of(value.at + 7, value.len - 7);
    const char *end = value.at + value.len, *slash = memchr(value.at, '/', value.len);
    for (const char *p = value.at; slash && p < slash; p++)
        if (*p == '=' || *p == ':' || *p == '@')
            return span_of(end, 0);
    if (!slash || slash == value.at || *value.at == '.')
        return span_of(end, 0);
    const char *at = memrchr(slash, '@', (size_t)(end - slash));
    return span_of(slash + 1, (size_t)((at ? at : end) - slash - 1));
}

/* Marks what the rule says is secret of the value: all of it, or what follows a character. */
static bool value_mark(struct secret_ranges *m, unsigned char how, struct span value, bool script)
{
    value = unquoted(value);
    if (is_reference(value, script) || (how == UNLESS_FILE && value_is_harmless(TELLS_SECRET, value, script)))
        return false;
    if (how == '/') {
        value = after_slash(value);
    } else if (strchr(":%,=", how) && how) {
        const char *at = memchr(value.at, how, value.len);
        value = at ? span_of(at + 1, value.len - (size_t)(at + 1 - value.at)) : span_of("", 0);
    }
    if (!value.len || is_reference(value, script))
        return false;
    mark(m, value.at, value.at + value.len);
    return true;
}

/* -p X, and -xp X for programs that allow short flags to be combined. */
static bool is_next(const struct word_rule *r, struct span before)
{
    if (!(r->form & NEXT) || !before.len)
        return false;
    if (is_among(r->flags, FLAGS, before))
        return true;
    if (r->form != COMBINED || before.len < 2 || before.at[0] != '-')
        return false;
    for (size_t i = 1; i < before.len; i++)
        if (!is_letter(before.at[i]))
            return false;
    char last[2] = {'-', before.at[before.len - 1]};
    return is_among(r->flags, FLAGS, span_of(last, 2));
}

/* -pX, --user=X */
static bool is_glued(const struct word_rule *r, struct span word, struct span *ret)
{
    for (size_t i = 0; (r->form & GLUED) && i < FLAGS && r->flags[i]; i++) {
        const char *flag = r->flags[i];
        size_t len = strlen(flag), skip = len + (flag[1] == '-');
        if (word.len <= skip || memcmp(word.at, flag, len) != 0 || (skip > len && word.at[len] != '='))
            continue;
        *ret = span_of(word.at + skip, word.len - skip);
        return true;
    }
    return false;
}

/* Names that are no plain words, or the most common ones: "password X" of nmcli, "aws_secret_access_key X". */
static bool is_name_of_secret(struct span before)
{
    enum telling tells = name_tells(before);
    if (!is_plain(before) || tells == TELLS_NOTHING || tells == TELLS_RANDOM)
        return false;
    for (size_t i = 0; i < before.len; i++)
        if (before.at[i] != '-' && (!is_letter(before.at[i]) || !(before.at[i] & 0x20)))
            return true;
    return in_list(" password psk pass", before);
}

/* Rules for words without a flag. */
static bool is_in_place(const struct word_rule *r, struct span program, struct span before, struct span word)
{
    if (!before.len)
        return false;
    struct span name = span_base_name(before);
    bool is_program = name.len == program.len && memcmp(name.at, program.at, name.len) == 0;
    switch (r->how) {
    case SECOND: return is_plain(word) && is_plain(before) && !is_program;
    case NAMED: return !is_flag(word) && is_name_of_secret(before);
    case '=': return is_plain(word) && !is_flag(before) && memchr(word.at, '=', word.len);
    default: return is_plain(word);
    }
}

bool word_mark(struct secret_ranges *m, struct span program, struct span before, struct span word, bool script)
{
    for (const struct word_rule *r = redact_words; r->programs && word.len; r++) {
        struct span value = word;
        bool hit = *r->flags[0] ? ((is_next(r, before) && !is_flag(word)) || is_glued(r, word, &value)) &&
                                      in_list(r->programs, program)
                                : in_list(r->programs, program) && is_in_place(r, program, before, word);
        if (hit && value_mark(m, r->how, value, script))
            return true;
    }
    if (before.len && !is_flag(word) && has_pair(program, before) && value_mark(m, WHOLE, word, script))
        return true;
    /* --password X, -token X */
    size_t dashes = span_starts(before, "--") ? 2 : span_starts(before, "-");
    struct span value = unquoted(word), name = span_of(before.at + dashes, before.len - dashes);
    enum telling tells = dashes && name.len > 1 ? name_tells(name) : TELLS_NOTHING;
    if (tells == TELLS_NOTHING || memchr(name.at, '=', name.len) || memchr(name.at, ' ', name.len) ||
        (span_equal(name, "secret") && in_list(redact_takes_names, program)) || is_flag(value) ||
        value_is_harmless(tells, value, script))
        return false;
    mark(m, value.at, value.at + value.len);
    return true;
}

/* ---- the words of a script ---- */

static bool is_separator(char c)
{
    return c && strchr(";|&()`\n", c);
}

/* The next word: quoted text is one word, and what separates commands is a word of its own. */
static bool next_word(struct span *rest, struct span *ret)
{
    const char *p = rest->at, *end = p + rest->len;
    while (p < end && is_space(*p) && *p != '\n')
        p++;
    const char *start = p;
    char quote = 0;
    if (p < end && is_separator(*p))
        p++;
    else
        for (; p < end && (quote || (!is_space(*p) && !is_separator(*p))); p++) {
            if (quote ? *p == quote : is_quote(*p))
                quote = quote ? 0 : *p;
            else if (*p == '\\' && quote != '\'' && p + 1 < end)
                p++;
        }
    *ret = span_of(start, (size_t)(p - start));
    *rest = span_of(p, (size_t)(end - p));
    return p > start;
}

static struct span up_to_equals(struct span word)
{
    const char *equals = memrchr(word.at, '=', word.len);
    return equals ? span_of(word.at, (size_t)(equals - word.at)) : word;
}

/* Does a part of the script read a secret from a pipe or a command: chpasswd, --passwordeval="echo X"? */
static bool reads_secret(struct span text)
{
    struct span word;
    while (next_word(&text, &word))
        if (in_list(redact_reads_secrets, word) || in_list(redact_reads_secrets, up_to_equals(word)))
            return true;
    return false;
}

/* The program in A=1 COMMAND is COMMAND, that in --password-command=COMMAND is COMMAND. */
static struct span first_program(struct span word)
{
    struct span name = up_to_equals(word);
    if (name.len == word.len)
        return span_base_name(unquoted(word));
    if (!span_ends(name, "ommand") && !span_ends(name, "cmd") && !span_ends(name, "eval"))
        return span_of("", 0);
    return span_base_name(span_of(name.at + name.len + 1, word.len - name.len - 1));
}

/* PASSWORD 'x' and IDENTIFIED BY 'x' of SQL; "login bob password hunter2" of .netrc: no word of prose has a digit. */
static bool follows_word(struct span before, struct span word, bool of_user)
{
    if (is_quote(word.at[0]))
        return in_list_any_case(redact_before_quotes, before) || (of_user && in_list_any_case(" by using", before));
    return span_equal(before, "password") && has_letter_and_digit(word) && word.len >= 6 && word.at[0] != '-' &&
           !memchr(word.at, '=', word.len) && !memchr(word.at, '/', word.len);
}

void script_mark(struct secret_ranges *m, struct span text, int depth)
{
    struct span rest = text, word, program = {"", 0}, before = {"", 0};
    bool reads = reads_secret(text), of_user = false;
    while (!m->all && next_word(&rest, &word)) {
        /* What expect sends ends at ';' or a newline. */
        bool typed = span_equal(program, "send") && word.at[0] != ';' && word.at[0] != '\n';
        if ((is_separator(word.at[0]) && !typed) || in_list(" { {send", word)) {
            program = span_of(word.at + 1, word.len - 1);
            before = word.at[0] == '(' ? before : program; /* PASSWORD('x') */
            continue;
        }
        struct span inner = unquoted(word);
        bool echoes = in_list(" echo printf", program), prose = in_list(redact_prose, program);
        /* echo X | chpasswd; chpasswd <<< X; but echo $X */
        bool secret = ((typed || (reads && (echoes || span_equal(before, "<<<")))) && !span_starts(inner, "$") &&
                       !is_flag(word)) ||
                      (!prose && follows_word(before, word, of_user));
        of_user |= in_list(" *IDENTIFIED *identified *connect", word);
        if (secret)
            mark(m, inner.at, inner.at + inner.len);
        else if (program.len)
            word_mark(m, program, before, word, true);
        if (inner.len < word.len && depth < DEPTH_MAX && !prose)
            script_mark(m, inner, depth + 1);
        program = program.len ? redact_program(program, word) : first_program(word);
        before = span_equal(word, "--") ? before : word;
    }
}
