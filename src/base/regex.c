/* SPDX-License-Identifier: Apache-2.0 */
/* An expression as steps. */
#include "base/regex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/regex_program.h"

#define NO_JUMP UINT32_MAX
#define NO_LIMIT UINT32_MAX
#define IS_DIGIT(c) ((c) >= '0' && (c) <= '9')

/* The state of parsing an expression. */
struct reading_regex {
    struct regex *r;
    const char *at;
    unsigned depth;
    enum regex_problem problem;
};

static bool fail_parsing(struct reading_regex *m, enum regex_problem problem)
{
    m->problem = problem;
    return false;
}

/* ---- steps ---- */

static bool append_step(struct reading_regex *m, enum step_what what, uint32_t of, size_t to)
{
    struct regex *r = m->r;
    struct step *steps = r->n < REGEX_MOST ? array_room(r->step, r->n, &r->cap, sizeof(*steps)) : NULL;
    if (!steps)
        return fail_parsing(m, r->n < REGEX_MOST ? REGEX_NO_MEMORY : REGEX_TOO_LARGE);
    r->step = steps;
    steps[r->n++] = (struct step){what, of, (int32_t)to};
    return true;
}

static bool insert_split(struct reading_regex *m, size_t at, size_t to)
{
    struct regex *r = m->r;
    if (!append_step(m, STEP_SPLIT, 0, to))
        return false;
    const struct step split = r->step[r->n - 1];
    memmove(r->step + at + 1, r->step + at, (r->n - 1 - at) * sizeof(*r->step));
    r->step[at] = split;
    return true;
}

static bool append_copies(struct reading_regex *m, size_t at, size_t len, uint64_t times)
{
    struct regex *r = m->r;
    if (times * len > REGEX_MOST - r->n)
        return fail_parsing(m, REGEX_TOO_LARGE);
    for (uint64_t i = 0; i < times * len; i++) {
        const struct step s = r->step[at + i % len];
        if (!append_step(m, s.what, s.of, (size_t)s.to))
            return false;
    }
    return true;
}

/* ---- repetition: of the steps from `at` on ---- */

static bool repeat_any(struct reading_regex *m, size_t at)
{
    size_t len = m->r->n - at;
    return insert_split(m, at, len + 2) && append_step(m, STEP_JUMP, 0, 0 - (len + 1));
}

/* No copy is needed: "a+" goes back to where it began. */
static bool repeat_some(struct reading_regex *m, size_t len)
{
    return append_step(m, STEP_SPLIT, 0, 0 - len);
}

static bool repeat_counted(struct reading_regex *m, size_t at, uint64_t least, uint64_t most)
{
    size_t len = m->r->n - at;
    if (!most) {
        m->r->n = at;
        return true;
    }
    if (most == NO_LIMIT)
        return least ? append_copies(m, at, len, least - 1) && repeat_some(m, len) : repeat_any(m, at);
    if (!append_copies(m, at, len, least ? least - 1 : 0))
        return false;
    if (least == most)
        return true;
    size_t optional = least ? m->r->n : at;
    if (least && !append_copies(m, at, len, 1))
        return false;
    return insert_split(m, optional, len + 1) && append_copies(m, optional, len + 1, most - least - 1);
}

static uint32_t parse_count(const char **at)
{
    uint32_t n = 0;
    for (; IS_DIGIT(**at); (*at)++)
        n = n > REGEX_MOST ? n : 10 * n + (uint32_t)(**at - '0');
    return n;
}

/* After a '{'. */
static bool interval(struct reading_regex *m, size_t at)
{
    bool has_least = IS_DIGIT(*m->at);
    uint32_t least = parse_count(&m->at), most = least;
    if (!has_least && *m->at != ',')
        return fail_parsing(m, *m->at ? REGEX_INTERVAL : REGEX_BRACE);
    if (*m->at == ',') {
        m->at++;
        most = IS_DIGIT(*m->at) ? parse_count(&m->at) : NO_LIMIT;
    }
    if (*m->at != '}' || least > most)
        return fail_parsing(m, *m->at ? REGEX_INTERVAL : REGEX_BRACE);
    m->at++;
    return m->r->n == at || repeat_counted(m, at, least, most);
}

static bool repetitions(struct reading_regex *m, size_t at)
{
    bool good = true;
    while (good && *m->at && strchr("*+?{", *m->at)) {
        char c = *m->at++;
        size_t len = m->r->n - at;
        if (c == '{')
            good = interval(m, at);
        else if (len)
            good = c == '*' ? repeat_any(m, at) : c == '+' ? repeat_some(m, len) : insert_split(m, at, len + 1);
    }
    return good;
}

/* ---- what is repeated ---- */

static bool alternatives(struct reading_regex *m);

static bool group(struct reading_regex *m)
{
    if (++m->depth > REGEX_DEPTH_MOST)
        return fail_parsing(m, REGEX_TOO_DEEP);
    if (!alternatives(m))
        return false;
    if (*m->at != ')')
        return fail_parsing(m, REGEX_GROUP);
    m->at++;
    m->depth--;
    return true;
}

static bool one_character(struct reading_regex *m)
{
    uint32_t c = regex_next(&m->at);
    return append_step(m, STEP_CHAR, m->r->ignores_case ? regex_lower(c) : c, 0);
}

static bool set_of(struct reading_regex *m, enum regex_problem problem)
{
    return problem == REGEX_GOOD ? append_step(m, STEP_SET, (uint32_t)m->r->n_sets - 1, 0) : fail_parsing(m, problem);
}

