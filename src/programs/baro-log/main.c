/* SPDX-License-Identifier: Apache-2.0 */
/* The program baro-log: what all runs so far say together. */
#include "programs/common/cli.h"

int main(int argc, char **argv)
{
    return cli_reader_main(argc, argv);
}
