/* SPDX-License-Identifier: Apache-2.0 */
/* The columns that rows may have, and a selection of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "baro/steps.h"
#include "baro/text.h"
#include "baro/timeline.h"
#include "base/error.h"
#include "base/span.h"
#include "libbaro/columns/columns.h"
#include "libbaro/interval/derive.h"
#include "libbaro/metric/ids.h"
#include "libbaro/sample/sample.h"

/* ---- names ---- */

/*
 * Names of columns whose metrics only the tape has: of a collector program, of a newer version, of a tape that somebody
 * made up. Each output can take them: they are UTF-8 without control characters, and no two columns of a kind have the
 * same name, also for those who ignore case (SQLite, DuckDB). Example: the metrics Foo, foo and time of a collector are
 * the columns Foo, foo_2 and time_2. The names do not depend on which columns were selected.
 */

enum { SUFFIX_SIZE = 16 };

/* Is it the name of a column of this library, of rows of this kind? */
static bool is_ours(int rows, const char *name)
{
    for (int id = 0; id < baro_metric_count(rows); id++) {
        if (strcasecmp(baro_metric_get(rows, id)->name, name) == 0)
            return true;
    }
    for (int i = 0; i < baro_derived_count(rows); i++) {
        if (strcasecmp(baro_derived_get(rows, i)->name, name) == 0)
            return true;
    }
    for (int id = 0; rows == BARO_KIND_JOB && id < baro_metric_count(BARO_KIND_PROCESS); id++) {
        if (baro_metric_adds_up(id) && strcasecmp(baro_metric_get(BARO_KIND_PROCESS, id)->name, name) == 0)
            return true;
    }
    return columns_identity(rows, name);
}

/* Is it the name of another one of the metrics [0, n)? */
static bool is_of_another(const struct baro_columns *c, int n, int self, const char *name)
{
    for (int i = 0; i < n; i++) {
        if (i != self && strcasecmp(c->made[i], name) == 0)
            return true;
    }
    return false;
}

static char *clean_name(const char *name)
{
    size_t len = strlen(name), size = baro_text_escape(name, len, NULL, 0) + SUFFIX_SIZE;
    char *ret = malloc(size);
    if (ret && len)
        baro_text_escape(name, len, ret, size);
    else if (ret)
        memcpy(ret, "_", 2);
    return ret;
}

/* Metrics before it have their names; those after it keep theirs if they can. */
static void make_unique(struct baro_columns *c, int i)
{
    char *name = c->made[i], *end = name + strlen(name);
    bool taken = is_ours(c->rows, name) || is_of_another(c, i, i, name);
    for (int number = 2; taken; number++) {
        snprintf(end, SUFFIX_SIZE, "_%d", number);
        taken = is_ours(c->rows, name) || is_of_another(c, c->n_made, i, name);
    }
}

/* Makes the names once the kind is known. Returns 0 or -ENOMEM. */
static int columns_make_names(struct baro_columns *c, const struct baro_tape *tape)
{
    int known = baro_metric_count(c->rows), n = baro_tape_metric_count(tape, c->rows) - known;
    if (n <= 0)
        return 0;
    c->made = calloc((size_t)n, sizeof(*c->made));
    for (int i = 0; c->made && i < n; i++) {
        c->made[i] = clean_name(baro_tape_metric(tape, c->rows, known + i)->name);
        if (!c->made[i])
            return -ENOMEM;
        c->n_made++;
    }
    for (int i = 0; c->made && i < n; i++)
        make_unique(c, i);
    return c->made ? 0 : -ENOMEM;
}

/* The name of a metric's column, borrowed from the selection or the metric. */
static const char *columns_metric_name(const struct baro_columns *c, const struct baro_metric *m, int kind, int id)
{
    int i = id - baro_metric_count(kind);
    return kind == c->rows && i >= 0 && i < c->n_made ? c->made[i] : m->name;
}

/* Returns the metric whose column has a name that was made, or -1. */
static int columns_find_made(const struct baro_columns *c, const char *name)
{
    for (int i = 0; i < c->n_made; i++) {
        if (strcmp(c->made[i], name) == 0)
            return baro_metric_count(c->rows) + i;
    }
    return -1;
}