/* Is it an anchor? An anchor cannot be repeated, as in the C library: "^*" is an error. */
static bool is_place(const char *at, enum step_what *ret)
{
    static const struct {
        char c;
        enum step_what what;
    } letters[] = {{'`', STEP_BEGIN},    {'\'', STEP_END}, {'<', STEP_WORD_BEGIN},
                   {'>', STEP_WORD_END}, {'b', STEP_EDGE}, {'B', STEP_INSIDE}};
    *ret = *at == '^' ? STEP_BEGIN : STEP_END;
    if (*at == '^' || *at == '$')
        return true;
    for (size_t i = 0; *at == '\\' && i < sizeof(letters) / sizeof(*letters); i++) {
        *ret = letters[i].what;
        if (at[1] == letters[i].c)
            return true;
    }
    return false;
}

static bool escaped(struct reading_regex *m)
{
    char c = *m->at;
    if (!c)
        return fail_parsing(m, REGEX_ESCAPE);
    if (c >= '1' && c <= '9')
        return fail_parsing(m, REGEX_BACK);
    if (!strchr("wWsS", c))
        return one_character(m);
    m->at++;
    return set_of(m, regex_letter_set(m->r, c));
}

static bool atom(struct reading_regex *m)
{
    switch (*m->at) {
    case '(': m->at++; return group(m);
    case '[': m->at++; return set_of(m, regex_bracket(m->r, &m->at));
    case '.': m->at++; return append_step(m, STEP_ANY, 0, 0);
    case '\\': m->at++; return escaped(m);
    case '*':
    case '+':
    case '?':
    case '{': return fail_parsing(m, REGEX_NOTHING);
    default: return one_character(m);
    }
}

static bool branch(struct reading_regex *m)
{
    enum step_what place;
    while (*m->at && *m->at != '|' && !(*m->at == ')' && m->depth)) {
        size_t begin = m->r->n;
        if (is_place(m->at, &place)) {
            m->at += *m->at == '\\' ? 2 : 1;
            if (!append_step(m, place, 0, 0))
                return false;
        } else if (!atom(m) || !repetitions(m, begin)) {
            return false;
        }
    }
    return true;
}

/* Adds a branch that is followed by another one: inserts a split before it, and appends a jump. The target of the
 * jumps is known at the end; until then each jump holds the index of the previous one. */
static bool alternatives(struct reading_regex *m)
{
    uint32_t jump = NO_JUMP;
    for (;;) {
        size_t begin = m->r->n;
        if (!branch(m))
            return false;
        if (*m->at != '|')
            break;
        m->at++;
        if (!insert_split(m, begin, m->r->n - begin + 2) || !append_step(m, STEP_JUMP, jump, 0))
            return false;
        jump = (uint32_t)m->r->n - 1;
    }
    while (jump != NO_JUMP) {
        struct step *s = &m->r->step[jump];
        s->to = (int32_t)(m->r->n - jump);
        jump = s->of;
        s->of = 0;
    }
    return true;
}

/* ---- making one ---- */

static int explain_problem(enum regex_problem problem, const char *text, struct baro_error *err)
{
    static const char *const words[] = {
        [REGEX_GROUP] = "Unmatched (",
        [REGEX_BRACKET] = "Unmatched [",
        [REGEX_BRACE] = "Unmatched {",
        [REGEX_INTERVAL] = "Invalid content of {}",
        [REGEX_NOTHING] = "there is nothing that *, +, ? or { repeats",
        [REGEX_RANGE] = "Invalid range end",
        [REGEX_CLASS] = "Invalid character class name",
        [REGEX_COLLATION] = "Invalid collation character",
        [REGEX_ESCAPE] = "Trailing backslash",
        [REGEX_BACK] = "back-references can't be matched in bounded time",
    };
    if (problem == REGEX_NO_MEMORY)
        return error_set(err, -ENOMEM, "out of memory");
    if (problem == REGEX_TOO_LARGE)
        return error_set(err, BARO_E_SYNTAX, "'%.80s' is too large, or repeats too much: it has more than %u steps",
                         text, REGEX_MOST);
    if (problem == REGEX_TOO_DEEP)
        return error_set(err, BARO_E_SYNTAX, "'%.80s' has more than %u groups within each other", text,
                         REGEX_DEPTH_MOST);
    return error_set(err, BARO_E_SYNTAX, "'%.80s' is not a regular expression: %s", text, words[problem]);
}

/* So that matching allocates nothing. */
static bool reserve_lists(struct regex *r)
{
    r->mark = calloc(4 * r->n, sizeof(*r->mark));
    if (!r->mark)
        return false;
    r->now = r->mark + r->n;
    r->next = r->now + r->n;
    r->stack = r->next + r->n;
    return true;
}

int regex_make(struct regex **ret, const char *text, unsigned flags, struct baro_error *err)
{
    struct reading_regex m = {.r = calloc(1, sizeof(struct regex)), .at = text};
    if (!m.r)
        return error_set(err, -ENOMEM, "out of memory");
    m.r->ignores_case = flags & REGEX_IGNORE_CASE;
    bool good = alternatives(&m) && append_step(&m, STEP_FITS, 0, 0) &&
                (reserve_lists(m.r) || fail_parsing(&m, REGEX_NO_MEMORY));
    if (!good) {
        regex_free(m.r);
        return explain_problem(m.problem, text, err);
    }
    regex_find_begins(m.r);
    *ret = m.r;
    return 0;
}

void regex_free(struct regex *r)
{
    if (!r)
        return;
    free(r->mark);
    free(r->step);
    free(r->range);
    free(r->set);
    free(r);
}

size_t regex_size(const struct regex *r)
{
    return r->n;
}
