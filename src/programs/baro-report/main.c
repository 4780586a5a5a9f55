/* SPDX-License-Identifier: Apache-2.0 */
/* The program baro-report: the commands that draw. `baro report` executes it as `baro-report report`. */
#include "programs/common/cli.h"

int main(int argc, char **argv)
{
    return cli_reader_main(argc, argv);
}
