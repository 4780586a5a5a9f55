/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of regular expressions. */
#ifndef BASE_REGEX_PROGRAM_H
#define BASE_REGEX_PROGRAM_H

#include <stdint.h>

#include "base/regex.h"

enum step_what {
    STEP_CHAR, /* matches one given character */
    STEP_ANY,
    STEP_SET,
    STEP_SPLIT, /* continues at the next step and at another one */
    STEP_JUMP,
    STEP_BEGIN, /* the steps from here to STEP_INSIDE match a position between two characters */
    STEP_END,
    STEP_WORD_BEGIN,
    STEP_WORD_END,
    STEP_EDGE,
    STEP_INSIDE,
    STEP_FITS
};

/* The steps of a part of an expression stand together, and all exits lead to the step after its last one. So a part can
 * be copied as it is. */
struct step {
    enum step_what what;
    uint32_t of; /* the character; the index of the set */
    int32_t to;  /* relative to this step */
};

struct regex_range {
    uint32_t from, to;
};

struct regex_set {
    bool is_negated;
    uint32_t classes;  /* a bit for each of regex_classes */
    size_t first, n;   /* its ranges among those of the expression */
    uint64_t ascii[2]; /* all of the above for characters below 128 */
};

struct regex {
    bool ignores_case;
    bool begins_anywhere; /* it may match without a character */
    bool skips[256];      /* ASCII characters with which a match can't begin */
    struct step *step;
    size_t n, cap;
    struct regex_range *range;
    size_t n_ranges, cap_ranges;
    struct regex_set *set;
    size_t n_sets, cap_sets;
    /* used while matching */
    uint32_t *mark; /* for each step: the position at which it was added last */
    uint32_t *now, *next, *stack;
    size_t n_now;
    uint32_t position; /* counted through all texts */
};

#define REGEX_NO_CHAR UINT32_MAX /* before the beginning, and at the end */

/* Returns the character at *at and moves *at behind it; REGEX_NO_CHAR at the end. */
uint32_t regex_next(const char **at);
uint32_t regex_lower(uint32_t c);

/* regex_set.c. Both append a set. */
enum regex_problem {
    REGEX_GOOD,
    REGEX_NO_MEMORY,
    REGEX_TOO_LARGE,
    REGEX_TOO_DEEP,
    REGEX_GROUP,
    REGEX_BRACKET,
    REGEX_BRACE,
    REGEX_INTERVAL,
    REGEX_NOTHING,
    REGEX_RANGE,
    REGEX_CLASS,
    REGEX_COLLATION,
    REGEX_ESCAPE,
    REGEX_BACK
};
enum regex_problem regex_bracket(struct regex *r, const char **at); /* after the '[' */
enum regex_problem regex_letter_set(struct regex *r, char letter);  /* letter: one of "wWsS" */
bool regex_set_has(const struct regex *r, const struct regex_set *s, uint32_t c);

/* regex_match.c */
void regex_find_begins(struct regex *r);

#endif
