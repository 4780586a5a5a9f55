/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connector message is struct cn_msg (20 bytes), then struct proc_event: a header of 16 bytes and a body whose length
 * depends on the kind of event and the kernel. The event starts at an odd multiple of 4 bytes, so its 8-byte fields are
 * not aligned: everything is copied, nothing is read through a struct pointer.
 */
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "kernel/events/connector_parse.h"

#define HEAD offsetof(struct proc_event, event_data)

static uint32_t word(struct span s, size_t i)
{
    uint32_t v;
    memcpy(&v, s.at + i * sizeof(v), sizeof(v));
    return v;
}

/* The bodies as 32-bit words; a body must have at least the words that are used. */
static int parse_body(uint32_t what, struct span body, struct connector_event *e)
{
    size_t words = body.len / sizeof(uint32_t);
    switch (what) {
    case PROC_EVENT_NONE:
        e->what = CONNECTOR_ACK;
        if (words < 1)
            return BARO_E_SYNTAX;
        e->status = word(body, 0);
        return 0;
    case PROC_EVENT_FORK: /* parent_pid, parent_tgid, child_pid, child_tgid */
        e->what = CONNECTOR_FORK;
        if (words < 4)
            return BARO_E_SYNTAX;
        e->parent_tgid = (int32_t)word(body, 1);
        e->tid = (int32_t)word(body, 2);
        e->tgid = (int32_t)word(body, 3);
        return 0;
    case PROC_EVENT_EXEC:
    case PROC_EVENT_COMM:
    case PROC_EVENT_EXIT:
        e->what = what == PROC_EVENT_EXEC ? CONNECTOR_EXEC : what == PROC_EVENT_COMM ? CONNECTOR_COMM : CONNECTOR_EXIT;
        if (words < (what == PROC_EVENT_EXIT ? 3u : 2u))
            return BARO_E_SYNTAX;
        e->tid = (int32_t)word(body, 0);
        e->tgid = (int32_t)word(body, 1);
        if (what == PROC_EVENT_EXIT)
            e->status = word(body, 2);
        if (what == PROC_EVENT_COMM) {
            if (body.len < 2 * sizeof(uint32_t) + sizeof(e->comm))
                return BARO_E_SYNTAX;
            memcpy(e->comm, body.at + 2 * sizeof(uint32_t), sizeof(e->comm));
        }
        return 0;
    default: e->what = CONNECTOR_OTHER; return 0;
    }
}

int connector_parse(struct span payload, struct connector_event *ret)
{
    struct cn_msg m;
    struct connector_event e = {0};
    if (payload.len < sizeof(m))
        return BARO_E_SYNTAX;
    memcpy(&m, payload.at, sizeof(m));
    if (m.id.idx != CN_IDX_PROC || m.id.val != CN_VAL_PROC || m.len < HEAD || m.len > payload.len - sizeof(m))
        return BARO_E_SYNTAX;
    struct span event = span_of(payload.at + sizeof(m), m.len);
    e.seq = m.seq;
    e.ack = m.ack;
    e.cpu = word(event, 1);
    memcpy(&e.t_ns, event.at + offsetof(struct proc_event, timestamp_ns), sizeof(e.t_ns));
    int code = parse_body(word(event, 0), span_of(event.at + HEAD, event.len - HEAD), &e);
    if (code == 0)
        *ret = e;
    return code;
}
