/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/span.h"
#include "derive/derive.h"
#include "encode/row.h"

#define FOR(entity) (1u << (entity))
#define ALL (FOR(ROW_ENTITIES) - 1)
#define WHO (FOR(ROW_PROCESS) | FOR(ROW_EXIT))
#define PARTS (ALL & ~(FOR(ROW_HOST + 1) - 1)) /* of the machine */

static const struct {
    const char *name, *alias;
    enum column_kind kind;
    unsigned entities;
    bool shown; /* without being asked for */
} identities[] = {
    {"time", NULL, COLUMN_TIME, ALL, true},
    {"t_ns", "t", COLUMN_T, ALL, true},
    {"event", "kind", COLUMN_EVENT, FOR(ROW_EVENT), true},
    {"pid", NULL, COLUMN_PID, WHO | FOR(ROW_EVENT), true},
    {"start_ticks", "start", COLUMN_START, WHO | FOR(ROW_EVENT), true},
    {"ppid", "parent", COLUMN_PPID, WHO, true},
    {"uid", NULL, COLUMN_UID, WHO, true},
    {"user", NULL, COLUMN_USER, WHO, false},
    {"id", NULL, COLUMN_ID, PARTS, false},
    {"name", NULL, COLUMN_NAME, WHO | PARTS, true},
    {"label", NULL, COLUMN_LABEL, PARTS, true},
    {"cmdline", "command", COLUMN_CMDLINE, WHO, true},
    {"age_ns", "age", COLUMN_AGE, FOR(ROW_PROCESS), false},
    {"status", NULL, COLUMN_STATUS, FOR(ROW_EXIT), true},
    {"signal", NULL, COLUMN_SIGNAL, FOR(ROW_EXIT), true},
    {"source", NULL, COLUMN_SOURCE, FOR(ROW_EXIT), true},
    {"origin", NULL, COLUMN_ORIGIN, WHO, false},
    {"sampled", NULL, COLUMN_SAMPLED, FOR(ROW_EXIT), true},
    {"number", NULL, COLUMN_NUMBER, FOR(ROW_EVENT), true},
    {"text", NULL, COLUMN_TEXT, FOR(ROW_EVENT), true},
    {"lossy", NULL, COLUMN_LOSSY, FOR(ROW_JOB), true},
    {"cores", NULL, COLUMN_CORES, FOR(ROW_PROCESS) | FOR(ROW_JOB) | FOR(ROW_HOST) | FOR(ROW_CPU) | FOR(ROW_CGROUP),
     true},
};
#define IDENTITIES (sizeof(identities) / sizeof(*identities))

/* The kind of metrics that an entity's rows hold; -1: none. */
static int kind_of(enum row_entity entity)
{
    switch (entity) {
    case ROW_PROCESS:
        return BARO_KIND_PROCESS;
    case ROW_JOB:
        return BARO_KIND_JOB;
    case ROW_EXIT:
        return BARO_KIND_EXIT;
    default:
        return entity >= ROW_HOST ? (int)(entity - ROW_HOST) + BARO_KIND_HOST : -1;
    }
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
    c->sums = c->sums || column.kind == COLUMN_SUM;
    c->cores = c->cores || column.kind == COLUMN_CORES;
    return 0;
}

static int add_metric(struct columns *c, const struct baro_tape *tape, enum baro_kind kind, int id, enum column_kind as)
{
    const struct baro_metric *m = baro_tape_metric(tape, kind, id);
    return add(c, (struct column){as, id, m->name, m});
}

static bool asked(const struct baro_tape *tape, enum row_entity entity, int id)
{
    return entity != ROW_PROCESS || id >= PROCESS_MAX || baro_tape_header(tape)->wanted >> id & 1;
}

