/* SPDX-License-Identifier: Apache-2.0 */
/* baro docs: the tables of commands, options, metrics and facts, a row on each line, columns with tabs between. The
 * build makes documents of them (tools/make-docs); it is not for people. */
#include "baro/baro.h"
#include "programs/common/cli.h"

static void put_command(struct buf *b, const struct cli_command *c)
{
    buf_printf(b, "command\t%s\t%s\t%s\t%s\n", c->name, c->operands, c->summary, c->stop_early ? "stop" : "");
    for (const char *p = c->examples; p && *p;) {
        size_t n = strcspn(p, "\n");
        buf_printf(b, "example\t%.*s\n", (int)n, p);
        p += n + (p[n] == '\n');
    }
    for (const struct opt *o = c->options; o->name; o++) {
        static const char *const completes[] = {"", "file", "metric", "pid"};
        buf_printf(b, "option\t%s\t%.1s\t%s\t%s\t%s\t", o->name, &o->letter, o->argument ? o->argument : "", o->help,
                   completes[o->completes]);
        for (size_t i = 0; o->choices && o->choices[i]; i++)
            buf_printf(b, "%s%s", i ? " " : "", o->choices[i]);
        buf_byte(b, '\n');
    }
}

static void put_names(struct buf *b, int kind, const int *id, size_t n)
{
    buf_byte(b, '\t');
    for (size_t i = 0; i < n; i++)
        buf_printf(b, "%s%s", i ? " " : "", baro_metric_get(kind, id[i])->name);
}

static void put_kind(struct buf *b, int kind)
{
    for (int i = 0; i < baro_metric_count(kind); i++) {
        const struct baro_metric *m = baro_metric_get(kind, i);
        buf_printf(b, "metric\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", baro_kind_name(kind), m->stem, m->name,
                   baro_unit_name(m->unit), baro_semantics_name(m->semantics), m->file, m->help);
    }
    for (int i = 0; i < baro_derived_count(kind); i++) {
        const struct baro_derived *d = baro_derived_get(kind, i);
        buf_printf(b, "derived\t%s\t%s\t%s\t%s", baro_kind_name(kind), d->name, d->unit, d->help);
        put_names(b, kind, d->from, d->n_from);
        put_names(b, kind, d->per, d->per ? d->n_per : 0);
        buf_byte(b, '\n');
    }
}

static void put_section(struct buf *b, const struct baro_section *section)
{
    static const char *const types[] = {
        [BARO_FACT_UNSIGNED] = "integer", [BARO_FACT_SIGNED] = "integer", [BARO_FACT_REAL] = "number",
        [BARO_FACT_BOOLEAN] = "boolean",  [BARO_FACT_TEXT] = "string",    [BARO_FACT_TIME] = "string"};
    buf_printf(b, "section\t%s\t%s\t%s\n", section->name, section->is_table ? "table" : "", section->help);
    for (int i = section->first_fact; i < section->first_fact + section->fact_count; i++) {
        const struct baro_fact *fact = baro_summary_fact(i);
        buf_printf(b, "fact\t%s\t%s\t%s\t%s\n", fact->name, fact->in_json ? "json" : "", types[fact->type], fact->help);
    }
}

/* When a number may be off. */
static void put_marks(struct buf *b)
{
    static const char *const rows[][4] = {
#define SECTION(id, name, is_table, help) {name},
#define MARK(id, covers, mark, when, help) {NULL, covers, #mark, help},
#include "libbaro/summary/facts.def"
    };
    const char *section = "";
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (rows[i][0])
            section = rows[i][0];
        else
            buf_printf(b, "mark\t%s\t%s\t%s\t%s\n", section, rows[i][1], rows[i][2], rows[i][3]);
    }
}

int cmd_docs(struct cli *cli, const struct settings *s, char **argv)
{
    struct buf b = {0};
    (void)s, (void)argv;
    buf_printf(&b, "version\t%s\n", baro_version());
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        if (!c->hidden)
            put_command(&b, c);
    }
    for (int kind = 0; kind < baro_kind_count(); kind++)
        put_kind(&b, kind);
    for (int i = 0; i < baro_summary_section_count(); i++)
        put_section(&b, baro_summary_section(i));
    put_marks(&b);
    return cli_out_done(cli, &b);
}
