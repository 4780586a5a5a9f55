/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of characters: bracket expressions, and \w and \s. */
#include <string.h>
#include <wctype.h>

#include "base/array.h"
#include "base/regex_program.h"

#define NAME_MOST 15u

static const char *const classes[] = {"alnum", "alpha", "blank", "cntrl", "digit", "graph",
                                      "lower", "print", "punct", "space", "upper", "xdigit"};
#define CLASSES (sizeof(classes) / sizeof(*classes))

/* ---- is a character in a set? ---- */

static bool in_ranges(const struct regex *r, const struct regex_set *s, uint32_t c)
{
    for (size_t i = s->first; i < s->first + s->n; i++) {
        if (c >= r->range[i].from && c <= r->range[i].to)
            return true;
    }
    return false;
}

static bool in_classes(const struct regex_set *s, uint32_t c)
{
    for (size_t i = 0; i < CLASSES; i++) {
        if (s->classes & 1u << i && iswctype(c, wctype(classes[i])))
            return true;
    }
    return false;
}

static bool is_in(const struct regex *r, const struct regex_set *s, uint32_t c)
{
    bool has = in_ranges(r, s, c) || in_classes(s, c);
    if (!has && r->ignores_case) {
        uint32_t lower = towlower(c), upper = towupper(c);
        has = in_ranges(r, s, lower) || in_ranges(r, s, upper) || in_classes(s, lower) || in_classes(s, upper);
    }
    return has != s->is_negated;
}

bool regex_set_has(const struct regex *r, const struct regex_set *s, uint32_t c)
{
    return c < 128 ? s->ascii[c / 64] >> c % 64 & 1 : is_in(r, s, c);
}

/* ---- making one ---- */

static struct regex_set *add_set(struct regex *r)
{
    if (array_reserve(&r->set, r->n_sets + 1, &r->cap_sets, sizeof(*r->set)) < 0)
        return NULL;
    r->set[r->n_sets] = (struct regex_set){.first = r->n_ranges};
    return &r->set[r->n_sets++];
}

static enum regex_problem add_range(struct regex *r, struct regex_set *s, uint32_t from, uint32_t to)
{
    if (array_reserve(&r->range, r->n_ranges + 1, &r->cap_ranges, sizeof(*r->range)) < 0)
        return REGEX_NO_MEMORY;
    r->range[r->n_ranges++] = (struct regex_range){from, to};
    s->n++;
    return from <= to ? REGEX_GOOD : REGEX_RANGE;
}

static void finish_set(const struct regex *r, struct regex_set *s)
{
    for (uint32_t c = 0; c < 128; c++)
        s->ascii[c / 64] |= (uint64_t)is_in(r, s, c) << c % 64;
}

static bool add_class(struct regex_set *s, const char *name)
{
    for (size_t i = 0; i < CLASSES; i++) {
        if (strcmp(name, classes[i]) != 0)
            continue;
        s->classes |= 1u << i;
        return true;
    }
    return false;
}

enum regex_problem regex_letter_set(struct regex *r, char letter)
{
    bool is_word = letter == 'w' || letter == 'W';
    struct regex_set *s = add_set(r);
    if (!s)
        return REGEX_NO_MEMORY;
    s->is_negated = letter == 'W' || letter == 'S';
    add_class(s, is_word ? "alnum" : "space");
    enum regex_problem problem = is_word ? add_range(r, s, '_', '_') : REGEX_GOOD;
    finish_set(r, s);
    return problem;
}

/* ---- brackets ---- */

/* Reads "[:alpha:]", "[=a=]" or "[.-.]", where *at is at the '['. ret: the character; REGEX_NO_CHAR if it was a
 * class. */
static enum regex_problem named(struct regex_set *s, const char **at, uint32_t *ret)
{
    char kind = (*at)[1], name[NAME_MOST + 1];
    const char ends[] = {kind, ']', 0};
    const char *begin = *at + 2, *end = *begin ? strstr(begin + (kind != ':'), ends) : NULL;
    if (!end)
        return REGEX_BRACKET;
    *at = end + 2;
    size_t n = (size_t)(end - begin);
    if (kind == ':') {
        memcpy(name, begin, n < NAME_MOST ? n : NAME_MOST);
        name[n < NAME_MOST ? n : NAME_MOST] = 0;
        *ret = REGEX_NO_CHAR;
        return add_class(s, name) ? REGEX_GOOD : REGEX_CLASS;
    }
    *ret = regex_next(&begin);
    return begin == end ? REGEX_GOOD : REGEX_COLLATION;
}

static enum regex_problem element(struct regex_set *s, const char **at, uint32_t *ret)
{
    if (!**at)
        return REGEX_BRACKET;
    if (**at == '[' && (*at)[1] && strchr(":=.", (*at)[1]))
        return named(s, at, ret);
    *ret = regex_next(at);
    return REGEX_GOOD;
}

/* Reads one character, a class, or a range. A '-' stands for itself at the beginning, at the end, and as the end of
 * a range. */
static enum regex_problem take_set_item(struct regex *r, struct regex_set *s, const char **at, bool first)
{
    uint32_t from, to;
    if (!first && **at == '-' && (*at)[1] != ']')
        return REGEX_RANGE;
    bool is_character = !(**at == '[' && ((*at)[1] == ':' || (*at)[1] == '='));
    enum regex_problem problem = element(s, at, &from);
    if (problem != REGEX_GOOD || from == REGEX_NO_CHAR)
        return problem;
    to = from;
    if (is_character && **at == '-' && (*at)[1] != ']') {
        (*at)++;
        bool is_end = !(**at == '[' && ((*at)[1] == ':' || (*at)[1] == '='));
        problem = is_end ? element(s, at, &to) : REGEX_RANGE;
    }
    return problem == REGEX_GOOD ? add_range(r, s, from, to) : problem;
}

enum regex_problem regex_bracket(struct regex *r, const char **at)
{
    struct regex_set *s = add_set(r);
    if (!s)
        return REGEX_NO_MEMORY;
    s->is_negated = **at == '^';
    *at += **at == '^';
    for (bool first = true; first || **at != ']'; first = false) {
        enum regex_problem problem = **at ? take_set_item(r, s, at, first) : REGEX_BRACKET;
        if (problem != REGEX_GOOD)
            return problem;
    }
    (*at)++;
    finish_set(r, s);
    return REGEX_GOOD;
}
