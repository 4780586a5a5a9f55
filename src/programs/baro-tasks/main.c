/* SPDX-License-Identifier: Apache-2.0 */
/* The program baro-tasks: it reads task files. `baro tasks` executes it as `baro-tasks tasks`. */
#include "programs/common/cli.h"

int main(int argc, char **argv)
{
    return cli_reader_main(argc, argv);
}
