/* SPDX-License-Identifier: Apache-2.0 */
#include "baro/error.h"
#include "sysfs/sysfs.h"

int64_t sys_list_parse(struct span text, void (*fn)(void *context, uint32_t first, uint32_t last), void *context)
{
    int64_t n = 0;
    while (text.len && (text.at[text.len - 1] == '\n' || text.at[text.len - 1] == ' '))
        text.len--;
    while (text.len) {
        uint64_t first, last;
        if (!scan_u64(&text, &first))
            return BARO_E_SYNTAX;
        last = first;
        if (scan_char(&text, '-') && !scan_u64(&text, &last))
            return BARO_E_SYNTAX;
        if (last < first || last >= UINT32_MAX || (text.len && !(scan_char(&text, ',') && text.len)))
            return BARO_E_SYNTAX;
        n += (int64_t)(last - first + 1);
        if (fn)
            fn(context, (uint32_t)first, (uint32_t)last);
    }
    return n;
}
