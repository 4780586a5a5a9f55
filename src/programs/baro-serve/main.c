/* SPDX-License-Identifier: Apache-2.0 */
/* The program baro-serve: `baro serve` executes it as `baro-serve serve`. */
#include "programs/common/cli.h"

int main(int argc, char **argv)
{
    return cli_reader_main(argc, argv);
}
