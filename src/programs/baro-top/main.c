/* SPDX-License-Identifier: Apache-2.0 */
/* The program baro-top: `baro top` executes it as `baro-top top`. */
#include <locale.h>

#include "programs/baro-top/terminal.h"
#include "programs/common/cli.h"
#include "programs/common/out_of_memory.h"

void memory_ran_out(void)
{
    terminal_abandon();
    memory_end();
}

/* Takes from the locale only what characters are and how wide: numbers are written alike everywhere. */
int main(int argc, char **argv)
{
    if (!setlocale(LC_CTYPE, ""))
        setlocale(LC_CTYPE, "C.UTF-8");
    return cli_reader_main(argc, argv);
}
