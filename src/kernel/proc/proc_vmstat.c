/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/vmstat: "pgfault 2239901\n" and 150 such lines, in an order that differs between kernels. */
#include "kernel/proc/machine.h"
#include "kernel/proc/text.h"

static const struct {
    const char *text;
    size_t len;
} keys[VM_MAX] = {
#define KEY(field, text) [field] = {text, sizeof(text) - 1}
    KEY(VM_SWAP_IN, "pswpin "),
    KEY(VM_SWAP_OUT, "pswpout "),
    KEY(VM_FAULTS, "pgfault "),
    KEY(VM_FAULTS_MAJOR, "pgmajfault "),
    KEY(VM_STEAL_KSWAPD, "pgsteal_kswapd "),
    KEY(VM_STEAL_DIRECT, "pgsteal_direct "),
    KEY(VM_SCAN_KSWAPD, "pgscan_kswapd "),
    KEY(VM_SCAN_DIRECT, "pgscan_direct "),
    KEY(VM_OOM_KILLS, "oom_kill "), /* since 4.13 */
#undef KEY
};

/* Most lines begin with nr_, numa_, thp_ or another pg: they are skipped without comparing keys. */
static bool may_be_key(const char *at)
{
    if (at[0] == 'o')
        return true;
    return at[0] == 'p' && (at[1] == 's' || (at[1] == 'g' && (at[2] == 'f' || at[2] == 'm' || at[2] == 's')));
}

int proc_vmstat_parse(struct span text, struct proc_vmstat *ret)
{
    const char *p = text.at, *end = p + text.len;
    struct proc_vmstat vm = {0};
    struct span line;
    while (text_line(&p, end, &line)) {
        uint64_t v;
        if (line.len < 8 || !may_be_key(line.at))
            continue;
        for (int k = 0; k < VM_MAX; k++) {
            if (line.len <= keys[k].len || memcmp(line.at, keys[k].text, keys[k].len) != 0)
                continue;
            if (text_count(line, keys[k].len, &v)) {
                vm.value[k] = v;
                vm.valid |= 1u << k;
                vm.end = (size_t)(p - text.at);
            }
            break;
        }
    }
    if (!vm.valid)
        return BARO_E_SYNTAX;
    *ret = vm;
    return 0;
}
