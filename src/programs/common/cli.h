/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs and commands of the command line share. */
#ifndef PROGRAMS_COMMON_CLI_H
#define PROGRAMS_COMMON_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "baro/error.h"
#include "base/buf.h"
#include "base/clock.h"
#include "programs/common/opt.h"
#include "programs/common/settings.h"

#define CLI_FAILED 2       /* status when baro itself fails, in all commands but one */
#define CLI_RUN_FAILED 125 /* in run, whose other statuses are the command's */

struct cli;

/* A command's function. argv holds the operands alone, NULL-terminated. It returns the exit status. */
typedef int cli_function(struct cli *cli, const struct settings *s, char **argv);

struct cli_command {
    const char *name;
    const char *operands; /* for the usage line, after the options */
    const char *summary;  /* one line */
    const char *examples; /* lines of a command line, a tab, and what it does; NULL: none */
    const struct opt *options;
    cli_function *function;         /* NULL: another program has it (programs/baro/programs.h) */
    int failed;                     /* exit status of a failure of our own; 0: CLI_FAILED */
    int operands_min, operands_max; /* -1: any number */
    bool stop_early;                /* options end at the first operand */
    bool hidden;
    bool kept;           /* it uses the folder of kept runs */
    const char *program; /* the program in libexec that has it, if function is NULL; NULL: baro-read */
};

struct cli {
    const struct cli_command *command;
    const struct settings *settings;       /* the command's; NULL before its options were parsed */
    bool tty;                              /* standard output is a terminal */
    bool tty_err;                          /* standard error is one */
    bool utf8;                             /* the locale can show more than ASCII */
    bool color;                            /* standard output may be coloured */
    bool color_err;                        /* standard error may be */
    unsigned width, width_err;             /* columns of each */
    unsigned table_width, table_width_err; /* the same of tables; 0: names are whole, as it is no terminal and COLUMNS
                                              is not set */
    struct clock_before before;            /* in baro alone */
    unsigned height;                       /* lines of standard output; 0: not a terminal, or not known */
};

/* One line on standard error: "baro COMMAND: text". Returns the command's status for failures. */
int cli_fail(const struct cli *cli, const struct baro_error *err);
__attribute__((format(printf, 2, 3))) int cli_failf(const struct cli *cli, const char *format, ...);
__attribute__((format(printf, 2, 3))) void cli_note(const struct cli *cli, const char *format, ...);

/* Writes a buffer to standard output and empties it. Returns 0, or the status of a failure that it has reported. */
int cli_out(const struct cli *cli, struct buf *b);
int cli_out_done(const struct cli *cli, struct buf *b); /* the same, and frees it */
/* The same for what people read: in ASCII where the locale has no more. */
int cli_out_text(const struct cli *cli, struct buf *b);

/* Reads what the terminal and the locale can show; called once, with the other members set. */
void cli_init(struct cli *cli);
/* Reads how large the terminal is now. */
void cli_resize(struct cli *cli);

/* The one table of commands, ended by an entry without a name. */
extern const struct cli_command cli_commands[];
const struct cli_command *cli_find(const char *name);
/* Reports that there is no such command. Returns the exit status. */
int cli_unknown(const struct cli *cli, const char *word);
/* Parses the words behind cli->command and calls its function. Returns the exit status. */
int cli_run(struct cli *cli, struct settings *settings, char **argv);
/* main() of a program that reads tapes: argv[1] is one of its commands. */
int cli_reader_main(int argc, char **argv);
void cli_usage(const struct cli *cli, const struct cli_command *c, struct buf *b);
void cli_overview(const struct cli *cli, struct buf *b);

/* cmd_run() and cmd_record() read s->record only: it is complete and checked (units, metrics, pids). cmd_run() is
 * called before anything was printed or opened, so stdio has nothing buffered; argv is the command. It returns 125 for
 * a failure of our own (reported with cli_fail()), and otherwise ends as the command ended, or returns its status.
 *
 * The commands that record are in baro, those that read tapes in baro-read: in the other program they are NULL. */
__attribute__((weak)) cli_function cmd_run, cmd_record, cmd_observe, cmd_mark, cmd_phase, cmd_doctor, cmd_docs,
    cmd_follow;
__attribute__((weak)) cli_function cmd_summary, cmd_show, cmd_export, cmd_ls, cmd_trend, cmd_advise, cmd_rm,
    cmd_metrics;
__attribute__((weak)) cli_function cmd_report, cmd_diff, cmd_compare, cmd_check, cmd_plot, cmd_top, cmd_tasks,
    cmd_serve, cmd_push, cmd_trim, cmd_thin, cmd_anonymize;
cli_function cmd_help;

#endif
