/* SPDX-License-Identifier: Apache-2.0 */
/* Flat keyed files, with lines of "key value": cpu.stat, memory.stat, memory.events and pids.events. */
#ifndef KERNEL_CGROUP_FLAT_H
#define KERNEL_CGROUP_FLAT_H

#include "kernel/proc/text.h"

struct flat_key {
    const char *text; /* followed by a blank in the file */
    uint8_t len, field;
    uint32_t scale; /* the value is multiplied by this */
};

#define FLAT_KEY(text, field, scale)                                                                                   \
    {                                                                                                                  \
        text, sizeof(text) - 1, field, scale                                                                           \
    }

static inline bool flat_number(struct span line, size_t key_len, uint64_t scale, uint64_t *ret)
{
    const char *end = line.at + line.len;
    uint64_t v;
    const char *p = text_digits(line.at + key_len + 1, end, &v);
    return p == end && !__builtin_mul_overflow(v, scale, ret);
}

/* Fills value[] and returns the mask of the fields that were found. If a key comes twice, the last one counts. */
static inline uint32_t flat_parse(struct span text, const struct flat_key *keys, size_t n, uint64_t *value)
{
    const char *p = text.at, *end = p + text.len;
    uint32_t valid = 0;
    struct span line;
    while (text_line(&p, end, &line)) {
        for (size_t i = 0; i < n; i++) {
            const struct flat_key *k = &keys[i];
            if (line.len <= k->len || line.at[k->len] != ' ' || memcmp(line.at, k->text, k->len) != 0)
                continue;
            if (flat_number(line, k->len, k->scale, &value[k->field]))
                valid |= 1u << k->field;
            break;
        }
    }
    return valid;
}

#endif