/* Kinds of rows by what they have besides metrics. */
enum {
    OF_PROCESS = 1,
    OF_EXIT = 2,
    OF_JOB = 4,
    OF_EVENT = 8,
    OF_HOST = 16,
    OF_ENTITY = 32, /* rows of a kind of this library */
    OF_OTHER = 64,  /* rows of a kind that only the tape has */
    OF_PHASE = 128,
    OF_STEP = 256,
    OF_ALL = 511,
    CORES = 512 /* rows of a kind for which cores can be derived */
};
#define WHO (OF_PROCESS | OF_EXIT)
#define ENTITIES (OF_ENTITY | OF_OTHER)
#define SPANS (OF_PHASE | OF_STEP) /* their values are facts */

static const struct {
    const char *name, *alias;
    enum baro_column_kind kind;
    unsigned rows;
    bool shown; /* among the default columns */
} identities[] = {
    {"time", NULL, BARO_COLUMN_TIME, OF_ALL, true},
    {"t_ns", "t", BARO_COLUMN_T, OF_ALL, true},
    {"end_ns", "end", BARO_COLUMN_END, SPANS, true},
    {"event", "kind", BARO_COLUMN_EVENT, OF_EVENT, true},
    {"pid", NULL, BARO_COLUMN_PID, WHO | OF_EVENT | SPANS, true},
    {"start_ticks", "start", BARO_COLUMN_START, WHO | OF_EVENT | SPANS, true},
    {"ppid", "parent", BARO_COLUMN_PPID, WHO, true},
    {"uid", NULL, BARO_COLUMN_UID, WHO, true},
    {"user", NULL, BARO_COLUMN_USER, WHO, false},
    {"id", NULL, BARO_COLUMN_ID, ENTITIES, false},
    {"name", NULL, BARO_COLUMN_NAME, WHO | ENTITIES | SPANS, true},
    {"occurrence", NULL, BARO_COLUMN_OCCURRENCE, OF_STEP, true},
    {"driver_pid", "driver", BARO_COLUMN_DRIVER, OF_STEP, true},
    {"driver_start_ticks", NULL, BARO_COLUMN_DRIVER_START, OF_STEP, true},
    {"is_driver", NULL, BARO_COLUMN_IS_DRIVER, OF_STEP, true},
    {"is_idle", NULL, BARO_COLUMN_IS_IDLE, OF_STEP, true},
    {"path", NULL, BARO_COLUMN_PATH, OF_PHASE, true},
    {"parent", NULL, BARO_COLUMN_PARENT, OF_PHASE, true},
    {"depth", NULL, BARO_COLUMN_DEPTH, OF_PHASE, true},
    {"is_open", "open", BARO_COLUMN_OPEN, SPANS, true},
    {"label", NULL, BARO_COLUMN_LABEL, ENTITIES, true},
    {"attributes", NULL, BARO_COLUMN_ATTRIBUTES, OF_OTHER, true},
    {"owner_pid", NULL, BARO_COLUMN_OWNER, OF_OTHER, false},
    {"cmdline", "command", BARO_COLUMN_CMDLINE, WHO | OF_STEP, true},
    {"age_ns", "age", BARO_COLUMN_AGE, OF_PROCESS, false},
    {"status", NULL, BARO_COLUMN_STATUS, OF_EXIT | SPANS, true},
    {"signal", NULL, BARO_COLUMN_SIGNAL, OF_EXIT | SPANS, true},
    {"source", NULL, BARO_COLUMN_SOURCE, OF_EXIT, true},
    {"origin", NULL, BARO_COLUMN_ORIGIN, WHO, false},
    {"sampled", NULL, BARO_COLUMN_SAMPLED, OF_EXIT, true},
    {"number", NULL, BARO_COLUMN_NUMBER, OF_EVENT, true},
    {"text", NULL, BARO_COLUMN_TEXT, OF_EVENT, true},
    {"attributes", NULL, BARO_COLUMN_GIVEN, OF_EVENT | OF_PHASE, true},
    {"phase", NULL, BARO_COLUMN_PHASE, OF_ALL & ~OF_PHASE, false},
    {"lossy", NULL, BARO_COLUMN_LOSSY, OF_JOB, true},
    {"lower_bounds", NULL, BARO_COLUMN_BOUNDS, OF_JOB | SPANS, true},
    {"estimates", NULL, BARO_COLUMN_ESTIMATES, SPANS, true},
    {"cores", NULL, BARO_COLUMN_CORES, CORES, true},
};
#define IDENTITIES (sizeof(identities) / sizeof(*identities))
#define REASON "_absent"

