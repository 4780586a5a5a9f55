/* SPDX-License-Identifier: Apache-2.0 */
/* The program baro-read: the commands that read tapes. `baro summary` executes it as `baro-read summary`. */
#include <string.h>

#include "base/fd.h"
#include "command/cli.h"

int main(int argc, char **argv)
{
    struct cli cli = {.command = NULL};
    struct settings settings;
    fd_hold_standard();
    cli_init(&cli);
    settings_init_reading(&settings);
    if (argc < 2)
        return cli_failf(&cli, "no command is given; `baro help` lists all");
    cli.command = cli_find(argv[1]);
    if (!cli.command || !cli.command->function)
        return cli_unknown(&cli, argv[1]);
    return cli_run(&cli, &settings, argv + 2);
}
