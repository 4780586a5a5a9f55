/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/span.h"
#include "output/rows/row.h"

/* Kinds of rows by what they have besides metrics. */
enum {
    OF_PROCESS = 1,
    OF_EXIT = 2,
    OF_JOB = 4,
    OF_EVENT = 8,
    OF_HOST = 16,
    OF_ENTITY = 32, /* of a kind of this library */
    OF_OTHER = 64,  /* of a kind that only the tape has */
    OF_ALL = 127,
    CORES = 128 /* of a kind of which cores can be derived */
};
#define WHO (OF_PROCESS | OF_EXIT)
#define ENTITIES (OF_ENTITY | OF_OTHER)

static const struct {
    const char *name, *alias;
    enum column_kind kind;
    unsigned rows;
    bool shown; /* also where it was not asked for */
} identities[] = {
    {"time", NULL, COLUMN_TIME, OF_ALL, true},
    {"t_ns", "t", COLUMN_T, OF_ALL, true},
    {"event", "kind", COLUMN_EVENT, OF_EVENT, true},
    {"pid", NULL, COLUMN_PID, WHO | OF_EVENT, true},
    {"start_ticks", "start", COLUMN_START, WHO | OF_EVENT, true},
    {"ppid", "parent", COLUMN_PPID, WHO, true},
    {"uid", NULL, COLUMN_UID, WHO, true},
    {"user", NULL, COLUMN_USER, WHO, false},
    {"id", NULL, COLUMN_ID, ENTITIES, false},
    {"name", NULL, COLUMN_NAME, WHO | ENTITIES, true},
    {"label", NULL, COLUMN_LABEL, ENTITIES, true},
    {"attributes", NULL, COLUMN_ATTRIBUTES, OF_OTHER, true},
    {"owner_pid", NULL, COLUMN_OWNER, OF_OTHER, false},
    {"cmdline", "command", COLUMN_CMDLINE, WHO, true},
    {"age_ns", "age", COLUMN_AGE, OF_PROCESS, false},
    {"status", NULL, COLUMN_STATUS, OF_EXIT, true},
    {"signal", NULL, COLUMN_SIGNAL, OF_EXIT, true},
    {"source", NULL, COLUMN_SOURCE, OF_EXIT, true},
    {"origin", NULL, COLUMN_ORIGIN, WHO, false},
    {"sampled", NULL, COLUMN_SAMPLED, OF_EXIT, true},
    {"number", NULL, COLUMN_NUMBER, OF_EVENT, true},
    {"text", NULL, COLUMN_TEXT, OF_EVENT, true},
    {"attributes", NULL, COLUMN_GIVEN, OF_EVENT, true},
    {"phase", NULL, COLUMN_PHASE, OF_ALL, false},
    {"lossy", NULL, COLUMN_LOSSY, OF_JOB, true},
    {"lower_bounds", NULL, COLUMN_BOUNDS, OF_JOB, true},
    {"cores", NULL, COLUMN_CORES, CORES, true},
};
#define IDENTITIES (sizeof(identities) / sizeof(*identities))

static unsigned rows_of(int kind)
{
    unsigned cores = baro_derived_find(kind, "cores", strlen("cores")) >= 0 ? CORES : 0;
    switch (kind) {
    case ROW_EVENT: return OF_EVENT;
    case BARO_KIND_PROCESS: return OF_PROCESS | cores;
    case BARO_KIND_JOB: return OF_JOB | cores;
    case BARO_KIND_EXIT: return OF_EXIT;
    case BARO_KIND_RECORDER: return 0;
    case BARO_KIND_HOST: return OF_HOST | cores;
    default: return kind < BARO_KIND_DIRECTORY ? OF_ENTITY | cores : OF_OTHER;
    }
}

int row_kind_find(const char *name, const struct baro_tape *tape)
{
    if (strcmp(name, "event") == 0)
        return ROW_EVENT;
    int kind = baro_tape_kind_find(tape, name);
    return kind >= 0 && rows_of(kind) ? kind : ROW_NO_SUCH;
}

void row_kind_names(const struct baro_tape *tape, const char **ret, size_t cap)
{
    size_t n = 0;
    for (int kind = 0; kind < baro_tape_kind_count(tape) && n + 2 < cap; kind++) {
        if (rows_of(kind))
            ret[n++] = baro_tape_kind_name(tape, kind);
        if (kind == BARO_KIND_JOB)
            ret[n++] = "event";
    }
    ret[n] = NULL;
}

static int add(struct columns *c, struct column column)
{
    if ((c->n & (c->n - 1)) == 0) { /* at each power of two */
        struct column *at = realloc(c->at, (c->n ? 2 * c->n : 1) * sizeof(*at));
        if (!at)
            return -ENOMEM;
        c->at = at;
    }
    c->at[c->n++] = column;
    c->cores = c->cores || column.kind == COLUMN_CORES;
    c->phase = c->phase || column.kind == COLUMN_PHASE;
    c->derived = c->derived || column.kind == COLUMN_DERIVED;
    return 0;
}

static int add_metric(struct columns *c, const struct baro_tape *tape, int kind, int id, enum column_kind as)
{
    const struct baro_metric *m = baro_tape_metric(tape, kind, id);
    return add(c, (struct column){as, id, m->name, m});
}

/* Metrics that only the tape's writer knew, whose ids follow those of the library, were asked for. */
static bool asked(const struct baro_tape *tape, int kind, int id)
{
    return kind != BARO_KIND_PROCESS || id >= baro_metric_count(BARO_KIND_PROCESS) ||
           baro_header_wants(baro_tape_header(tape), id);
}

