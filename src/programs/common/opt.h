/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options: a command has one table of struct opt, and that table drives parsing, --help, the man page and the
 * completion. A table ends with an entry whose name is NULL. Values go to offsets within the command's settings.
 */
#ifndef PROGRAMS_COMMON_OPT_H
#define PROGRAMS_COMMON_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

enum opt_type {
    OPT_TRUE,   /* no argument; bool becomes true */
    OPT_FALSE,  /* no argument; bool becomes false */
    OPT_TEXT,   /* const char * */
    OPT_CHOICE, /* int: index into choices */
    OPT_PARSED, /* parse() puts it where it belongs */
    OPT_HELP,   /* the caller prints the help */
};

/* What a shell may offer as the argument. */
enum opt_completes { OPT_ANYTHING, OPT_A_FILE, OPT_A_METRIC, OPT_A_PID };

struct opt {
    const char *name;     /* without the dashes */
    char letter;          /* 0: no short form */
    const char *argument; /* NULL: takes none */
    enum opt_type type;
    size_t offset;                                                        /* into the settings */
    const char *help;                                                     /* one sentence, lower case, no full stop */
    const char *const *choices;                                           /* OPT_CHOICE: NULL-terminated */
    int (*parse)(void *at, const char *argument, struct baro_error *err); /* at: settings + offset */
    enum opt_completes completes;
};

/*
 * Parses argv (without the command's name, NULL-terminated) as GNU programs do: --name=value, --name value, -nvalue, -n
 * value, bundled short options, "--" ends them. Options and operands may be mixed unless stop_early. The operands are
 * left in argv, in order, NULL-terminated. *ret_help is set if help was asked for; then the rest is not parsed.
 * Returns the number of operands, or a negative code with one line in err.
 */
int opt_parse(const struct opt *table, char **argv, bool stop_early, void *settings, bool *ret_help,
              struct baro_error *err);

/* The word in a list (NULL-terminated) that is the nearest to a mistyped one, or NULL if none is near. */
const char *opt_nearest(const char *word, const char *const *list);
/* How many letters have to be added, dropped, changed or swapped with their neighbour; cut at 255. */
unsigned opt_distance(const char *a, const char *b);

/* Lines of help, one an option, aligned. */
void opt_help(const struct opt *table, unsigned width, struct buf *ret);

#endif
