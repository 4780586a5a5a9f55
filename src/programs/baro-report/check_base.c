/* SPDX-License-Identifier: Apache-2.0 */
/* The base: values of earlier runs in a small file of JSON that people review, and that no host's name is in. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "baro/baro.h"
#include "base/array.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fmt.h"
#include "base/json.h"
#include "base/json_scan.h"
#include "output/rows/escaped.h"
#include "programs/baro-report/check.h"
#include "programs/common/output.h"

#define BASE_FORMAT 1
#define FILE_MOST (4u << 20)
#define TEXT_MOST 4096u
#define COMMANDS_MOST 30u

/* ---- the machine ---- */

static const struct {
    const char *key, *what; /* what: the circumstance of a run set */
} machine_facts[MACHINE_FACTS] = {
    {"cpu_model", "CPU model"},
    {"architecture", "architecture"},
    {"cores", "cores allowed"},
};

const char *check_machine_name(size_t i)
{
    return machine_facts[i].what;
}

static bool is_escaped(const char *escaped, const char *text)
{
    struct buf b = {0};
    text_escaped(&b, text, strlen(text));
    buf_byte(&b, 0);
    bool is_same = !b.failed && strcmp(escaped, (const char *)b.at) == 0;
    buf_done(&b);
    return is_same;
}

bool base_is_of(const struct base *b, const struct baro_runset *set, size_t run, size_t i)
{
    const char *text = baro_runset_circumstance(set, run, machine_facts[i].what);
    return b->machine[i] && strcmp(b->machine[i], "not known") != 0 && is_escaped(b->machine[i], text);
}

/* ---- reading ---- */

struct reading_base {
    struct base *base;
    const char *path, *text;
    struct baro_error *err;
};

static int refuse(const struct reading_base *r, const char *at, const char *what)
{
    unsigned line = 1;
    for (const char *c = r->text; c < at; c++)
        line += *c == '\n';
    return error_set(r->err, BARO_E_SYNTAX, "%s:%u: %s (baro check --update writes it anew)", r->path, line, what);
}

static bool take_text(struct span object, const char *key, char **ret)
{
    char text[TEXT_MOST];
    size_t len;
    if (!json_member(&object, span_str(key)) || !json_string_exact(&object, text, sizeof(text) - 1, &len))
        return false;
    text[len] = 0;
    *ret = strdup(text);
    return *ret;
}

static bool take_whole(struct span object, const char *key, double *ret)
{
    uint64_t v = 0;
    bool is_whole = json_member(&object, span_str(key)) && scan_u64(&object, &v) &&
                    (json_next_is(&object, ',') || json_next_is(&object, '}'));
    *ret = (double)v;
    return is_whole;
}

static int take_value(const struct reading_base *r, struct span s)
{
    struct base *b = r->base;
    if (array_reserve(&b->at, b->n + 1, &b->cap, sizeof(*b->at)) < 0)
        return error_set(r->err, -ENOMEM, "out of memory");
    struct base_value *v = &b->at[b->n++];
    *v = (struct base_value){.n = 0};
    double runs;
    bool is_whole = take_text(s, "scope", &v->scope) && take_text(s, "name", &v->name) &&
                    take_text(s, "fact", &v->fact) && take_whole(s, "runs", &runs) &&
                    take_whole(s, "median", &v->median) && take_whole(s, "least", &v->least) &&
                    take_whole(s, "most", &v->most);
    if (!is_whole || runs < 1 || v->median < v->least || v->most < v->median)
        return refuse(
            r, s.at,
            "a value has the texts scope, name and fact, and the whole numbers runs (from 1 on), and least <= "
            "median <= most");
    v->n = (uint64_t)runs;
    return 0;
}

static int take_base(const struct reading_base *r, struct span s)
{
    struct span machine = s, values = s, one;
    double format;
    size_t fault = json_fault(s);
    if (fault != SIZE_MAX)
        return refuse(r, s.at + fault, "what stands here is no JSON");
    if (!take_whole(s, "format", &format) || (unsigned)format != BASE_FORMAT)
        return refuse(r, s.at, "an object with \"format\": 1 is expected: another version has written it");
    bool has_machine = json_member(&machine, span_str("machine"));
    for (size_t i = 0; has_machine && i < MACHINE_FACTS; i++)
        take_text(machine, machine_facts[i].key, &r->base->machine[i]);
    if (has_machine && *machine.at != '{')
        return refuse(r, machine.at, "machine is an object: \"machine\": {}");
    if (!json_member(&values, span_str("values")) || *values.at != '[')
        return refuse(r, values.at, "\"values\": [] is expected");
    int code = 0;
    while (code >= 0 && json_element(&values, &one))
        code = take_value(r, one);
    return code;
}

int base_read(struct base *b, const char *path, struct baro_error *err)
{
    char *text = malloc(FILE_MOST + 1);
    ssize_t n = text ? fd_read_file(AT_FDCWD, path, text, FILE_MOST + 1) : -ENOMEM;
    struct reading_base r = {b, path, text, err};
    int code = n < 0 ? error_set(err, (int)n, "can't read the base %s: %s", path, strerror((int)-n))
                     : take_base(&r, span_of(text, n > (ssize_t)FILE_MOST ? 0 : (size_t)n));
    b->is_there = code >= 0;
    free(text);
    return code;
}

