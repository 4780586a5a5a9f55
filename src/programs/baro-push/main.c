/* SPDX-License-Identifier: Apache-2.0 */
/* The program baro-push: `baro push` executes it as `baro-push push`. */
#include "programs/common/cli.h"

int main(int argc, char **argv)
{
    return cli_reader_main(argc, argv);
}
