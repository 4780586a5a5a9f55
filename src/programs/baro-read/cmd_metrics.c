/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/json.h"
#include "output/rows/escaped.h"
#include "output/rows/table.h"
#include "programs/common/tape_args.h"

/* Kinds and metrics: of the library, or of a tape, which may have more. */
static int kinds_of(const struct baro_tape *tape)
{
    return tape ? baro_tape_kind_count(tape) : baro_kind_count();
}

static const char *kind_name(const struct baro_tape *tape, int kind)
{
    return tape ? baro_tape_kind_name(tape, kind) : baro_kind_name(kind);
}

static const struct baro_metric *metric_of_kind(const struct baro_tape *tape, int kind, int id)
{
    return tape ? baro_tape_metric(tape, kind, id) : baro_metric_get(kind, id);
}

static int count_of(const struct baro_tape *tape, int kind)
{
    return tape ? baro_tape_metric_count(tape, kind) : baro_metric_count(kind);
}

static void ids_as_json(struct json *j, const char *key, int kind, const int *id, size_t n)
{
    json_key_begin(j, key, '[');
    for (size_t i = 0; i < n; i++)
        json_text(j, baro_metric_get(kind, id[i])->name);
    json_end(j, ']');
}

static void begin_metric(struct json *j, const char *kind, const char *name, const char *stem, const char *unit,
                         const char *semantics, const char *source, const char *help)
{
    const char *const members[][2] = {{"kind", kind},           {"name", name},     {"stem", stem}, {"unit", unit},
                                      {"semantics", semantics}, {"source", source}, {"help", help}};
    json_begin(j, '{');
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
        json_key_text(j, members[i][0], members[i][1]);
}

/* A derived metric has the members of a recorded one, and what it is computed from. */
static void as_json(const struct baro_tape *tape, struct buf *out)
{
    struct json j = {.out = out, .pretty = true};
    json_begin(&j, '[');
    for (int kind = 0; kind < kinds_of(tape); kind++) {
        for (int id = 0; id < count_of(tape, kind); id++) {
            const struct baro_metric *m = metric_of_kind(tape, kind, id);
            begin_metric(&j, kind_name(tape, kind), m->name, m->stem, baro_unit_name(m->unit),
                         baro_semantics_name(m->semantics), m->file, m->help);
            json_end(&j, '}');
        }
    }
    for (int kind = 0; kind < kinds_of(tape); kind++) {
        for (int i = 0; i < baro_derived_count(kind); i++) {
            const struct baro_derived *d = baro_derived_get(kind, i);
            begin_metric(&j, baro_kind_name(kind), d->name, d->name, d->unit, "derived", "derived", d->help);
            ids_as_json(&j, "from", kind, d->from, d->n_from);
            ids_as_json(&j, "per", kind, d->per, d->n_per);
            json_end(&j, '}');
        }
    }
    json_end(&j, ']');
}

static void put_row(struct table *t, const char *kind, const char *name, const char *semantics, const char *help)
{
    const char *const cells[] = {kind, name, semantics, help};
    struct buf b = {0};
    for (size_t i = 0; i < 4; i++) {
        text_escaped(&b, cells[i], strlen(cells[i]));
        table_take(t, &b);
    }
    buf_done(&b);
}

static void as_text(const struct cli *cli, const struct baro_tape *tape, struct buf *out)
{
    struct table t = {.columns = 4, .drop = {2, 0}, .n_drop = 2, .wrap = true};
    for (int kind = 0; kind < kinds_of(tape); kind++) {
        for (int id = 0; id < count_of(tape, kind); id++) {
            const struct baro_metric *m = metric_of_kind(tape, kind, id);
            put_row(&t, kind_name(tape, kind), m->name, baro_semantics_name(m->semantics), m->help);
        }
    }
    for (int kind = 0; kind < kinds_of(tape); kind++) {
        for (int i = 0; i < baro_derived_count(kind); i++) {
            const struct baro_derived *d = baro_derived_get(kind, i);
            put_row(&t, baro_kind_name(kind), d->name, "derived", d->help);
        }
    }
    table_print(&t, cli->table_width, out);
    table_done(&t);
}

int cmd_metrics(struct cli *cli, const struct settings *s, char **argv)
{
    struct buf out = {0};
    struct baro_tape *tape = NULL;
    struct reader_path path;
    int status = argv[0] ? reader_open(cli, argv[0], &tape, &path) : 0;
    if (status)
        return status;
    struct baro_error err = BARO_ERROR_INIT;
    if (tape && baro_tape_read_kinds(tape, &err) < 0) {
        baro_tape_close(tape);
        return cli_fail(cli, &err);
    }
    if (s->json)
        as_json(tape, &out);
    else
        as_text(cli, tape, &out);
    status = cli_out(cli, &out);
    buf_done(&out);
    baro_tape_close(tape);
    return status;
}
