/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"

const struct cli_command cli_commands[] = {
    {"run", "[--] COMMAND [ARGUMENT...]", "record a command and all that it starts",
     "Runs COMMAND and records what it and all its descendants use, down to processes that live a millisecond or leave the "
     "tree. The command is not disturbed: it keeps the terminal, its descriptors, its environment (plus BARO_*), its limits "
     "and its signals, and baro ends as the command ended, by the same status or the same signal.\n\n"
     "At the end a short summary goes to standard error. The tape can be read while the command runs, and survives whatever "
     "ends the recorder.",
     options_run, cmd_run, CLI_RUN_FAILED, 1, -1, true, false},
    {"record", "--pid PID [--pid PID...]", "record processes that run already, with their descendants",
     "Attaches to running processes and records them and their descendants until the last of them has ended, or until INT or "
     "TERM. The processes are never signalled or stopped. Totals count from the moment of attaching; what was used before is "
     "told apart.",
     options_record, cmd_record, CLI_FAILED, 0, 0, false, false},
    {"help", "[COMMAND]", "help on a command", NULL, options_none, cmd_help, CLI_FAILED, 0, 1, false, false},
    {.name = NULL},
};

const struct cli_command *cli_find(const char *name)
{
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        if (strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}
