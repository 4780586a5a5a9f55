/* SPDX-License-Identifier: Apache-2.0 */
/* Matching: at each character, follows all steps that are possible there. */
#include <string.h>
#include <wctype.h>

#include "base/regex_program.h"

#define NO_UTF8 0x110000u /* stands for an invalid byte, as a character */

/* ---- characters ---- */

uint32_t regex_next(const char **at)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *b = (const unsigned char *)*at;
    if (!*b)
        return REGEX_NO_CHAR;
    (*at)++;
    if (*b < 0x80)
        return *b;
    unsigned more = *b >= 0xf0 && *b < 0xf8 ? 3 : *b >= 0xe0 ? 2 : 1;
    uint32_t c = *b & (0x3fu >> more);
    if (*b < 0xc0 || *b >= 0xf8)
        return NO_UTF8 + *b;
    for (unsigned i = 1; i <= more; i++) {
        if ((b[i] & 0xc0) != 0x80)
            return NO_UTF8 + *b;
        c = c << 6 | (b[i] & 0x3f);
    }
    if (c < least[more] || c >= NO_UTF8 || (c >= 0xd800 && c < 0xe000))
        return NO_UTF8 + *b;
    *at += more;
    return c;
}

uint32_t regex_lower(uint32_t c)
{
    if (c < 128)
        return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
    return c == REGEX_NO_CHAR ? c : towlower(c);
}

static bool is_word(uint32_t c)
{
    return c != REGEX_NO_CHAR && (c == '_' || iswalnum(c));
}

/* ---- a position ---- */

static void push(struct regex *r, size_t *n, uint32_t step)
{
    if (r->mark[step] == r->position)
        return;
    r->mark[step] = r->position;
    r->stack[(*n)++] = step;
}

static bool holds(enum step_what what, uint32_t before, uint32_t after)
{
    if (what == STEP_BEGIN)
        return before == REGEX_NO_CHAR;
    if (what == STEP_END)
        return after == REGEX_NO_CHAR;
    bool was = is_word(before), is = is_word(after);
    switch (what) {
    case STEP_WORD_BEGIN: return !was && is;
    case STEP_WORD_END: return was && !is;
    default: return (was != is) == (what == STEP_EDGE);
    }
}

/* Adds a step to those of this position, and all steps that follow it without a character. Returns whether the text
 * fits. */
static bool add_step(struct regex *r, uint32_t first, uint32_t before, uint32_t after, uint32_t *list, size_t *n_list)
{
    size_t n = 0;
    push(r, &n, first);
    while (n) {
        uint32_t i = r->stack[--n];
        const struct step *s = &r->step[i];
        if (s->what == STEP_FITS)
            return true;
        if (s->what <= STEP_SET) {
            list[(*n_list)++] = i;
            continue;
        }
        if (s->what <= STEP_JUMP)
            push(r, &n, (uint32_t)((int32_t)i + s->to));
        if (s->what == STEP_SPLIT || (s->what >= STEP_BEGIN && holds(s->what, before, after)))
            push(r, &n, i + 1);
    }
    return false;
}

static bool takes(const struct regex *r, const struct step *s, uint32_t c, uint32_t lower)
{
    if (s->what == STEP_CHAR)
        return s->of == lower;
    return s->what == STEP_ANY || regex_set_has(r, &r->set[s->of], c);
}

static bool may_begin(const struct regex *r, uint32_t c)
{
    return r->begins_anywhere || (c >= 128 ? c != REGEX_NO_CHAR : !r->skips[c]);
}

/* Each position has a new number, so that the marks of the previous one need not be cleared. */
static void next_position(struct regex *r)
{
    if (++r->position)
        return;
    memset(r->mark, 0, r->n * sizeof(*r->mark));
    r->position = 1;
}

/* Advances over the character c. Returns whether the text fits. */
static bool go(struct regex *r, uint32_t c, uint32_t after)
{
    uint32_t lower = r->ignores_case ? regex_lower(c) : c, *list = r->now;
    size_t n = 0;
    next_position(r);
    for (size_t i = 0; i < r->n_now; i++) {
        if (takes(r, &r->step[list[i]], c, lower) && add_step(r, list[i] + 1, c, after, r->next, &n))
            return true;
    }
    r->now = r->next;
    r->next = list;
    r->n_now = n;
    return false;
}

bool regex_fits(struct regex *r, const char *text)
{
    uint32_t before = REGEX_NO_CHAR, c = regex_next(&text);
    r->n_now = 0;
    next_position(r);
    for (;;) {
        if (may_begin(r, c) && add_step(r, 0, before, c, r->now, &r->n_now))
            return true;
        if (c == REGEX_NO_CHAR)
            return false;
        before = c;
        c = regex_next(&text);
        if (go(r, before, c))
            return true;
        if (!r->n_now && r->step->what == STEP_BEGIN)
            return false;
        if (r->n_now || c >= 128 || may_begin(r, c))
            continue;
        while (r->skips[(unsigned char)*text])
            text++;
        before = (unsigned char)text[-1];
        c = regex_next(&text);
        next_position(r);
    }
}

/* ---- characters with which a match can begin ---- */

static void note_begin(struct regex *r, const struct step *s)
{
    for (uint32_t c = 0; c < 128; c++) {
        if (takes(r, s, c, r->ignores_case ? regex_lower(c) : c))
            r->skips[c] = false;
    }
}

void regex_find_begins(struct regex *r)
{
    size_t n = 0;
    memset(r->skips + 1, true, 127);
    next_position(r);
    push(r, &n, 0);
    while (n) {
        uint32_t i = r->stack[--n];
        const struct step *s = &r->step[i];
        if (s->what <= STEP_SET)
            note_begin(r, s);
        else if (s->what == STEP_FITS)
            r->begins_anywhere = true; /* nothing is skipped */
        if (s->what == STEP_SPLIT || s->what == STEP_JUMP)
            push(r, &n, (uint32_t)((int32_t)i + s->to));
        if (s->what >= STEP_SPLIT && s->what != STEP_JUMP && s->what != STEP_FITS)
            push(r, &n, i + 1);
    }
}
