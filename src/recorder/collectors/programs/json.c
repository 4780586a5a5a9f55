/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON (RFC 8259) as readings: an object is a row, an array has one row for each object in it. Parsed in one pass that
 * keeps what it needs; JSON libraries build a tree first.
 */
#include "base/json_scan.h"
#include "recorder/collectors/programs/reading.h"

#define DEPTH_MOST 16u

struct json {
    struct reading_parser *p;
    struct reading_object *row;
    unsigned unnamed; /* values below a name that is too long, or none: they are parsed and left out */
};

/* One that the row keeps. */
static bool scan_kept(struct span *s, struct json *j, struct span *ret)
{
    struct reading_object *o = j->row;
    size_t len;
    if (!json_string(s, o->text + o->text_len, sizeof(o->text) - o->text_len, &len))
        return false;
    *ret = span_of(o->text + o->text_len, len);
    o->text_len += len;
    return true;
}

/* ---- members ---- */

/* "Core 0" below "coretemp" is coretemp_Core_0: what no metric's name may have becomes '_'. False: too long. */
static bool join(char out[READING_NAME], const char *path, const char *key, size_t key_len)
{
    size_t n = strlen(path);
    if (n + key_len + 2 >= READING_NAME)
        return false;
    memcpy(out, path, n);
    if (n)
        out[n++] = '_';
    if (!n && key_len && key[0] >= '0' && key[0] <= '9')
        out[n++] = '_';
    for (size_t i = 0; i < key_len; i++) {
        char c = key[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
        out[n++] = plain ? c : '_';
    }
    out[n] = 0;
    return n > 0;
}

static void add_value(struct json *j, const char *path, struct reading_cell cell)
{
    struct reading_object *o = j->row;
    size_t n = strlen(path) + 1;
    if (j->unnamed)
        return;
    if (!*path || o->n_values == READING_COLUMNS || n > sizeof(o->text) - o->text_len) {
        j->p->r->cut_cells++;
        return;
    }
    memcpy(o->text + o->text_len, path, n);
    o->value[o->n_values].path = (uint32_t)o->text_len;
    o->value[o->n_values++].cell = cell;
    o->text_len += n;
}

/* False: there is one of that name. */
static bool add_label(struct json *j, const char *name, struct span value, bool note)
{
    struct reading_object *o = j->row;
    size_t n = strlen(name);
    if (j->unnamed)
        return true;
    for (size_t i = 0; i < o->n_labels; i++) {
        if (span_equal(o->label[i].name, name))
            return false;
    }
    if (!n || o->n_labels == READING_LABELS || n > sizeof(o->text) - o->text_len) {
        j->p->r->cut_cells++;
        return true;
    }
    memcpy(o->text + o->text_len, name, n);
    o->label[o->n_labels++] = (struct reading_label){span_of(o->text + o->text_len, n), value, note};
    o->text_len += n;
    return true;
}

static bool scan_scalar(struct span *s, struct reading_cell *ret)
{
    *ret = (struct reading_cell){.value = READING_INTEGER, .bits = 0};
    json_blanks(s);
    if (json_literal(s, "false"))
        return true;
    if (json_literal(s, "true")) {
        ret->bits = 1;
        return true;
    }
    if (json_literal(s, "null") || json_literal(s, "NaN")) {
        ret->value = READING_ABSENT;
        return true;
    }
    return s->len && (*s->at == '-' || (*s->at >= '0' && *s->at <= '9')) && reading_number(s, ret);
}

static bool take_value(struct json *j, struct span *s, const char *path, unsigned depth);

typedef bool member_fn(struct json *j, struct span *s, const char *key, size_t key_len, const char *path,
                       unsigned depth);

static bool each_member(struct json *j, struct span *s, const char *path, unsigned depth, member_fn *fn)
{
    char key[READING_NAME];
    size_t len;
    if (!json_next_is(s, '{') || depth > DEPTH_MOST)
        return false;
    if (json_next_is(s, '}'))
        return true;
    do {
        if (!json_string(s, key, sizeof(key) - 1, &len) || !json_next_is(s, ':'))
            return false;
        key[len] = 0;
        if (!fn(j, s, key, len, path, depth))
            return false;
    } while (json_next_is(s, ','));
    return json_next_is(s, '}');
}

static bool take_named(struct json *j, struct span *s, const char *key, size_t key_len, const char *path,
                       unsigned depth)
{
    char name[READING_NAME];
    bool named = join(name, path, key, key_len);
    if (!named)
        name[0] = 0;
    j->p->r->cut_cells += !named && !j->unnamed;
    j->unnamed += !named;
    bool good = take_value(j, s, name, depth);
    j->unnamed -= !named;
    return good;
}

/* [1, 2] in "load" is load_0 and load_1. */
static bool take_array(struct json *j, struct span *s, const char *path, unsigned depth)
{
    char digits[12];
    unsigned n = 0;
    if (!json_next_is(s, '[') || depth > DEPTH_MOST)
        return false;
    if (json_next_is(s, ']'))
        return true;
    do {
        size_t at = sizeof(digits);
        for (unsigned v = n++, i = 0; v || !i; v /= 10, i++)
            digits[--at] = (char)('0' + v % 10);
        if (!take_named(j, s, digits + at, sizeof(digits) - at, path, depth + 1))
            return false;
    } while (json_next_is(s, ','));
    return json_next_is(s, ']');
}

static bool take_value(struct json *j, struct span *s, const char *path, unsigned depth)
{
    struct reading_cell cell;
    struct span text;
    json_blanks(s);
    if (s->len && *s->at == '{')
        return each_member(j, s, path, depth + 1, take_named);
    if (s->len && *s->at == '[')
        return take_array(j, s, path, depth);
    if (s->len && *s->at == '"') {
        if (!scan_kept(s, j, &text))
            return false;
        add_label(j, path, text, true);
        return true;
    }
    if (!scan_scalar(s, &cell))
        return false;
    add_value(j, path, cell);
    return true;
}

/* ---- rows ---- */

static bool on_label(struct json *j, struct span *s, const char *key, size_t key_len, const char *path, unsigned depth)
{
    char name[READING_NAME];
    struct span text;
    (void)path;
    (void)depth;
    json_blanks(s);
    struct span number = *s;
    struct reading_cell cell;
    if (scan_scalar(s, &cell))
        text = span_of(number.at, (size_t)(s->at - number.at)); /* {"gpu": 0} is meant as "0" */
    else if (!scan_kept(s, j, &text))
        return false;
    return !join(name, "", key, key_len) || add_label(j, name, text, false);
}

static bool take_pid(struct json *j, struct span *s)
{
    struct reading_object *o = j->row;
    struct reading_cell cell;
    json_blanks(s);
    struct span digits = *s;
    if (!scan_scalar(s, &cell))
        return false;
    if (cell.value != READING_INTEGER || !cell.bits || cell.bits > INT32_MAX)
        return true; /* no process */
    o->pid = (int32_t)cell.bits;
    o->identified = true;
    return add_label(j, "pid", span_of(digits.at, (size_t)(s->at - digits.at)), false);
}

static bool on_member(struct json *j, struct span *s, const char *key, size_t key_len, const char *path, unsigned depth)
{
    struct reading_object *o = j->row;
    struct reading_cell cell;
    json_blanks(s);
    if (span_equal(span_of(key, key_len), "name") && s->len && *s->at == '"') {
        o->identified = true;
        return scan_kept(s, j, &o->name);
    }
    if (span_equal(span_of(key, key_len), "labels") && s->len && *s->at == '{') {
        o->identified = true;
        return each_member(j, s, path, depth, on_label);
    }
    if (span_equal(span_of(key, key_len), "pid") && s->len && *s->at >= '0' && *s->at <= '9')
        return take_pid(j, s);
    if (span_equal(span_of(key, key_len), "job") && s->len && (*s->at == 't' || *s->at == 'f')) {
        if (!scan_scalar(s, &cell))
            return false;
        o->pid = cell.bits ? READING_JOB : o->pid;
        return true;
    }
    return take_named(j, s, key, key_len, path, depth);
}

static void object_begin(struct reading_object *o)
{
    o->n_values = o->n_labels = o->text_len = 0;
    o->name = span_of("", 0);
    o->pid = 0;
    o->identified = false;
}

static const struct reading_declared *declared(const struct reading_parser *p, struct span name)
{
    for (uint32_t i = 0; i < p->n_declared; i++) {
        if (span_equal(name, p->declared[i].name))
            return &p->declared[i];
    }
    return NULL;
}

static bool is_total(struct span name)
{
    return name.len > 6 && memcmp(name.at + name.len - 6, "_total", 6) == 0;
}

/* index: of the object in an array, which is its name where it has no other; -1: not in one. */
static void put_row(struct json *j, int64_t index)
{
    struct reading_object *o = j->row;
    char digits[24];
    size_t at = sizeof(digits);
    if (!o->identified && index >= 0) {
        for (uint64_t v = (uint64_t)index, i = 0; v || !i; v /= 10, i++)
            digits[--at] = (char)('0' + v % 10);
        o->name = span_of(digits + at, sizeof(digits) - at);
    }
    int row = reading_row(j->p, o->name, o->label, o->n_labels, o->pid);
    for (size_t i = 0; i < o->n_values && row >= 0; i++) {
        struct span name = span_str(o->text + o->value[i].path);
        const struct reading_declared *d = declared(j->p, name);
        enum reading_type type = d ? (enum reading_type)d->type : is_total(name) ? READING_COUNTER : READING_GAUGE;
        reading_put(j->p, row, reading_column(j->p, name, type, span_str(d ? d->help : "")), o->value[i].cell);
    }
}

/* An object with nothing but labels is a row of facts: it says that it is there. */
static bool take_row(struct json *j, struct span *s, int64_t index)
{
    object_begin(j->row);
    if (!each_member(j, s, "", 0, on_member))
        return false;
    put_row(j, index);
    return true;
}

static bool take_rows(struct json *j, struct span *s)
{
    int64_t index = 0;
    if (!json_next_is(s, '['))
        return take_row(j, s, -1);
    if (json_next_is(s, ']'))
        return true;
    do {
        if (!take_row(j, s, index++))
            return false;
    } while (json_next_is(s, ','));
    return json_next_is(s, ']');
}

/* ---- the header: {"baro": 1, "metrics": {"jobs_done": {"type": "counter", "help": "..."}}} ---- */

static bool on_description(struct json *j, struct span *s, const char *key, size_t key_len, const char *path,
                           unsigned depth)
{
    struct reading_declared *d = &j->p->declared[j->p->n_declared];
    struct span word = span_of(key, key_len);
    char type[16];
    size_t len;
    if (span_equal(word, "help") && json_string(s, d->help, sizeof(d->help) - 1, &len)) {
        d->help[len] = 0;
        return true;
    }
    if (!span_equal(word, "type") || !json_string(s, type, sizeof(type), &len))
        return take_value(j, s, path, depth); /* of a later version */
    d->type = span_equal(span_of(type, len), "counter") ? READING_COUNTER
              : span_equal(span_of(type, len), "info")  ? READING_INFO
                                                        : READING_GAUGE;
    return true;
}

static bool on_metric(struct json *j, struct span *s, const char *key, size_t key_len, const char *path, unsigned depth)
{
    struct reading_parser *p = j->p;
    if (p->n_declared == READING_COLUMNS)
        return take_value(j, s, "", depth);
    struct reading_declared *d = &p->declared[p->n_declared];
    memset(d, 0, sizeof(*d));
    if (!each_member(j, s, path, depth, on_description))
        return false;
    p->n_declared += join(d->name, "", key, key_len);
    return true;
}

static bool on_header(struct json *j, struct span *s, const char *key, size_t key_len, const char *path, unsigned depth)
{
    struct span word = span_of(key, key_len);
    struct reading_cell version;
    json_blanks(s);
    if (span_equal(word, "baro")) {
        if (!reading_number(s, &version) || version.value != READING_INTEGER || version.bits > UINT32_MAX)
            return false;
        j->p->version = (uint32_t)version.bits;
        return true;
    }
    if (span_equal(word, "metrics") && s->len && *s->at == '{')
        return each_member(j, s, path, depth, on_metric);
    return take_value(j, s, path, depth);
}

static bool is_header(struct span s)
{
    char key[8];
    size_t len;
    return json_next_is(&s, '{') && json_string(&s, key, sizeof(key), &len) && span_equal(span_of(key, len), "baro");
}

bool reading_json(struct reading_parser *p, struct span text)
{
    struct json j = {.p = p, .row = &p->object};
    struct span s = text;
    bool good, header = is_header(s);
    object_begin(&p->object);
    if (header) {
        p->n_declared = 0;
        j.unnamed = 1; /* no values of a row */
        good = each_member(&j, &s, "", 0, on_header);
    } else {
        good = take_rows(&j, &s);
    }
    json_blanks(&s);
    if (!good || s.len)
        reading_bad(p, text);
    return good && !header;
}
