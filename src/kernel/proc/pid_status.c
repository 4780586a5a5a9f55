/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/status, lines of "Key:\tvalue" (fs/proc/array.c, proc_pid_status). The kernel escapes newlines in Name, so
 * a line is a line. Processes without memory of their own (zombies, kernel threads) have no Vm* and Rss* lines;
 * HugetlbPages came with 4.4, RssAnon, RssFile and RssShmem with 4.5, Kthread with 6.8.
 */
#include "kernel/proc/procfs.h"
#include "kernel/proc/text.h"

struct key {
    const char *text; /* with its colon */
    uint8_t len, field;
    bool kb;
};

#define KB(text, field)                                                                                                \
    {                                                                                                                  \
        text, sizeof(text) - 1, field, true                                                                            \
    }
#define COUNT(text, field)                                                                                             \
    {                                                                                                                  \
        text, sizeof(text) - 1, field, false                                                                           \
    }
#define END                                                                                                            \
    {                                                                                                                  \
        NULL, 0, 0, false                                                                                              \
    }

static const struct key keys_vm[] = {
    KB("VmHWM:", STATUS_VM_HWM),
    KB("VmRSS:", STATUS_VM_RSS),
    KB("VmSwap:", STATUS_VM_SWAP),
    KB("VmPTE:", STATUS_VM_PTE),
    END,
};
static const struct key keys_rss[] = {
    KB("RssAnon:", STATUS_RSS_ANON),
    KB("RssFile:", STATUS_RSS_FILE),
    KB("RssShmem:", STATUS_RSS_SHMEM),
    END,
};
static const struct key keys_h[] = {KB("HugetlbPages:", STATUS_HUGETLB), END};
static const struct key keys_t[] = {COUNT("Tgid:", STATUS_TGID), COUNT("Threads:", STATUS_THREADS), END};
static const struct key keys_p[] = {COUNT("PPid:", STATUS_PPID), END};
static const struct key keys_u[] = {COUNT("Uid:", STATUS_UID), END};
static const struct key keys_k[] = {COUNT("Kthread:", STATUS_KTHREAD), END};
static const struct key keys_v[] = {COUNT("voluntary_ctxt_switches:", STATUS_SWITCHES_VOLUNTARY), END};
static const struct key keys_n[] = {COUNT("nonvoluntary_ctxt_switches:", STATUS_SWITCHES_INVOLUNTARY), END};

/* Most of the 60 lines are not used: the first byte is enough to skip them. */
static const struct key *keys_for(char first)
{
    switch (first) {
    case 'V': return keys_vm;
    case 'R': return keys_rss;
    case 'T': return keys_t;
    case 'H': return keys_h;
    case 'P': return keys_p;
    case 'U': return keys_u;
    case 'K': return keys_k;
    case 'v': return keys_v;
    case 'n': return keys_n;
    default: return NULL;
    }
}

static void take_key(struct span line, const struct key *key, struct pid_status *st)
{
    for (; key->text; key++) {
        if (line.len <= key->len || memcmp(line.at, key->text, key->len) != 0)
            continue;
        uint64_t v;
        if (key->kb ? text_kb(line, key->len, &v) : text_count(line, key->len, &v)) {
            st->value[key->field] = v;
            st->valid |= 1u << key->field;
        }
        return;
    }
}

int pid_status_parse(struct span text, struct pid_status *ret)
{
    const char *p = text.at, *end = p + text.len;
    struct pid_status st = {0};
    struct span line;
    while (text_line(&p, end, &line)) {
        const struct key *keys = line.len ? keys_for(line.at[0]) : NULL;
        if (keys)
            take_key(line, keys, &st);
    }
    if (!st.valid)
        return BARO_E_SYNTAX;
    *ret = st;
    return 0;
}