/* Fact i of rows of facts; NULL if there is none. */
static const struct baro_fact *fact_of(int rows, int i)
{
    return rows == BARO_ROWS_PHASE ? baro_timeline_fact(i) : rows == BARO_ROWS_STEP ? baro_steps_fact(i) : NULL;
}

static unsigned rows_of(int kind)
{
    unsigned cores = baro_derived_find(kind, "cores") >= 0 ? CORES : 0;
    switch (kind) {
    case BARO_ROWS_EVENT: return OF_EVENT;
    case BARO_ROWS_PHASE: return OF_PHASE;
    case BARO_ROWS_STEP: return OF_STEP;
    case BARO_KIND_PROCESS: return OF_PROCESS | cores;
    case BARO_KIND_JOB: return OF_JOB | cores;
    case BARO_KIND_EXIT: return OF_EXIT;
    case BARO_KIND_RECORDER: return 0;
    case BARO_KIND_HOST: return OF_HOST | cores;
    default: return kind < BARO_KIND_DIRECTORY ? OF_ENTITY | cores : OF_OTHER;
    }
}

bool columns_identity(int rows, const char *name)
{
    for (size_t i = 0; i < IDENTITIES; i++) {
        const char *alias = identities[i].alias;
        if ((identities[i].rows & rows_of(rows)) &&
            (strcasecmp(identities[i].name, name) == 0 || (alias && strcasecmp(alias, name) == 0)))
            return true;
    }
    return false;
}

static bool has_rows(const struct baro_tape *tape, int rows)
{
    return rows == BARO_ROWS_EVENT || rows == BARO_ROWS_PHASE || rows == BARO_ROWS_STEP ||
           (rows >= 0 && rows < baro_tape_kind_count(tape) && rows_of(rows));
}

int baro_rows_find(const struct baro_tape *tape, const char *name)
{
    if (strcmp(name, "event") == 0)
        return BARO_ROWS_EVENT;
    if (strcmp(name, "phase") == 0)
        return BARO_ROWS_PHASE;
    if (strcmp(name, "step") == 0)
        return BARO_ROWS_STEP;
    int kind = baro_tape_kind_find(tape, name);
    return kind >= 0 && rows_of(kind) ? kind : -1;
}

static int add_column(struct baro_columns *c, struct baro_column column)
{
    if ((c->n & (c->n - 1)) == 0) { /* at each power of two */
        struct baro_column *at = realloc(c->at, (c->n ? 2 * c->n : 1) * sizeof(*at));
        if (!at)
            return -ENOMEM;
        c->at = at;
    }
    c->at[c->n++] = column;
    return 0;
}

static int add_metric(struct baro_columns *c, const struct baro_tape *tape, int kind, int id, enum baro_column_kind as)
{
    const struct baro_metric *m = baro_tape_metric(tape, kind, id);
    return add_column(c, (struct baro_column){columns_metric_name(c, m, kind, id), as, id, m, NULL});
}

/* A column of reasons has a name of its own, which the selection owns; it is not a metric's name. */
static int add_reason_of(struct baro_columns *c, struct baro_column column)
{
    const char *of = column.name;
    size_t len = strlen(of);
    struct column_name *name = malloc(sizeof(*name) + len + sizeof(REASON));
    if (!name)
        return -ENOMEM;
    memcpy(name->text, of, len);
    memcpy(name->text + len, REASON, sizeof(REASON));
    name->next = c->names;
    c->names = name;
    column.name = name->text;
    return add_column(c, column);
}

static int add_reason(struct baro_columns *c, const struct baro_tape *tape, int kind, int id, enum baro_column_kind as)
{
    const struct baro_metric *m = baro_tape_metric(tape, kind, id);
    return add_reason_of(c, (struct baro_column){columns_metric_name(c, m, kind, id), as, id, m, NULL});
}

static int add_fact(struct baro_columns *c, int fact)
{
    const struct baro_fact *is = fact_of(c->rows, fact);
    return add_column(c, (struct baro_column){is->name, BARO_COLUMN_FACT, fact, NULL, is});
}

