/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "baro/baro.h"
#include "base/fd.h"
#include "programs/baro/programs.h"
#include "programs/common/cli.h"

/* Handles words that are not a command of this program. */
static int other_program(struct cli *cli, char **argv)
{
    int status;
    const char *word = argv[1];
    if (cli->command)
        return programs_execute(cli, argv);
    return programs_other(cli, word, argv + 1, &status) ? status : cli_unknown(cli, word);
}

int main(int argc, char **argv)
{
    struct cli cli = {.before = {.pid = getpid()}};
    struct settings settings;
    struct buf b = {0};
    clock_process_cpu_ns(0, &cli.before.cpu_ns);
    fd_hold_standard(); /* opens those of 0, 1 and 2 that are closed, so that no file of ours gets their numbers */
    cli_init(&cli);
    const char *word = argc > 1 ? argv[1] : "--help";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        cli_overview(&cli, &b);
        return cli_out_done(&cli, &b);
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        buf_printf(&b, "baro %s\n", baro_version());
        return cli_out_done(&cli, &b);
    }
    if (word[0] == '-')
        return cli_failf(&cli, "unknown option %s; options stand after the command, `baro help` lists all", word);
    cli.command = cli_find(word);
    if (!cli.command || !cli.command->function)
        return other_program(&cli, argv);
    settings_init(&settings);
    return cli_run(&cli, &settings, argv + 2);
}
