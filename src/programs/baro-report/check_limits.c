/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits as text: "[warn] [SCOPE:NAME] FACT<VALUE". The value is in the unit of the fact, or relative to the base:
 * "1.05*base+50ms". A budget file has one on each line.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fmt.h"
#include "output/rows/escaped.h"
#include "programs/baro-report/check.h"
#include "programs/common/opt.h"

#define FILE_MOST (1u << 20)
#define LIMITS_MOST 1000u
#define FACTOR_MOST 1000

static int take_amount(const struct baro_fact *f, const char *text, double *ret, struct baro_error *err)
{
    uint64_t v = 0;
    int code;
    if (f->unit == BARO_UNIT_NS)
        code = parse_duration(text, &v, err);
    else if (f->unit == BARO_UNIT_BYTES)
        code = parse_size(text, &v, err);
    else
        return parse_decimal(text, ret, err);
    *ret = (double)v;
    return code;
}

/* "90s", "base", "1.05*base", "1.05*base+50ms" */
static int take_value(struct limit *l, char *text, struct baro_error *err)
{
    char *base = strstr(text, "base");
    if (!base)
        return take_amount(l->is.fact, text, &l->plus, err);
    *base = 0;
    char *before = scoped_fact_trimmed(text), *after = scoped_fact_trimmed(base + strlen("base"));
    size_t n = strlen(before);
    if ((n && before[n - 1] != '*') || (*after && *after != '+'))
        return error_set(err, BARO_E_SYNTAX,
                         "the base is written as base, 1.05*base, or with an amount more: 1.05*base+50ms");
    before[n ? n - 1 : 0] = 0;
    l->factor = 1;
    if (n && parse_decimal(scoped_fact_trimmed(before), &l->factor, err) < 0)
        return BARO_E_SYNTAX;
    if (!(l->factor > 0) || l->factor > FACTOR_MOST)
        return error_set(err, BARO_E_RANGE, "the factor of the base is more than 0 and at most %d", FACTOR_MOST);
    return *after ? take_amount(l->is.fact, scoped_fact_trimmed(after + 1), &l->plus, err) : 0;
}

/* text: may be changed. */
static int take_limit(struct limit *l, char *text, struct baro_error *err)
{
    static const char warn[] = "warn";
    char *sign = strrchr(text, '<');
    if (!sign || strchr(text, '>'))
        return error_set(err, BARO_E_SYNTAX, "'%.80s' is no limit: write FACT<VALUE or FACT<=VALUE, as in rss_peak<2GB",
                         text);
    l->is_strict = sign[1] != '=';
    *sign = 0;
    char *value = scoped_fact_trimmed(sign + (l->is_strict ? 1 : 2)), *left = scoped_fact_trimmed(text);
    size_t n = sizeof(warn) - 1;
    l->is_warning = strncmp(left, warn, n) == 0 && (left[n] == ' ' || left[n] == '\t');
    left = scoped_fact_trimmed(left + (l->is_warning ? n : 0));
    int code = scoped_fact_parse(left, &l->is, err);
    return code < 0 ? code : take_value(l, value, err);
}

/* Adds a limit; text is borrowed. */
static int add_limit(struct check *c, const char *text, const char *file, unsigned line, struct baro_error *err)
{
    struct limit *more = c->n < LIMITS_MOST ? array_room(c->limit, c->n, &c->cap, sizeof(*more)) : NULL;
    struct buf escaped = {0};
    if (c->n == LIMITS_MOST)
        return error_set(err, BARO_E_RANGE, "more than %u limits", LIMITS_MOST);
    char *copy = strdup(text);
    text_escaped(&escaped, text, strlen(text));
    buf_byte(&escaped, 0);
    c->limit = more ? more : c->limit;
    int code = more && copy && !escaped.failed ? 0 : error_set(err, -ENOMEM, "out of memory");
    if (code >= 0) {
        struct limit *l = &c->limit[c->n++];
        *l = (struct limit){.text = (char *)escaped.at, .file = file, .line = line};
        code = take_limit(l, copy, err);
    } else {
        buf_done(&escaped);
    }
    free(copy);
    return code;
}

int limits_read_options(struct check *c, struct baro_error *err)
{
    struct baro_error why = BARO_ERROR_INIT;
    for (size_t i = 0; i < c->s->n_max; i++) {
        int code = add_limit(c, c->s->max[i], NULL, 0, &why);
        if (code < 0)
            return error_wrap(err, code, &why, "--max '%.80s': ", c->s->max[i]);
    }
    return 0;
}

/* A comment begins at "#" at the beginning of a line or after a blank. */
static void drop_comment(char *line)
{
    for (char *at = line; (at = strchr(at, '#')); at++) {
        if (at == line || strchr(" \t", at[-1]))
            *at = 0;
    }
}

static int take_line(struct check *c, char *line, const char *path, unsigned number, struct baro_error *err)
{
    drop_comment(line);
    char *text = scoped_fact_trimmed(line);
    if (!*text)
        return 0;
    if (strncmp(text, "unknown ", 8) != 0)
        return add_limit(c, text, path, number, err);
    const char *word = scoped_fact_trimmed(text + 8);
    if (strcmp(word, "fail") != 0 && strcmp(word, "warn") != 0)
        return error_set(err, BARO_E_SYNTAX, "'unknown %.40s': write unknown fail or unknown warn", word);
    c->unknown_fails = c->unknown_fails < 0 ? *word == 'f' : c->unknown_fails; /* an option has precedence */
    return 0;
}

int limits_read_file(struct check *c, const char *path, struct baro_error *err)
{
    struct baro_error why = BARO_ERROR_INIT;
    char *text = malloc(FILE_MOST + 1);
    ssize_t n = text ? fd_read_file(AT_FDCWD, path, text, FILE_MOST + 1) : -ENOMEM;
    int code = 0;
    if (n < 0)
        code = error_set(err, (int)n, "can't read %s: %s", path, strerror((int)-n));
    else if (n > (ssize_t)FILE_MOST || memchr(text, 0, (size_t)n))
        code = error_set(err, BARO_E_SYNTAX, "%s is no budget: a text of 1 MiB at most, one limit on each line", path);
    unsigned number = 0;
    struct span rest = span_of(text, code < 0 ? 0 : (size_t)n), line;
    while (code >= 0 && scan_line(&rest, &line)) {
        char *at = text + (line.at - text);
        size_t len = line.len - (line.len && at[line.len - 1] == '\r');
        at[len] = 0; /* where the end of the line was */
        code = take_line(c, at, path, ++number, &why);
        if (code < 0)
            error_wrap(err, code, &why, "%s:%u: ", path, number);
    }
    if (code >= 0 && !c->n)
        code = error_set(err, BARO_E_SYNTAX, "%s has no limit: write one on each line, as in rss_peak<2GB", path);
    free(text);
    return code;
}

void limits_done(struct check *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->limit[i].text);
        free(c->limit[i].is.name);
        buf_done(&c->limit[i].why);
        buf_done(&c->limit[i].cause);
    }
    free(c->limit);
}
