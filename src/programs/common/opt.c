/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "baro/error.h"
#include "programs/common/opt.h"

static bool is_short(const char *word)
{
    return word[0] == '-' && word[1] && word[1] != '-';
}

static bool is_long(const char *word)
{
    return word[0] == '-' && word[1] == '-' && word[2];
}

/* ---- near words ---- */

#define DISTANCE_MAX 32u

/* Optimal string alignment: a swap of neighbours counts as one. */
unsigned opt_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    unsigned row[3][DISTANCE_MAX + 1];
    if (n > DISTANCE_MAX || m > DISTANCE_MAX)
        return 255;
    for (size_t j = 0; j <= m; j++)
        row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *now = row[i % 3], *before = row[(i + 2) % 3], *two = row[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned best = before[j - 1] + (a[i - 1] != b[j - 1]);
            best = before[j] + 1 < best ? before[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && two[j - 2] + 1 < best)
                best = two[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[n % 3][m];
}

const char *opt_nearest(const char *word, const char *const *list)
{
    const char *best = NULL;
    size_t len = strlen(word);
    unsigned least = len < 4 ? 2 : len < 7 ? 3 : 4; /* a short word has many words near to it */
    for (; *list; list++) {
        unsigned d = opt_distance(word, *list);
        if (len >= 3 && strncmp(word, *list, len) == 0)
            d = 1; /* a word cut short */
        if (d < least) {
            least = d;
            best = *list;
        }
    }
    return best;
}

static const char *nearest_option(const struct opt *table, const char *word)
{
    const char *names[64];
    size_t n = 0;
    for (const struct opt *o = table; o->name && n < 63; o++)
        names[n++] = o->name;
    names[n] = NULL;
    return opt_nearest(word, names);
}

/* ---- parsing ---- */

static int unknown_long(const struct opt *table, const char *word, size_t len, struct baro_error *err)
{
    char name[64];
    size_t n = len < sizeof(name) - 1 ? len : sizeof(name) - 1;
    memcpy(name, word, n);
    name[n] = 0;
    const char *near = nearest_option(table, name);
    if (near)
        return error_set(err, BARO_E_SYNTAX, "unknown option --%s; did you mean --%s? (--help lists all)", name, near);
    return error_set(err, BARO_E_SYNTAX, "unknown option --%s; --help lists all", name);
}

static int choose_value(const struct opt *o, void *at, const char *argument, struct baro_error *err)
{
    struct buf list = {0};
    for (int i = 0; o->choices[i]; i++) {
        if (strcmp(o->choices[i], argument) == 0) {
            *(int *)at = i;
            buf_done(&list);
            return 0;
        }
        buf_str(&list, i ? ", " : "");
        buf_str(&list, o->choices[i]);
    }
    buf_byte(&list, 0);
    int code = error_set(err, BARO_E_SYNTAX, "--%s %s: not one of %s", o->name, argument,
                         list.failed ? "those known" : (const char *)list.at);
    buf_done(&list);
    return code;
}

static int take_argument(const struct opt *o, const char *argument, void *settings, bool *ret_help,
                         struct baro_error *err)
{
    void *at = (char *)settings + o->offset;
    struct baro_error inner = BARO_ERROR_INIT;
    switch (o->type) {
    case OPT_TRUE:
    case OPT_FALSE: *(bool *)at = o->type == OPT_TRUE; return 0;
    case OPT_TEXT:
        if (!*argument)
            return error_set(err, BARO_E_SYNTAX, "--%s: its %s is empty", o->name, o->argument);
        *(const char **)at = argument;
        return 0;
    case OPT_CHOICE: return choose_value(o, at, argument, err);
    case OPT_PARSED: {
        int code = o->parse(at, argument, &inner);
        return code < 0 ? error_wrap(err, code, &inner, "--%s: ", o->name) : 0;
    }
    case OPT_HELP: *ret_help = true; return 0;
    }
    return -EINVAL;
}

struct parser {
    const struct opt *table;
    char **next; /* the word to parse next */
    void *settings;
    bool *help;
    struct baro_error *err;
};

static int parse_long(struct parser *p, const char *word)
{
    size_t len = strcspn(word, "=");
    const char *value = word[len] ? word + len + 1 : NULL;
    const struct opt *o = p->table;
    while (o->name && (strlen(o->name) != len || memcmp(o->name, word, len) != 0))
        o++;
    if (!o->name)
        return unknown_long(p->table, word, len, p->err);
    if (!o->argument && value)
        return error_set(p->err, BARO_E_SYNTAX, "--%s takes no value", o->name);
    if (o->argument && !value && !(value = *p->next))
        return error_set(p->err, BARO_E_SYNTAX, "--%s needs its %s", o->name, o->argument);
    if (o->argument && value == *p->next)
        p->next++;
    return take_argument(o, value, p->settings, p->help, p->err);
}

static int parse_short(struct parser *p, const char *letters)
{
    for (; *letters; letters++) {
        const struct opt *o = p->table;
        while (o->name && o->letter != *letters)
            o++;
        if (!o->name)
            return error_set(p->err, BARO_E_SYNTAX, "unknown option -%c; --help lists all", *letters);
        const char *value = NULL;
        if (o->argument) {
            value = letters[1] ? letters + 1 : *p->next;
            if (!value)
                return error_set(p->err, BARO_E_SYNTAX, "-%c needs its %s", o->letter, o->argument);
            if (!letters[1])
                p->next++;
            else if (*value == '=')
                return error_set(p->err, BARO_E_SYNTAX,
                                 "-%c%s: a short option has no = before its %s; write -%c %s or --%s%s", o->letter,
                                 value, o->argument, o->letter, value + 1, o->name, value);
        }
        int code = take_argument(o, value, p->settings, p->help, p->err);
        if (code < 0 || o->argument || *p->help)
            return code;
    }
    return 0;
}

int opt_parse(const struct opt *table, char **argv, bool stop_early, void *settings, bool *ret_help,
              struct baro_error *err)
{
    struct parser p = {table, argv, settings, ret_help, err};
    int n = 0;
    bool ended = false;
    *ret_help = false;
    while (*p.next) {
        char *word = *p.next++;
        int code = 0;
        if (!ended && strcmp(word, "--") == 0) {
            ended = true;
        } else if (!ended && is_long(word)) {
            code = parse_long(&p, word + 2);
        } else if (!ended && is_short(word)) {
            code = parse_short(&p, word + 1);
        } else {
            argv[n++] = word;
            ended = ended || stop_early;
        }
        if (code < 0)
            return code;
        if (*ret_help)
            return 0;
    }
    argv[n] = NULL;
    return n;
}

/* ---- help ---- */

static void help_head(const struct opt *o, struct buf *b)
{
    if (o->letter)
        buf_printf(b, "  -%c, ", o->letter);
    else
        buf_str(b, "      ");
    buf_printf(b, "--%s", o->name);
    if (o->argument)
        buf_printf(b, " %s", o->argument);
}

static size_t head_width(const struct opt *o)
{
    return 8 + strlen(o->name) + (o->argument ? 1 + strlen(o->argument) : 0);
}

/* Breaks a line at blanks so that it fits beside the column. */
static void wrap(struct buf *b, const char *text, size_t indent, size_t width)
{
    size_t room = width > indent + 20 ? width - indent : 20;
    while (*text) {
        size_t n = strlen(text);
        if (n > room) {
            n = room;
            while (n && text[n] != ' ')
                n--;
            n = n ? n : room;
        }
        buf_add(b, text, n);
        buf_byte(b, '\n');
        text += n;
        text += strspn(text, " ");
        buf_spaces(b, *text ? indent : 0);
    }
}

void opt_help(const struct opt *table, unsigned width, struct buf *ret)
{
    size_t column = 0;
    for (const struct opt *o = table; o->name; o++)
        column = head_width(o) > column ? head_width(o) : column;
    column += 2;
    bool below = width < column + 20; /* too little is left beside the options */
    for (const struct opt *o = table; o->name; o++) {
        help_head(o, ret);
        if (below) {
            buf_str(ret, "\n        ");
            wrap(ret, o->help, 8, width);
            continue;
        }
        buf_spaces(ret, column > head_width(o) ? column - head_width(o) : 0);
        wrap(ret, o->help, column, width);
    }
}
