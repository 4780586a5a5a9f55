/* SPDX-License-Identifier: Apache-2.0 */
/* What commands of the command line share. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "baro/error.h"
#include "base/buf.h"
#include "cli/opt.h"
#include "cli/settings.h"
#include "report/report.h"
#include "run/filter.h"

#define CLI_FAILED 2       /* of baro itself, in all commands but one */
#define CLI_RUN_FAILED 125 /* in run, whose other statuses are the command's */

struct cli;

/* A command's function. argv holds the operands alone, NULL-terminated. It returns the exit status. */
typedef int cli_function(struct cli *cli, const struct settings *s, char **argv);

struct cli_command {
    const char *name;
    const char *operands; /* for the usage line, after the options */
    const char *summary;  /* one line */
    const char *about;    /* paragraphs for help and the man page, separated by an empty line */
    const struct opt *options;
    cli_function *function;
    int failed;           /* exit status of a failure of our own */
    int operands_min, operands_max; /* -1: any number */
    bool stop_early;      /* options end at the first operand */
    bool hidden;
};

struct cli {
    const struct cli_command *command;
    bool tty;       /* standard output is a terminal */
    bool tty_err;   /* standard error is one */
    bool utf8;      /* the locale can show more than ASCII */
    bool color;     /* standard output may be coloured */
    bool color_err; /* standard error may be */
    unsigned width, width_err; /* columns of each */
    struct filter filter;      /* of run: what must not be called */
    unsigned height;           /* lines of standard output; 0: it is no terminal, or not known */
};

/* One line on standard error: "baro COMMAND: text". Returns the command's status for failures. */
int cli_fail(const struct cli *cli, const struct baro_error *err);
__attribute__((format(printf, 2, 3))) int cli_failf(const struct cli *cli, const char *format, ...);
__attribute__((format(printf, 2, 3))) void cli_note(const struct cli *cli, const char *format, ...);

/* Writes a buffer to standard output and empties it. Returns 0, or the status of a failure that it has reported. */
int cli_out(const struct cli *cli, struct buf *b);
/* The same for what people read: in ASCII where the locale has no more. */
int cli_out_text(const struct cli *cli, struct buf *b);

/* How a summary is to be printed on standard error. */
struct report_style report_style_of(const struct cli *cli);

/* Finds out about the terminal; called once. */
void cli_init(struct cli *cli);
/* How large the terminal is now. */
void cli_resize(struct cli *cli);

/* The one table of commands, ended by an entry without a name. */
extern const struct cli_command cli_commands[];
const struct cli_command *cli_find(const char *name);
void cli_usage(const struct cli *cli, const struct cli_command *c, struct buf *ret);
void cli_overview(const struct cli *cli, struct buf *ret);

/* cmd_run.c, cmd_record.c. They read s->record alone: it is complete and checked (units, metrics, pids). cmd_run() is
 * called before anything was printed or opened, so stdio has nothing buffered; argv is the command. It returns 125 for
 * a failure of our own (say it with cli_fail()), and otherwise ends as the command ended, or returns its status. */
cli_function cmd_run, cmd_record;
cli_function cmd_summary, cmd_show, cmd_export, cmd_ls, cmd_rm, cmd_metrics, cmd_doctor, cmd_docs, cmd_help;

#endif
