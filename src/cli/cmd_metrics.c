/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/cli.h"
#include "encode/json.h"
#include "encode/table.h"
#include "metric/ids.h"

static void as_json(struct buf *out)
{
    struct json j = {.out = out, .pretty = true};
    json_begin(&j, '[');
    for (int kind = 0; kind < BARO_KIND_MAX; kind++) {
        for (int id = 0; id < baro_metric_count((enum baro_kind)kind); id++) {
            const struct baro_metric *m = baro_metric_get((enum baro_kind)kind, id);
            const char *const members[][2] = {
                {"kind", baro_kind_name((enum baro_kind)kind)},
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

static void as_text(const struct cli *cli, struct buf *out)
{
    struct table t = {.columns = 4, .drop = {2, 0}, .n_drop = 2, .wrap = true};
    for (int kind = 0; kind < BARO_KIND_MAX; kind++) {
        for (int id = 0; id < baro_metric_count((enum baro_kind)kind); id++) {
            const struct baro_metric *m = baro_metric_get((enum baro_kind)kind, id);
            table_text(&t, baro_kind_name((enum baro_kind)kind));
            table_text(&t, m->name);
            table_text(&t, baro_semantics_name(m->semantics));
            table_text(&t, m->help);
        }
    }
    table_print(&t, cli->tty ? cli->width : 0, out);
    table_done(&t);
}

int cmd_metrics(struct cli *cli, const struct settings *s, char **argv)
{
    struct buf out = {0};
    (void)argv;
    if (s->json)
        as_json(&out);
    else
        as_text(cli, &out);
    int status = cli_out(cli, &out);
    buf_done(&out);
    return status;
}
