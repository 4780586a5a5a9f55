/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/smaps_rollup, since 4.14: a line of addresses, then "Key:   value kB" (fs/proc/task_mmu.c). Keys are
 * matched with their colon, because Pss is a prefix of Pss_Anon, and Swap of SwapPss.
 */
#include "kernel/proc/procfs.h"
#include "kernel/proc/text.h"

enum { PRIVATE_CLEAN = 1, PRIVATE_DIRTY = 2, PRIVATE_HUGETLB = 4 };

static void set(struct pid_smaps *sm, enum pid_smaps_field field, struct span line, size_t key_len)
{
    uint64_t v;
    if (text_kb(line, key_len, &v)) {
        sm->value[field] = v;
        sm->valid |= 1u << field;
    }
}

static void add_private(struct pid_smaps *sm, unsigned *seen, unsigned which, struct span line, size_t key_len)
{
    uint64_t v;
    if ((*seen & which) || !text_kb(line, key_len, &v))
        return;
    if (__builtin_add_overflow(sm->value[SMAPS_USS], v, &sm->value[SMAPS_USS]))
        return;
    *seen |= which;
}

static void take_smaps_line(struct span line, struct pid_smaps *sm, unsigned *seen)
{
#define WITH(key, call, ...)                                                                                           \
    if (TEXT_KEY(line, key)) {                                                                                         \
        call(__VA_ARGS__, line, sizeof(key) - 1);                                                                      \
        return;                                                                                                        \
    }
    WITH("Rss:", set, sm, SMAPS_RSS)
    WITH("Pss:", set, sm, SMAPS_PSS)
    WITH("Pss_Anon:", set, sm, SMAPS_PSS_ANON)
    WITH("Pss_Shmem:", set, sm, SMAPS_PSS_SHMEM)
    WITH("Swap:", set, sm, SMAPS_SWAP)
    WITH("SwapPss:", set, sm, SMAPS_SWAP_PSS)
    WITH("Private_Clean:", add_private, sm, seen, PRIVATE_CLEAN)
    WITH("Private_Dirty:", add_private, sm, seen, PRIVATE_DIRTY)
    WITH("Private_Hugetlb:", add_private, sm, seen, PRIVATE_HUGETLB)
#undef WITH
}

int pid_smaps_parse(struct span text, struct pid_smaps *ret)
{
    const char *p = text.at, *end = p + text.len;
    struct pid_smaps sm = {0};
    struct span line;
    unsigned seen = 0;
    while (text_line(&p, end, &line))
        if (line.len && (line.at[0] == 'R' || line.at[0] == 'P' || line.at[0] == 'S'))
            take_smaps_line(line, &sm, &seen);
    /* USS is the sum of three lines, and valid only if all were seen. Older kernels have no Private_Hugetlb; if Swap,
     * which comes later, was seen, the line is missing and not truncated. */
    if ((seen & PRIVATE_CLEAN) && (seen & PRIVATE_DIRTY) && ((seen & PRIVATE_HUGETLB) || (sm.valid & 1u << SMAPS_SWAP)))
        sm.valid |= 1u << SMAPS_USS;
    else
        sm.value[SMAPS_USS] = 0;
    if (!sm.valid)
        return BARO_E_SYNTAX;
    *ret = sm;
    return 0;
}
