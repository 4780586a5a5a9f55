/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/perf_event.h>

#include "base/error.h"
#include "kernel/events/perf_parse.h"

#define CPU_MOST 65535u

/* FORK and EXIT: pid, ppid, tid, ptid, time. */
static int parse_task(struct span body, struct perf_record *r)
{
    if (body.len < 24)
        return BARO_E_SYNTAX;
    r->pid = (int32_t)span_u32(body, 0);
    r->ppid = (int32_t)span_u32(body, 4);
    r->tid = (int32_t)span_u32(body, 8);
    r->t_ns = span_u64(body, 16);
    return 0;
}

/* COMM: pid, tid, the name with a NUL, padded to 8. READ: pid, tid, the count. */
static int parse_thread(struct span body, struct perf_record *r)
{
    if (body.len < 16)
        return BARO_E_SYNTAX;
    r->pid = (int32_t)span_u32(body, 0);
    r->tid = (int32_t)span_u32(body, 4);
    if (r->what == PERF_USED)
        r->value = span_u64(body, 8);
    else
        r->comm = span_of(body.at + 8, strnlen(body.at + 8, body.len - 8));
    return 0;
}

int perf_parse(struct span record, struct perf_record *ret)
{
    struct perf_event_header h;
    struct perf_record r = {0};
    int code = 0;
    if (record.len < sizeof(h))
        return BARO_E_SYNTAX;
    memcpy(&h, record.at, sizeof(h));
    if (h.size != record.len)
        return BARO_E_SYNTAX;
    struct span body = span_of(record.at + sizeof(h), record.len - sizeof(h));
    if (body.len < PERF_TRAILER) {
        *ret = r;
        return 0; /* a type without trailer; we ask for none */
    }
    r.t_ns = span_u64(body, body.len - 16);
    r.id = span_u64(body, body.len - 8);
    body.len -= PERF_TRAILER;
    switch (h.type) {
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        r.what = h.type == PERF_RECORD_FORK ? PERF_FORKED : PERF_EXITED;
        code = parse_task(body, &r);
        break;
    case PERF_RECORD_COMM:
        r.what = h.misc & PERF_RECORD_MISC_COMM_EXEC ? PERF_EXECUTED : PERF_NAMED;
        code = parse_thread(body, &r);
        break;
    case PERF_RECORD_READ:
        r.what = PERF_USED;
        code = parse_thread(body, &r);
        break;
    case PERF_RECORD_LOST: /* id, number of lost records */
        r.what = PERF_MISSED;
        if (body.len < 16)
            return BARO_E_SYNTAX;
        r.value = span_u64(body, 8);
        break;
    default: break;
    }
    if (code == 0)
        *ret = r;
    return code;
}

struct cpu_list {
    int *at, n, cap;
    bool far;
};

static void add_cpus(void *context, uint32_t first, uint32_t last)
{
    struct cpu_list *l = context;
    l->far |= last > CPU_MOST;
    for (uint32_t cpu = first; !l->far && cpu <= last; cpu++, l->n++) {
        if (l->n < l->cap)
            l->at[l->n] = (int)cpu;
        l->far |= l->n > (int)CPU_MOST;
    }
}

int cpu_list_parse(struct span text, int *ret, int cap)
{
    struct cpu_list l = {.at = ret, .cap = cap};
    uint64_t count;
    if (!scan_ranges(&text, add_cpus, &l, &count) || !count || l.far)
        return BARO_E_SYNTAX;
    scan_char(&text, '\n');
    return text.len ? BARO_E_SYNTAX : l.n;
}
