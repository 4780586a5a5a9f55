/* SPDX-License-Identifier: Apache-2.0 */
/* The program baro-tape: it writes tapes from tapes. `baro trim` and `baro anonymize` execute it. */
#include "programs/common/cli.h"

int main(int argc, char **argv)
{
    return cli_reader_main(argc, argv);
}
