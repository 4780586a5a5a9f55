/* SPDX-License-Identifier: Apache-2.0 */
/* From words to a command with its settings. */
#ifdef READERS_STATIC
#endif

#include <signal.h>

#include "base/fd.h"
#include "programs/common/cli.h"

int cli_unknown(const struct cli *cli, const char *word)
{
    const char *names[32];
    size_t n = 0;
    for (const struct cli_command *c = cli_commands; c->name && n < 31; c++) {
        if (!c->hidden)
            names[n++] = c->name;
    }
    names[n] = NULL;
    const char *near = opt_nearest(word, names);
    if (near)
        return cli_failf(cli, "there is no command %s; did you mean %s? (`baro help` lists all)", word, near);
    return cli_failf(cli, "there is no command %s; `baro help` lists all, `baro run -- %s` records it", word, word);
}

static int check_operands(const struct cli *cli, char **argv, int n)
{
    const struct cli_command *c = cli->command;
    if (n < c->operands_min)
        return cli_failf(cli, "%s is missing; usage: baro %s %s", c->stop_early ? "the command" : "an operand", c->name,
                         c->operands);
    if (c->operands_max >= 0 && n > c->operands_max)
        return cli_failf(cli, "unexpected %s; usage: baro %s [OPTION...] %s", argv[c->operands_max], c->name,
                         c->operands);
    return 0;
}

int cli_run(struct cli *cli, struct settings *settings, char **argv)
{
    struct baro_error err = BARO_ERROR_INIT;
    bool help;
    if (!cli->command->stop_early) /* no command inherits it: a limit of the size of files is an error (EFBIG) */
        signal(SIGXFSZ, SIG_IGN);
    cli->settings = settings;
    int n = opt_parse(cli->command->options, argv, cli->command->stop_early, settings, &help, &err);
    if (n < 0)
        return cli_fail(cli, &err);
    if (help) {
        struct buf b = {0};
        cli_usage(cli, cli->command, &b);
        return cli_out_done(cli, &b);
    }
    int status = check_operands(cli, argv, n);
    return status ? status : cli->command->function(cli, settings, argv);
}

int cli_reader_main(int argc, char **argv)
{
    struct cli cli = {.command = NULL};
    struct settings settings;
    fd_hold_standard();
#ifdef READERS_STATIC
    /* Names of users are those of /etc/passwd: other modules of NSS belong to the libc that the system has. */
    __nss_configure_lookup("passwd", "files");
#endif
    cli_init(&cli);
    settings_init_reading(&settings);
    if (argc < 2)
        return cli_failf(&cli, "no command is given; `baro help` lists all");
    cli.command = cli_find(argv[1]);
    if (!cli.command || !cli.command->function)
        return cli_unknown(&cli, argv[1]);
    int status = cli_run(&cli, &settings, argv + 2);
    buf_done(&settings.tasks.lines);
    return status;
}
