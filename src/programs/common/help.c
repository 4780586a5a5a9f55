/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "output/rows/wrap.h"
#include "programs/common/cli.h"
#include "programs/common/find_program.h"

#define PROSE_MOST (256u << 10)

/* Stands in the overview and in the help of commands that use the folder of kept runs. */
static void environment(struct buf *b)
{
    buf_str(b,
            "environment:\n"
            "  BARO_DIR  the folder of the kept runs (default: $XDG_STATE_HOME/barograph, or "
            "~/.local/state/barograph)\n"
            "  BARO_ANNOUNCED  the folder in which runs are announced to baro serve (default: "
            "$XDG_RUNTIME_DIR/barograph/runs; for root without that /run/barograph/runs; empty: none)\n"
            "  BARO_KEEP  how many runs are kept, and how much space they may take, such as \"200 runs,1GB\" "
            "(default: 500 runs and 2 GB; the oldest are removed first)\n"
            "  COLUMNS  how wide text is (default: the terminal, else 100). Without it and without a terminal names in "
            "tables are not cut\n"
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

/* Reads docs/help.md, as it is installed beside the programs that read tapes. A baro that was copied elsewhere has the
 * short help alone. */
static void read_prose(struct buf *ret)
{
    static const char *const files[] = {BARO_LIBEXEC "/baro-help.md", "baro-help.md"};
    char path[PATH_MAX];
    ssize_t n = -1;
    for (size_t i = 0; n < 0 && i < 2; i++) {
        if (buf_reserve(ret, PROSE_MOST) && program_beside(files[i], path))
            n = fd_read_file(AT_FDCWD, path, ret->at, PROSE_MOST);
    }
    ret->len = n < 0 ? 0 : (size_t)n;
}

static void end_paragraph(struct buf *paragraph, bool *gap, unsigned width, struct buf *b)
{
    if (!paragraph->len || paragraph->failed)
        return;
    if (*gap)
        buf_byte(b, '\n');
    wrap_words(b, (const char *)paragraph->at, paragraph->len, 0, paragraph->at[0] == '-' ? 2 : 0, width);
    buf_byte(b, '\n');
    buf_clear(paragraph);
    *gap = false;
}

/* Adds the paragraphs and items of the sections whose heading names the command and no option. */
static void about(const struct cli_command *c, unsigned width, struct buf *b)
{
    struct buf prose = {0}, paragraph = {0};
    struct span line;
    bool is_ours = false, gap = true;
    read_prose(&prose);
    for (struct span rest = span_of(prose.at, prose.len); scan_line(&rest, &line);) {
        bool is_heading = span_starts(line, "# ");
        if (is_heading || !line.len || span_starts(line, "- "))
            end_paragraph(&paragraph, &gap, width, b);
        gap |= is_heading || !line.len;
        scan_blanks(&line);
        if (is_heading)
            is_ours = span_has_word(line, c->name) && !memmem(line.at, line.len, " --", 3);
        else if (is_ours && line.len)
            buf_printf(&paragraph, "%s%.*s", paragraph.len ? " " : "", (int)line.len, (const char *)line.at);
    }
    end_paragraph(&paragraph, &gap, width, b);
    buf_done(&prose);
    buf_done(&paragraph);
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

int cmd_help(struct cli *cli, const struct settings *s, char **argv)
{
    struct buf b = {0};
    (void)s;
    if (!argv[0]) {
        cli_overview(cli, &b);
        return cli_out_done(cli, &b);
    }
    const struct cli_command *c = cli_find(argv[0]);
    if (!c)
        return cli_failf(cli, "there is no command %s; `baro help` lists all", argv[0]);
    cli_usage(cli, c, &b);
    return cli_out_done(cli, &b);
}
