/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of redaction, internal to this folder. Passes look at one argument and mark ranges
 * of it; redact.c writes the argument with the marked ranges as "***".
 */
#ifndef PROCFS_REDACT_H
#define PROCFS_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/span.h"
#include "procfs/procfs.h"

/* ---- marks ---- */
enum { MARKS_MAX = 64 };
struct marks {
    const char *base; /* the argument; ranges are offsets into it */
    size_t len;
    size_t n;
    struct {
        size_t from, to;
    } at[MARKS_MAX];
    bool all; /* more than fit: all of it goes */
};
void mark(struct marks *m, const char *from, const char *to);
/* The text, "***" in the marked places. */
void marks_write(struct marks *m, struct buf *ret);

/* ---- redact_key.c: what names tell ---- */
enum telling {
    TELLS_NOTHING,
    TELLS_SECRET,
    TELLS_KEY,  /* a key, which is often the path of one */
    TELLS_WEAK, /* a secret if it looks like one: cookie, auth, secret id, signature */
    TELLS_RANDOM, /* a secret if nobody would remember it: wandb-key, my-key */
};
enum telling key_tells(struct span key);
/* Names of headers whose value is a secret as a whole. */
bool key_is_header(struct span key);
/* Values that are no secret whatever their name: none, true, a variable, a path. */
bool value_is_harmless(enum telling tells, struct span value, bool script);

/* ---- redact_shape.c: what looks like a secret by itself ---- */
void shapes_mark(struct marks *m, struct span text);
void urls_mark(struct marks *m, struct span text, bool script);
bool looks_random(struct span s);
/* ---- redact_expect.c: send "x\r" ---- */
void expect_mark(struct marks *m, struct span program, struct span text);
/* PASSWORD 'x', IDENTIFIED BY 'x' */
void sql_mark(struct marks *m, struct span text);

/* ---- redact_pair.c: names and values ---- */
void pairs_mark(struct marks *m, struct span text, bool script);

/* ---- redact_flag.c: what the argument before, or the program, says of an argument ---- */
/* Returns true if a rule knew what the argument is. */
bool flags_mark(struct marks *m, struct span program, struct span before, struct span argument, bool script);
bool program_takes_script(struct span program, struct span before);
bool program_takes_prose(struct span program);
/* docker --secret NAME */
bool program_takes_name(struct span program, struct span flag);
struct span path_base(struct span path);

/* ---- redact_rules.c ---- */
enum rule_how {
    HOW_WHOLE,      /* all of the value */
    HOW_COLON,      /* user:password */
    HOW_PERCENT,    /* user%password */
    HOW_COMMA,      /* user,password */
    HOW_SLASH,      /* user/password@place, a word of its own */
    HOW_POSITIONAL, /* a word behind a word */
    HOW_ASSIGNED,   /* NAME=value, whatever the name */
    HOW_TELLING,    /* the word after a telling word without dashes */
    HOW_UNLESS_FILE, /* all of the value, unless it is the path of a file */
};
enum rule_form {
    FORM_NEXT = 1,  /* -p X */
    FORM_GLUED = 2, /* -pX */
    FORM_BOTH = 3,
    FORM_COMBINED = 4, /* -xp X */
};
struct rule {
    const char *program; /* "mysql*" is a prefix */
    const char *flag;    /* with its dash; a word without one; or "" */
    unsigned char how, form;
};
extern const struct rule redact_rules[];
/* A subcommand that changes what flags mean. */
struct turn {
    const char *program, *word, *becomes;
};
extern const struct turn redact_turns[];
extern const char *const redact_wrappers[]; /* programs that run the program that follows */
extern const char *const redact_shells[];   /* whose -c takes a script */
extern const char *const redact_remotes[];  /* whose arguments are scripts */
extern const char *const redact_prose[];    /* whose arguments with blanks are text for people */
extern const char *const redact_drinkers[]; /* words that say that a secret is read from a pipe */
/* A word that begins so and goes on for at least `rest` bytes of its alphabet. */
struct shape {
    const char *prefix;
    unsigned char rest;
    unsigned char mixed; /* letters and digits must both be there */
};
extern const struct shape redact_shapes[];
extern const char *const redact_places[]; /* URLs whose path is the secret */

#endif
