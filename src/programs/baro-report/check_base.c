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

/* ---- the machine ---- */

static const struct {
    const char *key, *what, *section, *fact;
} machine_facts[MACHINE_FACTS] = {
    {"cpu_model", "CPU model", "host", "cpu_model"},
    {"architecture", "architecture", "host", "machine"},
    {"cores", "cores allowed", "limits", "cores_at_most"},
};

const char *check_machine_name(size_t i)
{
    return machine_facts[i].what;
}

bool check_machine(const struct baro_summary *s, char *ret[MACHINE_FACTS])
{
    bool fits = true;
    for (size_t i = 0; i < MACHINE_FACTS; i++) {
        struct baro_value v;
        struct buf b = {0};
        baro_fact_id id = baro_summary_fact_find(machine_facts[i].section, machine_facts[i].fact);
        baro_summary_value(s, id, 0, &v);
        if (v.absent)
            buf_str(&b, "not known");
        else if (baro_summary_fact(id)->type == BARO_FACT_TEXT)
            text_escaped(&b, v.text, strlen(v.text));
        else
            fmt_decimal(&b, v.real, 2);
        buf_byte(&b, 0);
        free(ret[i]);
        ret[i] = b.failed ? NULL : strdup((const char *)b.at);
        fits = fits && ret[i];
        buf_done(&b);
    }
    return fits;
}

/* ---- reading ---- */

struct reading_base {
    struct base *base;
    struct base_value *value; /* the one that is read */
    uint64_t format;
    bool has_values;
    const char *wrong; /* what; NULL: nothing so far */
    const char *at;    /* where */
};

typedef bool take_member(struct reading_base *r, const char *key, struct span *s);

static bool refuse(struct reading_base *r, const struct span *s, const char *what)
{
    if (!r->wrong) {
        r->wrong = what;
        r->at = s->at;
    }
    return false;
}

/* Reads an object, or a list, whose elements have no key. */
static bool read_members(struct reading_base *r, struct span *s, char bracket, take_member *take)
{
    char key[64] = "";
    size_t len = 0;
    char end = bracket == '{' ? '}' : ']';
    if (!json_next_is(s, bracket))
        return refuse(r, s, bracket == '{' ? "an object {...} is expected" : "a list [...] is expected");
    if (json_next_is(s, end))
        return true;
    do {
        json_blanks(s);
        if (bracket == '{' && (!json_string(s, key, sizeof(key) - 1, &len) || !json_next_is(s, ':')))
            return refuse(r, s, "a member \"name\": is expected");
        key[len] = 0;
        json_blanks(s);
        if (!take(r, key, s))
            return refuse(r, s, "what stands here is no JSON");
    } while (json_next_is(s, ','));
    return json_next_is(s, end) || refuse(r, s, "a comma, or the end of what was opened, is expected");
}

static bool take_text(struct reading_base *r, struct span *s, char **ret)
{
    char text[TEXT_MOST];
    size_t len;
    if (*ret || !json_string_exact(s, text, sizeof(text) - 1, &len))
        return refuse(r, s, "a text, once, is expected");
    text[len] = 0;
    *ret = strdup(text);
    return *ret || refuse(r, s, "out of memory");
}

static bool take_count(struct reading_base *r, struct span *s, uint64_t *ret)
{
    return scan_u64(s, ret) || refuse(r, s, "a whole number is expected");
}

static bool skip_value(struct span *s)
{
    unsigned levels;
    return json_value(s, &levels);
}

static bool take_value_member(struct reading_base *r, const char *key, struct span *s)
{
    struct base_value *v = r->value;
    struct {
        const char *key;
        char **text;
        double *number;
    } members[] = {{"scope", &v->scope, NULL},   {"name", &v->name, NULL},   {"fact", &v->fact, NULL},
                   {"median", NULL, &v->median}, {"least", NULL, &v->least}, {"most", NULL, &v->most}};
    uint64_t number = 0;
    if (strcmp(key, "runs") == 0)
        return take_count(r, s, &v->n);
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
        if (strcmp(key, members[i].key) != 0)
            continue;
        if (members[i].text)
            return take_text(r, s, members[i].text);
        bool is_number = take_count(r, s, &number);
        *members[i].number = (double)number;
        return is_number;
    }
    return skip_value(s);
}