void base_done(struct base *b)
{
    for (size_t i = 0; i < b->n; i++) {
        free(b->at[i].scope);
        free(b->at[i].name);
        free(b->at[i].fact);
    }
    for (size_t i = 0; i < MACHINE_FACTS; i++)
        free(b->machine[i]);
    free(b->at);
}

const struct base_value *base_find(const struct base *b, const struct baro_runset_row *row)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct base_value *v = &b->at[i];
        if (strcmp(v->fact, row->fact->name) == 0 && strcmp(v->scope, row->scope) == 0 &&
            is_escaped(v->name, row->name))
            return v;
    }
    return NULL;
}

/* ---- writing ---- */

static void put_whole(struct json *j, const char *key, double v)
{
    json_key_u64(j, key, whole_of(v + 0.5));
}

/* Writes what the runs have of a row. Returns false if some run has no value, or one without an upper bound. */
static bool put_row(const struct check *c, const struct limit *l, size_t row, double *room, struct json *j)
{
    size_t n = baro_runset_runs(c->set);
    const struct baro_runset_row *is = baro_runset_row(c->set, row);
    double least = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        struct bounds v = check_bounds(c, l, row, i);
        if (isinf(v.high))
            return false;
        least = i && least < v.low ? least : v.low;
        most = i && most > v.high ? most : v.high;
        room[i] = v.value;
    }
    json_begin(j, '{');
    json_key_text(j, "scope", is->scope);
    json_key_text(j, "name", is->name); /* which escapes it */
    json_key_text(j, "fact", is->fact->name);
    json_key_u64(j, "runs", n);
    put_whole(j, "median", check_median(room, n));
    put_whole(j, "least", least);
    put_whole(j, "most", most);
    json_end(j, '}');
    return true;
}

/* A row belongs to the first limit that names it. */
static bool is_first(const struct check *c, size_t limit, const struct baro_runset_row *row)
{
    for (size_t i = 0; i < limit; i++) {
        if (c->limit[i].factor > 0 && scoped_fact_names(&c->limit[i].is, row))
            return false;
    }
    return true;
}

/* What each command has of a limit on the job, so that the one that has more is found later. */
static size_t put_commands(const struct check *c, const struct limit *l, double *room, struct json *j)
{
    const char *fact = check_fact_of_commands(l->is.fact->name);
    const struct baro_runset_row *is;
    size_t n = 0;
    for (size_t row = 0; fact && l->factor > 0 && strcmp(l->is.scope, "job") == 0 && n < COMMANDS_MOST &&
                         (is = baro_runset_row(c->set, row));
         row++) {
        if (strcmp(is->scope, "command") == 0 && strcmp(is->fact->name, fact) == 0 && is_first(c, c->n, is))
            n += put_row(c, l, row, room, j);
    }
    return n;
}

static size_t put_values(const struct check *c, double *room, struct json *j)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        size_t before = n;
        for (size_t row = 0; row < baro_runset_rows(c->set) && c->limit[i].factor > 0; row++) {
            const struct baro_runset_row *is = baro_runset_row(c->set, row);
            if (scoped_fact_names(&c->limit[i].is, is))
                n += !is_first(c, i, is) || put_row(c, &c->limit[i], row, room, j);
        }
        if (n == before && c->limit[i].factor > 0)
            cli_note(c->cli, "not in the base, because some run has no value, or only a lower bound: %s",
                     c->limit[i].text);
    }
    for (size_t i = 0; i < c->n; i++)
        n += put_commands(c, &c->limit[i], room, j);
    return n;
}

int base_write(struct check *c)
{
    struct buf text = {0};
    struct json j = {.out = &text, .pretty = true};
    double *room = calloc(baro_runset_runs(c->set) + 1, sizeof(*room));
    int status;
    json_begin(&j, '{');
    json_key_u64(&j, "format", BASE_FORMAT);
    json_key_text(&j, "why", c->s->why);
    json_key_text(&j, "barograph", baro_version());
    json_key_begin(&j, "machine", '{');
    for (size_t i = 0; i < MACHINE_FACTS; i++)
        json_key_text(&j, machine_facts[i].key,
                      baro_runset_circumstance(c->set, baro_runset_runs(c->set) - 1, machine_facts[i].what));
    json_end(&j, '}');
    json_key_begin(&j, "values", '[');
    size_t n = room ? put_values(c, room, &j) : 0;
    json_end(&j, ']');
    json_end(&j, '}');
    if (!room)
        status = cli_failf(c->cli, "out of memory");
    else if (!n)
        status = cli_failf(c->cli, "%s is as it was: no limit with base has a value", c->base_path);
    else
        status = output_whole(c->cli, c->base_path, true, &text);
    if (!status)
        cli_note(c->cli, "wrote %s: %zu value%s of %zu run%s", c->base_path, n, n == 1 ? "" : "s",
                 baro_runset_runs(c->set), baro_runset_runs(c->set) == 1 ? "" : "s");
    free(room);
    buf_done(&text);
    return status;
}
