/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/json.h"
#include "encode/table.h"
#include "reader/reader.h"

/* Kinds and metrics of the library, or of a tape, which may have more. */
static int kinds_of(const struct baro_tape *tape)
{
    return tape ? baro_tape_kind_count(tape) : baro_kind_count();
}

static const char *kind_name(const struct baro_tape *tape, int kind)
{
    return tape ? baro_tape_kind_name(tape, kind) : baro_kind_name(kind);
}

static const struct baro_metric *metric_of(const struct baro_tape *tape, int kind, int id)
{
    return tape ? baro_tape_metric(tape, kind, id) : baro_metric_get(kind, id);
}

static int count_of(const struct baro_tape *tape, int kind)
{
    return tape ? baro_tape_metric_count(tape, kind) : baro_metric_count(kind);
}

static void as_json(const struct baro_tape *tape, struct buf *out)
{
    struct json j = {.out = out, .pretty = true};
    json_begin(&j, '[');
    for (int kind = 0; kind < kinds_of(tape); kind++) {
        for (int id = 0; id < count_of(tape, kind); id++) {
            const struct baro_metric *m = metric_of(tape, kind, id);
            const char *const members[][2] = {
                {"kind", kind_name(tape, kind)},
                {"name", m->name},
                {"stem", m->stem},
                {"unit", baro_unit_name(m->unit)},
                {"semantics", baro_semantics_name(m->semantics)},
                {"source", m->file},
                {"help", m->help},
            };
            json_begin(&j, '{');
            for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
                json_key(&j, members[i][0]);
                json_text(&j, members[i][1]);
            }
            json_end(&j, '}');
        }
    }
    json_end(&j, ']');
}

static void text_cell(struct table *t, const char *text)
{
    struct buf b = {0};
    buf_escaped(&b, text, strlen(text));
    table_take(t, &b);
    buf_done(&b);
}

static void as_text(const struct cli *cli, const struct baro_tape *tape, struct buf *out)
{
    struct table t = {.columns = 4, .drop = {2, 0}, .n_drop = 2, .wrap = true};
    for (int kind = 0; kind < kinds_of(tape); kind++) {
        for (int id = 0; id < count_of(tape, kind); id++) {
            const struct baro_metric *m = metric_of(tape, kind, id);
            text_cell(&t, kind_name(tape, kind));
            text_cell(&t, m->name);
            text_cell(&t, baro_semantics_name(m->semantics));
            text_cell(&t, m->help);
        }
    }
    table_print(&t, cli->tty ? cli->width : 0, out);
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