static int add_all(struct columns *c, const struct baro_tape *tape)
{
    int kind = kind_of(c->entity), code = 0;
    for (size_t i = 0; i < IDENTITIES && code == 0; i++) {
        if (identities[i].shown && (identities[i].entities & FOR(c->entity)))
            code = add(c, (struct column){identities[i].kind, -1, identities[i].name, NULL});
    }
    for (int id = 0; kind >= 0 && code == 0 && id < baro_tape_metric_count(tape, (enum baro_kind)kind); id++) {
        if (asked(tape, c->entity, id))
            code = add_metric(c, tape, (enum baro_kind)kind, id, COLUMN_METRIC);
    }
    for (int id = 0; c->entity == ROW_JOB && code == 0 && id < PROCESS_MAX; id++) {
        if (derive_adds_up((enum process_metric)id) && asked(tape, ROW_PROCESS, id))
            code = add_metric(c, tape, BARO_KIND_PROCESS, id, COLUMN_SUM);
    }
    return code;
}

static int find_metric(const struct baro_tape *tape, enum baro_kind kind, struct span word)
{
    for (int id = 0; id < baro_tape_metric_count(tape, kind); id++) {
        const struct baro_metric *m = baro_tape_metric(tape, kind, id);
        if (span_equal(word, m->name) || span_equal(word, m->stem))
            return id;
    }
    return -1;
}

/* 1: added, 0: no such column, negative: error */
static int add_named(struct columns *c, const struct baro_tape *tape, struct span word)
{
    int kind = kind_of(c->entity), code = 0, id;
    for (size_t i = 0; i < IDENTITIES; i++) {
        bool named =
            span_equal(word, identities[i].name) || (identities[i].alias && span_equal(word, identities[i].alias));
        if (!named || !(identities[i].entities & FOR(c->entity)))
            continue;
        code = add(c, (struct column){identities[i].kind, -1, identities[i].name, NULL});
        return code < 0 ? code : 1;
    }
    if (kind < 0)
        return 0;
    id = find_metric(tape, (enum baro_kind)kind, word);
    if (id >= 0) {
        code = add_metric(c, tape, (enum baro_kind)kind, id, COLUMN_METRIC);
        return code < 0 ? code : 1;
    }
    id = c->entity == ROW_JOB ? find_metric(tape, BARO_KIND_PROCESS, word) : -1;
    if (id < 0 || id >= PROCESS_MAX || !derive_adds_up((enum process_metric)id))
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

int columns_choose(struct columns *ret, enum row_entity entity, const char *list, const struct baro_tape *tape,
                   char *ret_unknown, struct baro_error *err)
{
    *ret = (struct columns){.entity = entity};
    if (list)
        return add_list(ret, list, tape, ret_unknown, err);
    return add_all(ret, tape) < 0 ? error_set(err, -ENOMEM, "out of memory") : 0;
}

void columns_done(struct columns *c)
{
    free(c->at);
    *c = (struct columns){0};
}

void columns_names(enum row_entity entity, const struct baro_tape *tape, const char **ret, size_t cap)
{
    size_t n = 0;
    int kind = kind_of(entity);
    for (size_t i = 0; i < IDENTITIES && n + 1 < cap; i++) {
        if (identities[i].entities & FOR(entity))
            ret[n++] = identities[i].name;
    }
    for (int id = 0; kind >= 0 && id < baro_tape_metric_count(tape, (enum baro_kind)kind) && n + 2 < cap; id++) {
        const struct baro_metric *m = baro_tape_metric(tape, (enum baro_kind)kind, id);
        ret[n++] = m->name;
        ret[n++] = m->stem;
    }
    for (int id = 0; entity == ROW_JOB && id < PROCESS_MAX && n + 2 < cap; id++) {
        if (derive_adds_up((enum process_metric)id)) {
            ret[n++] = baro_metric_get(BARO_KIND_PROCESS, id)->name;
            ret[n++] = baro_metric_get(BARO_KIND_PROCESS, id)->stem;
        }
    }
    ret[n] = NULL;
}
