/* SPDX-License-Identifier: Apache-2.0 */
#include "tape/schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tape/block.h"

struct texts {
    struct span stem, name, help, file;
    unsigned unit, semantics;
};

static bool scan_byte(struct span *in, unsigned *ret)
{
    if (in->len == 0)
        return false;
    *ret = (unsigned char)*in->at++;
    in->len--;
    return true;
}

static bool scan_terms(struct span *in, struct column *ret)
{
    unsigned n, term, minus;
    if (!scan_byte(in, &n) || n > COLUMN_TERMS)
        return false;
    ret->n_terms = (uint8_t)n;
    for (unsigned i = 0; i < n; i++) {
        if (!scan_byte(in, &term) || !scan_byte(in, &minus) || term >= COLUMNS_MAX || minus > 1)
            return false;
        ret->term[i] = (uint8_t)term;
        ret->minus[i] = minus;
    }
    return ret->predictor != PREDICT_SHARE || n == 1;
}

/* What a column is predicted from must be there before it. */
static bool terms_hold(const struct columns *c)
{
    for (unsigned i = 0; i < c->n; i++)
        for (unsigned k = 0; k < c->at[i].n_terms; k++) {
            unsigned term = c->at[i].term[k];
            if (term >= c->n || (term >= i && c->at[term].predictor != PREDICT_SAME))
                return false;
        }
    return true;
}

static bool scan_column(struct span *in, struct column *ret, struct texts *ret_texts)
{
    struct texts *t = ret_texts;
    uint64_t len;
    unsigned scale, falls, predictor;
    if (!scan_varint(in, &len) || len > in->len)
        return false;
    struct span row = span_of(in->at, (size_t)len);
    in->at += len;
    in->len -= (size_t)len;
    if (!scan_text(&row, &t->stem) || !scan_text(&row, &t->name) || !scan_text(&row, &t->help) ||
        !scan_text(&row, &t->file) || !scan_byte(&row, &t->unit) || !scan_byte(&row, &t->semantics) ||
        !scan_byte(&row, &scale) || !scale_valid(scale) || !scan_byte(&row, &falls) || falls > 1 ||
        !scan_byte(&row, &predictor) || predictor >= PREDICT_MAX)
        return false;
    ret->scale = (uint8_t)scale;
    ret->falls = falls;
    ret->predictor = (uint8_t)predictor;
    return scan_terms(&row, ret);
}

/* One allocation: the four texts stand behind each other. */
static bool extra_fill(struct baro_metric *m, const struct texts *t)
{
    const struct span stem = t->stem.len ? t->stem : t->name, from[] = {stem, t->name, t->help, t->file};
    const char *to[4];
    char *at = malloc(stem.len + t->name.len + t->help.len + t->file.len + 4);
    if (!at)
        return false;
    for (size_t i = 0; i < 4; i++) {
        to[i] = at;
        memcpy(at, from[i].at, from[i].len);
        at += from[i].len;
        *at++ = 0;
    }
    m->stem = to[0];
    m->name = to[1];
    m->help = to[2];
    m->file = to[3];
    m->unit = t->unit <= BARO_UNIT_DECIMAL ? (enum baro_unit)t->unit : BARO_UNIT_NONE;
    m->semantics = t->semantics <= BARO_SEM_INFO ? (enum baro_semantics)t->semantics : BARO_SEM_GAUGE;
    m->source = 0;
    return true;
}

static bool id_taken(const struct schema *s, int kind, unsigned n, int id)
{
    for (unsigned i = 0; i < n; i++)
        if (s->metric[kind][i] == id)
            return true;
    return false;
}

/* Same name and unit: the same metric. A name that another column has had already would make two values one. */
static int own_id(const struct schema *s, int kind, unsigned i, const struct texts *t)
{
    const struct baro_metric *same =
        baro_metric_get((enum baro_kind)kind, (int)i); /* as it is where nothing has changed since */
    int id = same && span_equal(t->name, same->name) ? (int)i
                                                     : baro_metric_find((enum baro_kind)kind, t->name.at, t->name.len);
    if (id < 0 || (unsigned)baro_metric_get((enum baro_kind)kind, id)->unit != t->unit || id_taken(s, kind, i, id))
        return -1;
    return id;
}

static int scan_kind(struct span *in, int kind, unsigned n, struct schema *s)
{
    struct texts t;
    s->columns[kind].n = n;
    s->extra[kind] = calloc(n, sizeof *s->extra[kind]);
    if (n > 0 && !s->extra[kind])
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++) {
        if (!scan_column(in, &s->columns[kind].at[i], &t))
            return BARO_E_CORRUPT;
        int id = own_id(s, kind, i, &t);
        if (id < 0) {
            id = baro_metric_count((enum baro_kind)kind) + (int)s->n_extra[kind];
            if (!extra_fill(&s->extra[kind][s->n_extra[kind]], &t))
                return -ENOMEM;
            s->n_extra[kind]++;
        }
        s->metric[kind][i] = (uint8_t)id;
    }
    return terms_hold(&s->columns[kind]) ? 0 : BARO_E_CORRUPT;
}

static bool skip_kind(struct span *in, uint64_t n)
{
    struct column column;
    struct texts t;
    for (uint64_t i = 0; i < n; i++)
        if (!scan_column(in, &column, &t))
            return false;
    return true;
}

static int kind_of_name(struct span name)
{
    for (int kind = 0; kind < BARO_KIND_MAX; kind++)
        if (span_equal(name, baro_kind_name((enum baro_kind)kind)))
            return kind;
    return -1;
}

static void hide_behind_unknown(struct schema *s)
{
    bool hidden = false, machine = false;
    for (unsigned i = 0; i < SCHEMA_KINDS; i++) {
        machine = machine || s->kind_of[i] >= BARO_KIND_HOST;
        hidden = hidden || (machine && s->kind_of[i] < 0);
        if (hidden)
            s->kind_of[i] = -1;
    }
}

int schema_scan(struct span in, struct schema *ret)
{
    uint64_t n_kinds, n;
    struct span name;
    memset(ret, 0, sizeof *ret);
    memset(ret->kind_of, -1, sizeof ret->kind_of);
    if (!scan_varint(&in, &n_kinds))
        return BARO_E_CORRUPT;
    for (uint64_t i = 0; i < n_kinds; i++) {
        if (!scan_text(&in, &name) || !scan_varint(&in, &n) || n > COLUMNS_MAX)
            return BARO_E_CORRUPT;
        int kind = kind_of_name(name);
        if (kind < 0 || ret->extra[kind]) {
            if (!skip_kind(&in, n))
                return BARO_E_CORRUPT;
            continue;
        }
        if (i < SCHEMA_KINDS)
            ret->kind_of[i] = (int8_t)kind;
        int r = scan_kind(&in, kind, (unsigned)n, ret);
        if (r < 0)
            return r;
    }
    hide_behind_unknown(ret);
    return 0;
}

void schema_done(struct schema *s)
{
    for (int kind = 0; kind < BARO_KIND_MAX; kind++) {
        for (unsigned i = 0; i < s->n_extra[kind]; i++)
            free((char *)s->extra[kind][i].stem);
        free(s->extra[kind]);
    }
    memset(s, 0, sizeof *s);
}
