/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "output/rows/wrap.h"
#include "programs/common/cli.h"

/* Stands in the overview and in the help of commands that use the folder of kept runs. */
static void environment(struct buf *b)
{
    buf_str(b, "environment:\n"
               "  BARO_DIR  the folder of the kept runs (default: $XDG_STATE_HOME/barograph, or "
               "~/.local/state/barograph)\n"
               "  BARO_ANNOUNCED  the folder in which runs are announced to baro serve (default: "
               "$XDG_RUNTIME_DIR/barograph/runs; for root without that /run/barograph/runs; empty: none)\n"
               "  BARO_KEEP  how many runs are kept, and how much space they may take, such as \"200 runs,1GB\" "
               "(default: 500 runs and 2 GB; the oldest are removed first)\n"
               "  NO_COLOR  if set and not empty, nothing is coloured\n");
}

void cli_overview(const struct cli *cli, struct buf *b)
{
    buf_str(b, "baro records what a job and all its processes use of a machine, at a cost that nobody notices.\n\n"
               "usage: baro COMMAND [OPTION...]\n\n");
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        if (!c->hidden)
            buf_printf(b, "  %-11s%s\n", c->name, c->summary);
    }
    buf_str(b, "\nStart with `baro run -- COMMAND`, then `baro summary`, `baro show` and `baro export`.\n"
               "`baro COMMAND --help` explains a command and has examples; `baro --version` prints the version.\n\n");
    environment(b);
    wrap_lines(b, 0, cli->width < 100 ? cli->width : 100);
}

/* Paragraphs, and the lines of a list. */
static void about(const struct cli_command *c, unsigned width, struct buf *b)
{
    if (!c->about)
        return;
    buf_byte(b, '\n');
    for (const char *p = c->about; *p;) {
        size_t n = strcspn(p, "\n");
        wrap_words(b, p, n, 0, p[0] == '-' ? 2 : 0, width);
        buf_byte(b, '\n');
        p += n + (p[n] == '\n');
    }
}

static void examples(const struct cli_command *c, unsigned width, struct buf *b)
{
    if (!c->examples)
        return;
    buf_str(b, "\nexamples:\n");
    for (const char *p = c->examples; *p;) {
        size_t command = strcspn(p, "\t"), n = strcspn(p, "\n");
        buf_str(b, "  ");
        wrap_words(b, p, command, 2, 8, width);
        buf_str(b, "\n      ");
        wrap_words(b, p + command + 1, n - command - 1, 6, 6, width);
        buf_byte(b, '\n');
        p += n + (p[n] == '\n');
    }
}

void cli_usage(const struct cli *cli, const struct cli_command *c, struct buf *b)
{
    size_t from = b->len;
    unsigned width = cli->width < 100 ? cli->width : 100;
    buf_printf(b, "usage: baro %s [OPTION...]%s%s\n\n", c->name, *c->operands ? " " : "", c->operands);
    buf_printf(b, "%c%s.\n\n", c->summary[0] - 'a' + 'A', c->summary + 1);
    wrap_lines(b, from, width);
    opt_help(c->options, width, b);
    about(c, width, b);
    examples(c, width, b);
    if (c->kept) {
        buf_byte(b, '\n');
        from = b->len;
        environment(b);
        wrap_lines(b, from, width);
    }
}

static int print_help(const struct cli *cli, struct buf *b)
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
        return print_help(cli, &b);
    }
    const struct cli_command *c = cli_find(argv[0]);
    if (!c)
        return cli_failf(cli, "there is no command %s; `baro help` lists all", argv[0]);
    cli_usage(cli, c, &b);
    return print_help(cli, &b);
}