static bool take_value(struct reading_base *r, const char *key, struct span *s)
{
    struct base *b = r->base;
    struct base_value *more = array_room(b->at, b->n, &b->cap, sizeof(*more));
    (void)key;
    if (!more)
        return refuse(r, s, "out of memory");
    b->at = more;
    r->value = &b->at[b->n++];
    *r->value = (struct base_value){.median = -1, .least = -1, .most = -1};
    struct span before = *s;
    if (!read_members(r, s, '{', take_value_member))
        return false;
    const struct base_value *v = r->value;
    if (!v->scope || !v->name || !v->fact || !v->n || v->least < 0 || v->median < v->least || v->most < v->median)
        return refuse(r, &before, "a value has scope, name, fact, runs (from 1 on), and least <= median <= most");
    return true;
}

static bool take_machine(struct reading_base *r, const char *key, struct span *s)
{
    for (size_t i = 0; i < MACHINE_FACTS; i++) {
        if (strcmp(key, machine_facts[i].key) == 0)
            return take_text(r, s, &r->base->machine[i]);
    }
    return skip_value(s);
}

static bool take_base(struct reading_base *r, const char *key, struct span *s)
{
    if (strcmp(key, "format") == 0) {
        struct span before = *s;
        return take_count(r, s, &r->format) &&
               (r->format == BASE_FORMAT || refuse(r, &before, "format 1 is expected: another version has written it"));
    }
    if (strcmp(key, "machine") == 0)
        return read_members(r, s, '{', take_machine);
    if (strcmp(key, "values") != 0)
        return skip_value(s);
    r->has_values = true;
    return read_members(r, s, '[', take_value);
}

int base_read(struct base *b, const char *path, struct baro_error *err)
{
    struct reading_base r = {.base = b};
    char *text = malloc(FILE_MOST + 1);
    ssize_t n = text ? fd_read_file(AT_FDCWD, path, text, FILE_MOST + 1) : -ENOMEM;
    int code = 0;
    struct span s = span_of(text, n < 0 || n > (ssize_t)FILE_MOST ? 0 : (size_t)n);
    if (n < 0) {
        code = error_set(err, (int)n, "can't read the base %s: %s", path, strerror((int)-n));
    } else if (read_members(&r, &s, '{', take_base)) {
        json_blanks(&s);
        if (s.len || r.format != BASE_FORMAT || !r.has_values)
            refuse(&r, &s, s.len ? "there is more after the end" : "\"format\": 1 and \"values\": [] are expected");
    }
    if (r.wrong) {
        unsigned line = 1;
        for (const char *at = text; at < r.at; at++)
            line += *at == '\n';
        code = error_set(err, BARO_E_SYNTAX, "%s:%u: %s (baro check --update writes it anew)", path, line, r.wrong);
    }
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
    struct buf name = {0};
    const struct base_value *found = NULL;
    text_escaped(&name, row->name, strlen(row->name));
    buf_byte(&name, 0);
    for (size_t i = 0; i < b->n && !name.failed && !found; i++) {
        const struct base_value *v = &b->at[i];
        if (strcmp(v->fact, row->fact->name) == 0 && strcmp(v->scope, row->scope) == 0 &&
            strcmp(v->name, (const char *)name.at) == 0)
            found = v;
    }
    buf_done(&name);
    return found;
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
    for (size_t i = 0; i < MACHINE_FACTS; i++) {
        json_key(&j, machine_facts[i].key);
        json_exact(&j, c->machine[i]);
    }
    json_end(&j, '}');
    json_key_begin(&j, "values", '[');
    size_t n = room ? put_values(c, room, &j) : 0;
    json_end(&j, ']');
    json_end(&j, '}');
    if (!room || text.failed)
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
