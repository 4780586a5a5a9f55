/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "command/cli.h"
#include "encode/wrap.h"

/* Stands in the overview and in the help of commands that use the folder of kept runs. */
static void environment(struct buf *b)
{
    buf_str(b,
            "environment:\n"
            "  BARO_DIR the folder of the kept runs (default: $XDG_STATE_HOME/barograph, or ~/.local/state/barograph)\n"
            "  BARO_KEEP how many runs are kept, and how much they may take: \"200 runs,1GB\" (default: 500 runs and 2 "
            "GB; the oldest go first)\n"
            "  NO_COLOR if set and not empty, nothing is coloured\n");
}

void cli_overview(const struct cli *cli, struct buf *b)
{
    buf_str(b, "baro records what a job uses of a machine: every process of it, at a cost nobody notices.\n\n"
               "usage: baro COMMAND [OPTION...]\n\n");
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        if (!c->hidden)
            buf_printf(b, "  %-9s%s\n", c->name, c->summary);
    }
    buf_str(b, "\nStart with `baro run -- COMMAND`, then `baro summary`, `baro show` and `baro export`.\n"
               "`baro COMMAND --help` says more; `baro --version` says which version this is.\n\n");
    environment(b);
    wrap_lines(b, 0, cli->width < 100 ? cli->width : 100);
}

void cli_usage(const struct cli *cli, const struct cli_command *c, struct buf *b)
{
    size_t from = b->len;
    buf_printf(b, "usage: baro %s [OPTION...]%s%s\n\n", c->name, *c->operands ? " " : "", c->operands);
    buf_printf(b, "%c%s.\n\n", c->summary[0] - 'a' + 'A', c->summary + 1);
    wrap_lines(b, from, cli->width < 100 ? cli->width : 100);
    opt_help(c->options, cli->width < 100 ? cli->width : 100, b);
    if (c->about)
        buf_byte(b, '\n');
    for (const char *p = c->about ? c->about : ""; *p;) {
        size_t n = strcspn(p, "\n"), room = cli->width < 100 ? cli->width : 100;
        while (n > room) {
            size_t cut = room;
            while (cut && p[cut] != ' ')
                cut--;
            buf_add(b, p, cut);
            buf_byte(b, '\n');
            p += cut + 1;
            n -= cut + 1;
        }
        buf_add(b, p, n);
        buf_byte(b, '\n');
        p += n + (p[n] == '\n');
    }
    if (c->kept) {
        buf_byte(b, '\n');
        from = b->len;
        environment(b);
        wrap_lines(b, from, cli->width < 100 ? cli->width : 100);
    }
}

static int print(const struct cli *cli, struct buf *b)
{
    int status = cli_out(cli, b);
    buf_done(b);
    return status;
}

int cmd_help(struct cli *cli, const struct settings *s, char **argv)
{
    struct buf b = {0};
    (void)s;
    if (!argv[0]) {
        cli_overview(cli, &b);
        return print(cli, &b);
    }
    const struct cli_command *c = cli_find(argv[0]);
    if (!c)
        return cli_failf(cli, "there is no command %s; `baro help` lists all", argv[0]);
    cli_usage(cli, c, &b);
    return print(cli, &b);
}
