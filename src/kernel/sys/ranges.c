/* SPDX-License-Identifier: Apache-2.0 */
#include "baro/error.h"
#include "kernel/sys/sysfs.h"

int64_t sys_list_parse(struct span text, void (*fn)(void *context, uint32_t first, uint32_t last), void *context)
{
    uint64_t count;
    while (text.len && (text.at[text.len - 1] == '\n' || text.at[text.len - 1] == ' '))
        text.len--;
    return scan_ranges(&text, fn, context, &count) && !text.len ? (int64_t)count : BARO_E_SYNTAX;
}
