/* SPDX-License-Identifier: Apache-2.0 */
/* baro export --format sqlite: baro-read has checked the options. */
#include <stdio.h>

#include "output/rows/row.h"
#include "programs/baro-sqlite/database.h"
#include "programs/common/cli.h"
#include "programs/common/output.h"
#include "programs/common/tape_args.h"

struct exporting {
    const struct settings *settings;
    struct baro_tape *tape;
    struct database *database;
    struct users users;
    uint64_t damage; /* bytes of the tape that were left out */
    struct baro_error err;
};

static int add_kind(struct exporting *x, const char *name)
{
    struct baro_arrow_options options = BARO_ARROW_OPTIONS_INIT;
    struct ArrowArrayStream rows;
    options.user = users_name;
    options.user_context = &x->users;
    int r = baro_tape_arrow(x->tape, baro_rows_find(x->tape, name), x->settings->columns, &options, &rows, &x->err);
    if (r < 0)
        return r;
    r = database_add(x->database, name, &rows, &x->err);
    uint64_t damage = baro_arrow_damage(&rows);
    x->damage = damage > x->damage ? damage : x->damage;
    rows.release(&rows);
    return r;
}

/* Writes the kind that was named, or else all kinds. */
static int add_kinds(struct exporting *x)
{
    const char *names[192];
    int r = 0;
    if (x->settings->entity || x->settings->columns)
        return add_kind(x, x->settings->entity ? x->settings->entity : "process");
    row_kind_names(x->tape, names, sizeof(names) / sizeof(*names));
    for (size_t i = 0; r == 0 && names[i]; i++)
        r = add_kind(x, names[i]);
    return r;
}

static int write_file(struct exporting *x, struct output *out)
{
    char nameless[32];
    snprintf(nameless, sizeof(nameless), "/proc/self/fd/%d", out->fd);
    int r = baro_tape_read_kinds(x->tape, &x->err);
    if (r == 0)
        r = database_open(&x->database, *out->temporary ? out->temporary : nameless, &x->err);
    if (r == 0)
        r = database_describe(x->database, x->tape, &x->err);
    if (r == 0)
        r = add_kinds(x);
    if (r == 0)
        r = database_finish(x->database, &x->err);
    database_close(x->database);
    return r == 0 ? output_commit(out, &x->err) : r;
}

int cmd_export(struct cli *cli, const struct settings *s, char **argv)
{
    struct exporting x = {.settings = s};
    struct reader_path path;
    struct output out;
    if (!s->output)
        return cli_failf(cli, "--format sqlite: -o FILE is missing");
    int status = reader_open(cli, argv[0], &x.tape, &path);
    if (status)
        return status;
    if (output_open(&out, s->output, s->force, false, &x.err) < 0 || write_file(&x, &out) < 0)
        status = cli_fail(cli, &x.err);
    output_done(&out);
    if (!status && x.damage)
        cli_note(cli, "%llu bytes of the tape are damaged and were left out", (unsigned long long)x.damage);
    baro_tape_close(x.tape);
    return status;
}
