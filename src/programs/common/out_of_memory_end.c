/* SPDX-License-Identifier: Apache-2.0 */
/* Ends a command that reads tapes when an allocation fails. */
#include <stdlib.h>
#include <unistd.h>

#include "programs/common/out_of_memory.h"

#define STATUS_FAILED 2

void memory_end(void)
{
    static const char text[] = "baro: out of memory\n";
    static int ending;
    if (__atomic_test_and_set(&ending, __ATOMIC_RELAXED))
        return;
    ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
    (void)written;
    exit(STATUS_FAILED);
}

__attribute__((weak)) void memory_ran_out(void)
{
    memory_end();
}
