/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of redaction, private to this folder. Each pass examines one argument and marks ranges of it; redact.c
 * writes the argument with "***" in place of the marked ranges.
 */
#ifndef RECORDER_REDACT_REDACT_PARTS_H
#define RECORDER_REDACT_REDACT_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/span.h"
#include "recorder/redact/redact.h"

static inline bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* ---- marks ---- */
enum { MARKS_MAX = 64 };
struct secret_ranges {
    const char *base; /* the argument; ranges are offsets into it */
    size_t len;
    size_t n;
    struct {
        size_t from, to;
    } at[MARKS_MAX];
    size_t left; /* how many bytes the passes may still examine */
    bool all;    /* more ranges than fit, or nothing left: everything is redacted */
};
/* Begins with a text. Passes may examine it a number of times that does not depend on its length. */
void marks_begin(struct secret_ranges *m, struct span text);
/* A pass has examined so many bytes that are not the next ones of its text. Example: in "cookie: cookie: ..." each
 * header extends to the end of the line: 20 kB would be examined 2,500 times. */
void examined(struct secret_ranges *m, size_t bytes);
void mark(struct secret_ranges *m, const char *from, const char *to);
/* Appends the text with "***" in place of the marked ranges. */
void marks_write(struct secret_ranges *m, struct buf *ret);
/* All passes over an argument: what redact_argument() does before it writes. */
void argument_mark(struct secret_ranges *m, struct span program, struct span before, struct span argument);

/* ---- redact_key.c: which names mean a secret ---- */
enum telling {
    TELLS_NOTHING,
    TELLS_SECRET,
    TELLS_KEY,    /* a key, often given as the path of its file */
    TELLS_WEAK,   /* a secret if its value looks like one: cookie, auth, secret id, signature */
    TELLS_RANDOM, /* a secret if its value is random: wandb-key, my-key */
};
enum telling key_tells(struct span key);
/* Is it the name of a header whose whole value is a secret? */
bool key_is_header(struct span key);
/* Is the value no secret whatever its name: none, true, a variable, a path? */
bool value_is_harmless(enum telling tells, struct span value, bool script);

/* ---- redact_shape.c: values that have the form of a secret ---- */
void shapes_mark(struct secret_ranges *m, struct span text);
void urls_mark(struct secret_ranges *m, struct span text, bool script);
bool looks_random(struct span s);
/* ---- redact_expect.c: send "x\r" ---- */
void expect_mark(struct secret_ranges *m, struct span program, struct span text);
/* PASSWORD 'x', IDENTIFIED BY 'x' */
void sql_mark(struct secret_ranges *m, struct span text);

/* ---- redact_pair.c: names and values ---- */
void pairs_mark(struct secret_ranges *m, struct span text, bool script);

/* ---- redact_flag.c: what the previous argument, or the program, says about an argument ---- */
/* Returns true if a rule applies to the argument. */
bool flags_mark(struct secret_ranges *m, struct span program, struct span before, struct span argument, bool script);
bool program_takes_script(struct span program, struct span before);
bool program_takes_prose(struct span program);
/* docker --secret NAME */
bool program_takes_name(struct span program, struct span flag);

/* ---- redact_rules.c ---- */
enum rule_how {
    HOW_WHOLE,       /* the whole value */
    HOW_COLON,       /* user:password */
    HOW_PERCENT,     /* user%password */
    HOW_COMMA,       /* user,password */
    HOW_SLASH,       /* user/password@host, a word of its own */
    HOW_POSITIONAL,  /* the word after a word */
    HOW_ASSIGNED,    /* NAME=value, whatever the name */
    HOW_TELLING,     /* the word after a name that means a secret, without dashes */
    HOW_UNLESS_FILE, /* the whole value, unless it is the path of a file */
};
enum rule_form {
    FORM_NEXT = 1,  /* -p X */
    FORM_GLUED = 2, /* -pX */
    FORM_BOTH = 3,
    FORM_COMBINED = 4, /* -xp X */
};
#define WORDS(...)                                                                                                     \
    {                                                                                                                  \
        __VA_ARGS__, NULL                                                                                              \
    }
#define PROGRAMS(...) ((const char *const[])WORDS(__VA_ARGS__)) /* "mysql*" is a prefix */
struct redact_rule {
    const char *flag; /* with its dash; or a word without one; or "" */
    unsigned char how, form;
    const char *const *programs;
};
extern const struct redact_rule redact_rules[];
/* A subcommand that changes the meaning of flags. */
struct turn {
    const char *word, *becomes;
    const char *const *programs;
};
extern const struct turn redact_turns[];
extern const char *const redact_wrappers[]; /* programs that run the program given as an argument */
extern const char *const redact_shells[];   /* programs whose -c takes a script */
extern const char *const redact_remotes[];  /* programs whose arguments are scripts */
extern const char *const redact_prose[];    /* programs whose arguments with blanks are text for people */
extern const char *const redact_drinkers[]; /* flags that make a program read a secret from its input */
/* A word with this prefix that continues for at least `rest` bytes of its alphabet. */
struct shape {
    const char *prefix;
    unsigned char rest;
    unsigned char mixed; /* it must have letters and digits */
};
extern const struct shape redact_shapes[];
extern const char *const redact_places[]; /* URLs whose path is the secret */

#endif
