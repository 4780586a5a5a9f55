/* SPDX-License-Identifier: Apache-2.0 */
/* Values that are secret because of the previous argument, or because of the program and its flags. */
#include <string.h>

#include "recorder/redact/redact_parts.h"

static bool is_letter(char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool in_list(struct span s, const char *const *list)
{
    for (; *list; list++)
        if (s.len && **list == s.at[0] && span_equal(s, *list))
            return true;
    return false;
}

static bool is_program(struct span program, const char *const *patterns)
{
    for (; *patterns; patterns++) {
        if (!program.len || **patterns != program.at[0])
            continue;
        size_t len = strlen(*patterns);
        bool is_prefix = (*patterns)[len - 1] == '*';
        len -= is_prefix;
        if ((is_prefix ? program.len >= len : program.len == len) && memcmp(program.at, *patterns, len) == 0)
            return true;
    }
    return false;
}

static bool is_known_name(struct span name)
{
    for (const struct redact_rule *r = redact_rules; r->programs; r++)
        if (is_program(name, r->programs))
            return true;
    for (const struct turn *t = redact_turns; t->programs; t++)
        if (is_program(name, t->programs))
            return true;
    return in_list(name, redact_wrappers) || in_list(name, redact_shells) || in_list(name, redact_prose);
}

struct span redact_program(struct span program, struct span argument)
{
    if (!argument.len || argument.at[0] == '-')
        return program;
    for (const struct turn *t = redact_turns; t->programs; t++)
        if (is_program(program, t->programs) && span_equal(argument, t->word))
            return span_str(t->becomes);
    struct span name = span_base_name(argument);
    return name.len && in_list(program, redact_wrappers) && is_known_name(name) ? name : program;
}

bool program_takes_prose(struct span program)
{
    return in_list(program, redact_prose);
}

/* sh -c, bash -lc; the arguments of ssh and watch. */
bool program_takes_script(struct span program, struct span before)
{
    if (in_list(program, redact_remotes))
        return true;
    bool dash_c = before.len >= 2 && before.at[0] == '-' && before.at[1] != '-' && before.at[before.len - 1] == 'c';
    return (dash_c || span_equal(before, "--command")) && in_list(program, redact_shells);
}

/* ---- values ---- */

static struct span unquoted(struct span s)
{
    if (s.len >= 2 && (s.at[0] == '"' || s.at[0] == '\'') && s.at[s.len - 1] == s.at[0])
        return span_of(s.at + 1, s.len - 2);
    return s;
}

static bool is_flag(struct span s)
{
    if (s.len < 2 || s.at[0] != '-')
        return span_equal(s, "-");
    return s.at[1] == '-' ? s.len == 2 || is_letter(s.at[2]) : s.len == 2 && is_letter(s.at[1]);
}

/* Is the value a variable or a file? Then it only names the place of the secret. */
static bool is_reference(struct span s, bool script)
{
    return !s.len || span_equal(s, "-") || span_starts(s, "\\\\") || span_starts(s, "${") || span_starts(s, "$(") ||
           span_starts(s, "env:") || span_starts(s, "file:") || span_starts(s, "fd:") || span_equal(s, "stdin") ||
           (script && s.at[0] == '$');
}

static void mark_after(struct secret_ranges *m, struct span value, char separator, bool script)
{
    const char *at = memchr(value.at, separator, value.len), *end = value.at + value.len;
    if (at && at + 1 < end && !is_reference(span_of(at + 1, (size_t)(end - at - 1)), script))
        mark(m, at + 1, end);
}

/* user/password@host; the user part of a path would be empty. */
static void mark_slash(struct secret_ranges *m, struct span value)
{
    if (span_starts(value, "userid="))
        value = span_of(value.at + 7, value.len - 7);
    const char *end = value.at + value.len, *slash = memchr(value.at, '/', value.len);
    if (!slash || slash == value.at || *value.at == '@' || *value.at == '.' ||
        memchr(value.at, '=', (size_t)(slash - value.at)) || memchr(value.at, ':', (size_t)(slash - value.at)) ||
        memchr(value.at, '@', (size_t)(slash - value.at)))
        return;
    const char *at = memrchr(slash, '@', (size_t)(end - slash));
    if (slash + 1 < (at ? at : end))
        mark(m, slash + 1, at ? at : end);
}

static void value_mark(struct secret_ranges *m, enum rule_how how, struct span value, bool script)
{
    value = unquoted(value);
    if (is_reference(value, script))
        return;
    switch (how) {
    case HOW_WHOLE:
    case HOW_POSITIONAL:
    case HOW_TELLING: mark(m, value.at, value.at + value.len); return;
    case HOW_UNLESS_FILE:
        if (!value_is_harmless(TELLS_SECRET, value, script))
            mark(m, value.at, value.at + value.len);
        return;
    case HOW_COLON: mark_after(m, value, ':', script); return;
    case HOW_PERCENT: mark_after(m, value, '%', script); return;
    case HOW_COMMA: mark_after(m, value, ',', script); return;
    case HOW_ASSIGNED: mark_after(m, value, '=', script); return;
    case HOW_SLASH: mark_slash(m, value); return;
    }
}

/* ---- rules ---- */

/* -p, or -xp for programs that allow short flags to be combined. */
static bool is_before(const struct redact_rule *r, struct span before)
{
    if (!(r->form & (FORM_NEXT | FORM_COMBINED)))
        return false;
    if (span_equal(before, r->flag))
        return true;
    if (!(r->form & FORM_COMBINED) || before.len < 2 || before.at[0] != '-' || before.at[before.len - 1] != r->flag[1])
        return false;
    for (size_t i = 1; i < before.len; i++)
        if (!is_letter(before.at[i]))
            return false;
    return true;
}

/* -pX, --user=X */
static bool is_glued(const struct redact_rule *r, struct span argument, struct span *ret)
{
    size_t len = strlen(r->flag);
    if (!(r->form & (FORM_GLUED | FORM_COMBINED)) || argument.len <= len || memcmp(argument.at, r->flag, len) != 0)
        return false;
    bool is_long = r->flag[1] == '-';
    if (is_long && argument.at[len] != '=')
        return false;
    size_t skip = len + is_long;
    *ret = span_of(argument.at + skip, argument.len - skip);
    return true;
}

static bool is_plain_word(struct span s)
{
    return s.len && s.at[0] != '-' && s.at[0] != '+';
}

/* Names with a separator in them, or the most common ones: "password X" of nmcli, "aws_secret_access_key X". */
static bool tells_without_dash(struct span before)
{
    enum telling tells = key_tells(before);
    if (!is_plain_word(before) || tells == TELLS_NOTHING || tells == TELLS_RANDOM)
        return false;
    for (size_t i = 1; i < before.len; i++)
        if (before.at[i] >= 'A' && before.at[i] <= 'Z' && before.at[i - 1] >= 'a' && before.at[i - 1] <= 'z')
            return true;
    return memchr(before.at, '_', before.len) || memchr(before.at, '.', before.len) ||
           memchr(before.at, ':', before.len) || span_equal(before, "password") || span_equal(before, "psk") ||
           span_equal(before, "pass");
}

static bool is_positional(const struct redact_rule *r, struct span program, struct span before, struct span argument)
{
    struct span name = span_base_name(before);
    bool behind_word =
        is_plain_word(before) && !(name.len == program.len && memcmp(name.at, program.at, name.len) == 0);
    switch ((enum rule_how)r->how) {
    case HOW_POSITIONAL: return is_plain_word(argument) && behind_word;
    case HOW_TELLING: return !is_flag(argument) && tells_without_dash(before);
    case HOW_ASSIGNED: return is_plain_word(argument) && !is_flag(before) && memchr(argument.at, '=', argument.len);
    default: return is_plain_word(argument);
    }
}

static bool rules_mark(struct secret_ranges *m, struct span program, struct span before, struct span argument,
                       bool script)
{
    for (const struct redact_rule *r = redact_rules; r->programs; r++) {
        struct span value = argument;
        if (!is_program(program, r->programs))
            continue;
        bool hit = r->flag[0] ? (is_before(r, before) && !is_flag(argument)) || is_glued(r, argument, &value)
                              : before.at && before.len && is_positional(r, program, before, argument);
        if (!hit)
            continue;
        size_t had = m->n;
        value_mark(m, r->how, value, script);
        if (m->n > had || m->all)
            return true;
    }
    return false;
}

/* Does the program take the name of a secret with this flag, which in other programs takes the secret itself? */
bool program_takes_name(struct span program, struct span name)
{
    static const char *const programs[] =
        WORDS("docker", "podman", "buildah", "nerdctl", "gcloud", "kubectl", "docker-compose", "buildctl", "kaniko",
              "kubeseal", "systemd-creds", "oc", "pulumi");
    return span_equal(name, "secret") && in_list(program, programs);
}

static bool telling_mark(struct secret_ranges *m, struct span program, struct span before, struct span argument,
                         bool script)
{
    size_t dashes = 0;
    while (dashes < before.len && dashes < 2 && before.at[dashes] == '-')
        dashes++;
    struct span name = span_of(before.at + dashes, before.len - dashes);
    if (!dashes || name.len < 2 || memchr(name.at, '=', name.len) || memchr(name.at, ' ', name.len) ||
        program_takes_name(program, name))
        return false;
    enum telling tells = key_tells(name);
    struct span value = unquoted(argument);
    if (tells == TELLS_NOTHING || is_flag(value) || value_is_harmless(tells, value, script))
        return false;
    mark(m, value.at, value.at + value.len);
    return true;
}

bool flags_mark(struct secret_ranges *m, struct span program, struct span before, struct span argument, bool script)
{
    if (!argument.len)
        return false;
    return rules_mark(m, program, before, argument, script) ||
           (before.len && telling_mark(m, program, before, argument, script));
}