static int add_all(struct columns *c, const struct baro_tape *tape)
{
    int code = 0;
    int kind = c->kind;
    for (size_t i = 0; i < IDENTITIES && code == 0; i++) {
        if (identities[i].shown && (identities[i].rows & rows_of(c->kind)))
            code = add(c, (struct column){identities[i].kind, -1, identities[i].name, NULL});
    }
    for (int id = 0; c->kind >= 0 && code == 0 && id < baro_tape_metric_count(tape, kind); id++) {
        if (asked(tape, c->kind, id))
            code = add_metric(c, tape, kind, id, COLUMN_METRIC);
    }
    for (int id = 0; c->kind == BARO_KIND_JOB && code == 0 && id < baro_metric_count(BARO_KIND_PROCESS); id++) {
        if (baro_metric_adds_up(id) && asked(tape, BARO_KIND_PROCESS, id))
            code = add_metric(c, tape, BARO_KIND_PROCESS, id, COLUMN_SUM);
    }
    return code;
}

/* 1: added, 0: no such column, negative: error */
static int add_named(struct columns *c, const struct baro_tape *tape, struct span word)
{
    int code, id;
    for (size_t i = 0; i < IDENTITIES; i++) {
        bool named =
            span_equal(word, identities[i].name) || (identities[i].alias && span_equal(word, identities[i].alias));
        if (!named || !(identities[i].rows & rows_of(c->kind)))
            continue;
        code = add(c, (struct column){identities[i].kind, -1, identities[i].name, NULL});
        return code < 0 ? code : 1;
    }
    if (c->kind < 0)
        return 0;
    id = baro_tape_metric_find(tape, c->kind, word.at, word.len);
    if (id >= 0) {
        code = add_metric(c, tape, c->kind, id, COLUMN_METRIC);
        return code < 0 ? code : 1;
    }
    id = baro_derived_find(c->kind, word.at, word.len);
    if (id >= 0) {
        code = add(c, (struct column){COLUMN_DERIVED, id, baro_derived_get(c->kind, id)->name, NULL});
        return code < 0 ? code : 1;
    }
    id = c->kind == BARO_KIND_JOB ? baro_tape_metric_find(tape, BARO_KIND_PROCESS, word.at, word.len) : -1;
    if (!baro_metric_adds_up(id))
        return 0;
    code = add_metric(c, tape, BARO_KIND_PROCESS, id, COLUMN_SUM);
    return code < 0 ? code : 1;
}

static int unknown(struct span word, char *ret_unknown, struct baro_error *err)
{
    char name[64];
    size_t n = word.len < sizeof(name) - 1 ? word.len : sizeof(name) - 1;
    memcpy(name, word.at, n);
    name[n] = 0;
    if (ret_unknown)
        memcpy(ret_unknown, name, n + 1);
    return error_set(err, BARO_E_SYNTAX, "there is no column '%s' in these rows", name);
}

static int add_list(struct columns *c, const char *list, const struct baro_tape *tape, char *ret_unknown,
                    struct baro_error *err)
{
    for (;;) {
        struct span word = span_of(list, strcspn(list, ","));
        int code = add_named(c, tape, word);
        if (code == 0)
            return unknown(word, ret_unknown, err);
        if (code < 0)
            return error_set(err, code, "out of memory");
        list += word.len;
        if (!*list)
            return 0;
        list++;
    }
}

static int make_room(struct columns *c)
{
    c->metric = calloc(c->n + 1, sizeof(*c->metric));
    c->value = calloc(c->n + 1, sizeof(*c->value));
    c->absent = calloc(c->n + 1, sizeof(*c->absent));
    if (!c->metric || !c->value || !c->absent)
        return -ENOMEM;
    for (size_t i = 0; i < c->n; i++)
        c->metric[i] = c->at[i].describes ? c->at[i].id : -1;
    return 0;
}

int columns_choose(struct columns *ret, int kind, const char *list, const struct baro_tape *tape, char *ret_unknown,
                   struct baro_error *err)
{
    *ret = (struct columns){.kind = kind};
    int code = list ? add_list(ret, list, tape, ret_unknown, err) : add_all(ret, tape);
    if (code == 0)
        code = make_room(ret);
    return code == -ENOMEM ? error_set(err, code, "out of memory") : code;
}

void columns_done(struct columns *c)
{
    free(c->metric);
    free(c->value);
    free(c->absent);
    free(c->at);
    *c = (struct columns){0};
}

void columns_names(int kind, const struct baro_tape *tape, const char **ret, size_t cap)
{
    size_t n = 0;
    for (size_t i = 0; i < IDENTITIES && n + 1 < cap; i++) {
        if (identities[i].rows & rows_of(kind))
            ret[n++] = identities[i].name;
    }
    for (int id = 0; kind >= 0 && id < baro_tape_metric_count(tape, kind) && n + 2 < cap; id++) {
        const struct baro_metric *m = baro_tape_metric(tape, kind, id);
        ret[n++] = m->name;
        ret[n++] = m->stem;
    }
    for (int i = 0; i < baro_derived_count(kind) && n + 1 < cap; i++)
        ret[n++] = baro_derived_get(kind, i)->name;
    for (int id = 0; kind == BARO_KIND_JOB && id < baro_metric_count(BARO_KIND_PROCESS) && n + 2 < cap; id++) {
        if (baro_metric_adds_up(id)) {
            ret[n++] = baro_metric_get(BARO_KIND_PROCESS, id)->name;
            ret[n++] = baro_metric_get(BARO_KIND_PROCESS, id)->stem;
        }
    }
    ret[n] = NULL;
}
