/* SPDX-License-Identifier: Apache-2.0 */
/* The program baro-sqlite: it writes rows into a database. `baro export --format sqlite` executes it. */
#include "programs/common/cli.h"

int main(int argc, char **argv)
{
    return cli_reader_main(argc, argv);
}
