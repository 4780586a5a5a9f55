/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of devices as CUDA_VISIBLE_DEVICES and --gpu have them. Pure. */
#include <strings.h>

#include "base/span.h"
#include "programs/baro-gpu/gpu_helper.h"

static struct span next_item(struct span *rest)
{
    const char *comma = rest->len ? memchr(rest->at, ',', rest->len) : NULL;
    struct span item = span_of(rest->at, comma ? (size_t)(comma - rest->at) : rest->len);
    *rest = comma ? span_of(comma + 1, rest->len - item.len - 1) : span_of(rest->at + rest->len, 0);
    scan_blanks(&item);
    while (item.len && (item.at[item.len - 1] == ' ' || item.at[item.len - 1] == '\t'))
        item.len--;
    return item;
}

/* Parses "0,2", "GPU-8932f937" (a beginning is enough), "MIG-..." or "all". As in CUDA, entries after a number that is
 * no device are ignored. */
bool gpu_is_chosen(const char *list, uint32_t index, uint32_t count, const char *uuid)
{
    struct span rest = span_str(list);
    while (rest.len) {
        struct span item = next_item(&rest), digits = item;
        uint64_t number;
        if (span_equal(item, "all"))
            return true;
        if (scan_u64(&digits, &number) && !digits.len) {
            if (number >= count)
                return false;
            if (number == index)
                return true;
        } else if (!item.len || *item.at == '-') {
            return false; /* -1: no entry from here on counts */
        } else if (strncmp(uuid, item.at, item.len) == 0) {
            return true;
        }
    }
    return false;
}

/* Does the item begin the UUID? AMD's UUIDs are hexadecimal; ROCm writes GPU- before them. */
static bool is_uuid(struct span item, const char *uuid)
{
    if (span_starts(item, "GPU-") && strncmp(uuid, "GPU-", 4) != 0)
        item = span_of(item.at + 4, item.len - 4);
    return item.len && item.len <= strlen(uuid) && strncasecmp(uuid, item.at, item.len) == 0;
}

/* Parses the argument of --gpu, whose entries are independent of each other. An entry of digits is a number, or a
 * UUID if it has eight digits or more. */
bool gpu_is_listed(const char *list, uint32_t index, const char *name, const char *uuid)
{
    struct span rest = span_str(list);
    while (rest.len) {
        struct span item = next_item(&rest), digits = item;
        uint64_t number;
        bool is_number = scan_u64(&digits, &number) && !digits.len;
        if (span_equal(item, "all") || span_equal(item, name) || (is_number && number == index) ||
            ((!is_number || item.len >= 8) && is_uuid(item, uuid)))
            return true;
    }
    return false;
}
