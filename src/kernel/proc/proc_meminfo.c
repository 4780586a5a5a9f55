/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/meminfo: "MemTotal:       24689528 kB\n" and some fifty lines like it; huge pages are counted in pages of
 * Hugepagesize. */
#include "kernel/proc/machine.h"
#include "kernel/proc/text.h"

enum { MEM_HUGE_SIZE = MEM_MAX, KEYS };

/* In the kernel's order: the key after the last match is tried first. */
static const struct {
    const char *text;
    size_t len;
} keys[KEYS] = {
#define KEY(field, text) [field] = {text, sizeof(text) - 1}
    KEY(MEM_TOTAL, "MemTotal:"),
    KEY(MEM_FREE, "MemFree:"),
    KEY(MEM_AVAILABLE, "MemAvailable:"),
    KEY(MEM_BUFFERS, "Buffers:"),
    KEY(MEM_CACHED, "Cached:"),
    KEY(MEM_ACTIVE, "Active:"),
    KEY(MEM_INACTIVE, "Inactive:"),
    KEY(MEM_ACTIVE_ANON, "Active(anon):"),
    KEY(MEM_INACTIVE_ANON, "Inactive(anon):"),
    KEY(MEM_ACTIVE_FILE, "Active(file):"),
    KEY(MEM_INACTIVE_FILE, "Inactive(file):"),
    KEY(MEM_SWAP_TOTAL, "SwapTotal:"),
    KEY(MEM_SWAP_FREE, "SwapFree:"),
    KEY(MEM_ZSWAP, "Zswap:"),
    KEY(MEM_ZSWAPPED, "Zswapped:"),
    KEY(MEM_DIRTY, "Dirty:"),
    KEY(MEM_WRITEBACK, "Writeback:"),
    KEY(MEM_ANON, "AnonPages:"),
    KEY(MEM_SHMEM, "Shmem:"),
    KEY(MEM_SLAB, "Slab:"),
    KEY(MEM_SLAB_RECLAIMABLE, "SReclaimable:"),
    KEY(MEM_HUGE_TOTAL, "HugePages_Total:"),
    KEY(MEM_HUGE_FREE, "HugePages_Free:"),
    KEY(MEM_HUGE_SIZE, "Hugepagesize:"),
#undef KEY
};

static int find_key(struct span line, int expected)
{
    for (int i = 0; i < KEYS; i++) {
        int k = expected + i < KEYS ? expected + i : expected + i - KEYS;
        if (line.len > keys[k].len && line.at[0] == keys[k].text[0] && memcmp(line.at, keys[k].text, keys[k].len) == 0)
            return k;
    }
    return -1;
}

static void huge_bytes(struct proc_meminfo *m, enum meminfo_field k, uint64_t size)
{
    if (m->valid >> k & 1 && (!size || __builtin_mul_overflow(m->value[k], size, &m->value[k]))) {
        m->valid &= ~(1u << k);
        m->value[k] = 0;
    }
}

int proc_meminfo_parse(struct span text, struct proc_meminfo *ret)
{
    const char *p = text.at, *end = p + text.len;
    struct proc_meminfo m = {0};
    struct span line;
    uint64_t v, size = 0;
    int expected = 0;
    while (text_line(&p, end, &line)) {
        int k = find_key(line, expected);
        if (k < 0)
            continue;
        bool pages = k == MEM_HUGE_TOTAL || k == MEM_HUGE_FREE;
        if (!(pages ? text_count(line, keys[k].len, &v) : text_kb(line, keys[k].len, &v)))
            continue;
        expected = k + 1;
        if (k == MEM_HUGE_SIZE) {
            size = v;
            continue;
        }
        m.value[k] = v;
        m.valid |= 1u << k;
    }
    huge_bytes(&m, MEM_HUGE_TOTAL, size);
    huge_bytes(&m, MEM_HUGE_FREE, size);
    if (!m.valid)
        return BARO_E_SYNTAX;
    *ret = m;
    return 0;
}
