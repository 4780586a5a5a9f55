/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/shortage.h"

#include "programs/common/out_of_memory.h"

static _Thread_local unsigned count;

unsigned shortage_count(void)
{
    return count;
}

void memory_ran_out(void)
{
    count++;
}