/* Was the metric asked for when the tape was recorded? True also of metrics that only the tape's writer knew. */
static bool asked(const struct baro_tape *tape, int kind, int id)
{
    return kind != BARO_KIND_PROCESS || id >= baro_metric_count(BARO_KIND_PROCESS) ||
           baro_header_wants(baro_tape_header(tape), id);
}

static int add_all(struct baro_columns *c, const struct baro_tape *tape)
{
    int code = 0, kind = c->rows;
    for (size_t i = 0; i < IDENTITIES && code == 0; i++) {
        bool shown = identities[i].shown || (identities[i].kind == BARO_COLUMN_OWNER && kind == KIND_gpu_process);
        if (shown && (identities[i].rows & rows_of(kind)))
            code = add_column(c, (struct baro_column){identities[i].name, identities[i].kind, -1, NULL, NULL});
    }
    for (int id = 0; code == 0 && id < baro_tape_metric_count(tape, kind); id++) {
        if (asked(tape, kind, id))
            code = add_metric(c, tape, kind, id, BARO_COLUMN_METRIC);
    }
    for (int fact = 0; code == 0 && fact_of(kind, fact); fact++)
        code = add_fact(c, fact);
    for (int id = 0; kind == BARO_KIND_JOB && code == 0 && id < baro_metric_count(BARO_KIND_PROCESS); id++) {
        if (baro_metric_adds_up(id) && asked(tape, BARO_KIND_PROCESS, id))
            code = add_metric(c, tape, BARO_KIND_PROCESS, id, BARO_COLUMN_SUM);
    }
    return code;
}

/* Finds the metric or the sum that a word names. Returns its id or -1. */
static int find_metric(const struct baro_columns *c, const struct baro_tape *tape, struct span word, bool *ret_sum)
{
    char name[METRIC_TEXT_MAX + 1];
    *ret_sum = false;
    if (word.len >= sizeof(name))
        return -1;
    memcpy(name, word.at, word.len);
    name[word.len] = 0;
    int id = baro_tape_metric_find(tape, c->rows, name);
    id = id >= 0 ? id : columns_find_made(c, name);
    if (id >= 0 || c->rows != BARO_KIND_JOB)
        return id;
    id = baro_tape_metric_find(tape, BARO_KIND_PROCESS, name);
    *ret_sum = baro_metric_adds_up(id);
    return *ret_sum ? id : -1;
}

static int find_fact(int rows, struct span word)
{
    const struct baro_fact *is;
    for (int fact = 0; (is = fact_of(rows, fact)); fact++) {
        if (span_equal(word, is->name))
            return fact;
    }
    return -1;
}

/* 1: added, 0: no such column, negative: error */
static int add_word_of_facts(struct baro_columns *c, struct span word)
{
    const size_t tail = strlen(REASON);
    bool is_reason = word.len > tail && memcmp(word.at + word.len - tail, REASON, tail) == 0;
    int fact = find_fact(c->rows, is_reason ? span_of(word.at, word.len - tail) : word);
    if (fact < 0)
        return 0;
    const struct baro_fact *is = fact_of(c->rows, fact);
    int code = is_reason ? add_reason_of(c, (struct baro_column){is->name, BARO_COLUMN_FACT_REASON, fact, NULL, is})
                         : add_fact(c, fact);
    return code < 0 ? code : 1;
}

/* 1: added, 0: no such column, negative: error */
static int add_word(struct baro_columns *c, const struct baro_tape *tape, struct span word)
{
    const size_t tail = strlen(REASON);
    bool is_sum;
    int id = find_metric(c, tape, word, &is_sum), kind = is_sum ? BARO_KIND_PROCESS : c->rows, code;
    if (id >= 0) {
        code = add_metric(c, tape, kind, id, is_sum ? BARO_COLUMN_SUM : BARO_COLUMN_METRIC);
        return code < 0 ? code : 1;
    }
    id = derive_find(c->rows, word.at, word.len);
    if (id >= 0) {
        code = add_column(
            c, (struct baro_column){baro_derived_get(c->rows, id)->name, BARO_COLUMN_DERIVED, id, NULL, NULL});
        return code < 0 ? code : 1;
    }
    if (word.len <= tail || memcmp(word.at + word.len - tail, REASON, tail) != 0)
        return 0;
    id = find_metric(c, tape, span_of(word.at, word.len - tail), &is_sum);
    if (id < 0)
        return 0;
    kind = is_sum ? BARO_KIND_PROCESS : c->rows;
    code = add_reason(c, tape, kind, id, is_sum ? BARO_COLUMN_SUM_REASON : BARO_COLUMN_REASON);
    return code < 0 ? code : 1;
}

