/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of redaction, private to this folder. Rules mark ranges of an argument; redact.c replaces them by "***". */
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

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool is_letter(char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static inline bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* ---- redact.c: marks ---- */
enum { MARKS_MAX = 64 };
struct secret_ranges {
    struct span text; /* the argument; ranges are offsets into it */
    size_t n;
    struct {
        size_t from, to;
    } at[MARKS_MAX];
    bool all; /* more ranges than fit: everything is redacted */
};
void mark(struct secret_ranges *m, const char *from, const char *to);

/* ---- redact_names.c: what names and values tell ---- */
enum telling {
    TELLS_NOTHING,
    TELLS_SECRET,
    TELLS_KEY,    /* a key, often given as the path of its file */
    TELLS_WEAK,   /* a secret if its value looks like one: cookie, auth, secret id, signature */
    TELLS_RANDOM, /* a secret if its value is random: wandb-key, my-key */
};
/* A list has a blank before each word: " *pwd pass mysql*" has all that ends with "pwd", "pass", and all that begins
 * with "mysql". Those with the '*' in front come first. */
bool in_list(const char *list, struct span word);
bool in_list_any_case(const char *list, struct span word); /* of lower case */
/* The next word of a list that begins with this byte; NULL: none. */
const char *next_with(const char *list, char c);
enum telling name_tells(struct span name);
/* Is it the name of a header whose whole value is a secret? */
bool name_is_header(struct span name);
/* Is the value no secret whatever its name: none, true, a variable, a path? */
bool value_is_harmless(enum telling tells, struct span value, bool script);
bool looks_random(struct span s);
bool has_letter_and_digit(struct span s);
bool has_blank(struct span s);

/* ---- redact_text.c: secrets anywhere in a text: pairs, URLs, tokens ---- */
void text_mark(struct secret_ranges *m, struct span text, bool script);

/* ---- redact_words.c: secrets by the words before them ---- */
/* One word, or an argument. Returns true if it is a secret or has one at a place that a rule knows. */
bool word_mark(struct secret_ranges *m, struct span program, struct span before, struct span word, bool script);
/* The words of an argument with blanks, which may be a script. */
void script_mark(struct secret_ranges *m, struct span text, int depth);

/* ---- redact_table.c: tables, which end with a row of NULL, and lists ---- */
struct name_rule {
    enum telling tells;
    const char *before; /* the word before the last one: a list; "" none; "*" any; NULL any or none */
    const char *last;   /* the last word of the name */
};
extern const struct name_rule redact_names[]; /* the first that matches decides */
extern const char redact_switches[];          /* names with these first words are no secrets: ask-password */
extern const char redact_fillers[];           /* last words that change nothing: password-value */
extern const char redact_schemes[];           /* what may come before the secret in a header */
extern const char redact_headers[];           /* headers whose whole value is a secret */
extern const char redact_no_users[];          /* words before ":" and "@" that are no user names */
extern const char redact_harmless[];          /* values that are no secrets */
extern const char redact_file_ends[];

/* How much of a value is secret: all of it, or what follows a character: user:password. */
enum {
    WHOLE = 0,
    UNLESS_FILE = 'f', /* all of it, unless it is the path of a file */
    SECOND = '2',      /* the word after a word that is no flag */
    NAMED = 'n',       /* the word after a name that means a secret */
};
enum {
    NEXT = 1,         /* -p X */
    GLUED = 2,        /* -pX, --user=X */
    COMBINED = 4 | 3, /* -xp X, too */
};
struct word_rule {
    const char *flags[6]; /* up to NULL; "": the rule is for words that are no flags */
    unsigned char how, form;
    const char *programs;
};
extern const struct word_rule redact_words[];
extern const char redact_follows[]; /* PROGRAM:WORD, after which a secret follows */
/* A word that changes which program the following words belong to: `docker login`. */
struct turn {
    const char *words[4], *becomes, *programs;
};
extern const struct turn redact_turns[];
extern const char redact_wrappers[];      /* programs that run the program given as an argument */
extern const char redact_shells[];        /* programs whose -c takes a script */
extern const char redact_remotes[];       /* programs whose arguments are scripts */
extern const char redact_prose[];         /* programs whose arguments with blanks are text for people */
extern const char redact_takes_names[];   /* programs whose --secret takes a name */
extern const char redact_reads_secrets[]; /* words of a script that reads a secret from a pipe or from a command */
extern const char redact_before_quotes[]; /* a quoted word after one of these is a secret */

/* Words with a prefix that continue for at least `rest` bytes of letters, digits, '_' and '-'. */
struct prefix {
    unsigned char rest;
    enum { ANY, MIXED, PATH } what; /* the rest has letters and digits; the rest of a URL is the secret */
    const char *prefixes;
};
extern const struct prefix redact_prefixes[];

#endif
