/* SPDX-License-Identifier: Apache-2.0 */
/* The program baro-read: the commands that read tapes. `baro summary` executes it as `baro-read summary`. */
#include "programs/common/cli.h"

int main(int argc, char **argv)
{
    return cli_reader_main(argc, argv);
}