static int add_named(struct baro_columns *c, const struct baro_tape *tape, struct span word)
{
    for (size_t i = 0; i < IDENTITIES; i++) {
        bool named =
            span_equal(word, identities[i].name) || (identities[i].alias && span_equal(word, identities[i].alias));
        if (!named || !(identities[i].rows & rows_of(c->rows)))
            continue;
        int code = add_column(c, (struct baro_column){identities[i].name, identities[i].kind, -1, NULL, NULL});
        return code < 0 ? code : 1;
    }
    return fact_of(c->rows, 0) ? add_word_of_facts(c, word) : add_word(c, tape, word);
}

static int add_list(struct baro_columns *c, const char *list, const struct baro_tape *tape, struct baro_error *err)
{
    for (;;) {
        struct span word = span_of(list, strcspn(list, ","));
        int code = add_named(c, tape, word);
        if (code == 0)
            return error_set(err, BARO_E_SYNTAX, "there is no column '%.*s' in these rows",
                             word.len < 64 ? (int)word.len : 63, word.at);
        if (code < 0)
            return code;
        list += word.len;
        if (!*list)
            return 0;
        list++;
    }
}

int baro_columns_new(struct baro_columns **ret, const struct baro_tape *tape, int rows, const char *list,
                     struct baro_error *err)
{
    if (!has_rows(tape, rows))
        return error_set(err, BARO_E_RANGE, "a tape has no rows of the kind %d", rows);
    struct baro_columns *c = calloc(1, sizeof(*c));
    int code = c ? 0 : -ENOMEM;
    if (c)
        c->rows = rows;
    if (code == 0)
        code = columns_make_names(c, tape);
    if (code == 0)
        code = list ? add_list(c, list, tape, err) : add_all(c, tape);
    if (code == 0) {
        *ret = c;
        return 0;
    }
    baro_columns_free(c);
    return code == -ENOMEM ? error_set(err, code, "out of memory") : code;
}

void baro_columns_free(struct baro_columns *c)
{
    if (!c)
        return;
    while (c->names) {
        struct column_name *name = c->names;
        c->names = name->next;
        free(name);
    }
    for (int i = 0; i < c->n_made; i++)
        free(c->made[i]);
    free(c->made);
    free(c->at);
    free(c);
}

size_t baro_columns_count(const struct baro_columns *c)
{
    return c->n;
}

const struct baro_column *baro_columns_get(const struct baro_columns *c, size_t i)
{
    return i < c->n ? &c->at[i] : NULL;
}

/* ---- names ---- */

struct names {
    const char **at;
    size_t n, room;
};

static void note_name(struct names *names, const char *name)
{
    if (names->n < names->room)
        names->at[names->n] = name;
    names->n++;
}

static void note_metric(struct names *names, const struct baro_metric *m)
{
    note_name(names, m->name);
    note_name(names, m->stem);
}

size_t baro_columns_names(const struct baro_tape *tape, int rows, const char **ret, size_t n)
{
    struct names names = {ret, 0, n};
    if (!has_rows(tape, rows))
        return 0;
    for (size_t i = 0; i < IDENTITIES; i++) {
        if (identities[i].rows & rows_of(rows))
            note_name(&names, identities[i].name);
    }
    for (int id = 0; id < baro_tape_metric_count(tape, rows); id++)
        note_metric(&names, baro_tape_metric(tape, rows, id));
    for (int i = 0; i < baro_derived_count(rows); i++)
        note_name(&names, baro_derived_get(rows, i)->name);
    for (int fact = 0; fact_of(rows, fact); fact++)
        note_name(&names, fact_of(rows, fact)->name);
    for (int id = 0; rows == BARO_KIND_JOB && id < baro_metric_count(BARO_KIND_PROCESS); id++) {
        if (baro_metric_adds_up(id))
            note_metric(&names, baro_metric_get(BARO_KIND_PROCESS, id));
    }
    return names.n;
}
