/* SPDX-License-Identifier: Apache-2.0 */
#include "exits/share_wire.h"

#include <string.h>

/*
 * A head: u16 version, u16 kind, u32 count, u64 number, u32 flags, u32 0.
 * A pid: i32 pid, u32 0, u64 start.
 * An event: u8 kind, u8 flags, u8 length of the name, u8 0; i32 pid; i32 parent; i32 status; u32 uid; u32 0; u64 time;
 * then u64 count if it is EVENT_LOST, USAGE_FIELDS u64 if it has usage, and the name.
 */
#define EVENT_FIXED 32u
#define USAGE_FIELDS 13u

enum { HAS_STATUS = 1, HAS_USAGE = 2, HAS_IO = 4, HAS_DELAY = 8, OF_USAGE = 16 };

static void put_u32(unsigned char *to, uint32_t v)
{
    memcpy(to, &v, sizeof(v));
}

static void put_u64(unsigned char *to, uint64_t v)
{
    memcpy(to, &v, sizeof(v));
}

static void skip(struct span *s, size_t n)
{
    s->at += n;
    s->len -= n;
}

void share_head_encode(const struct share_head *h, unsigned char *to)
{
    put_u32(to, SHARE_VERSION | (uint32_t)h->kind << 16);
    put_u32(to + 4, h->count);
    put_u64(to + 8, h->number);
    put_u32(to + 16, h->flags);
    put_u32(to + 20, 0);
}

bool share_head_decode(struct span *message, struct share_head *ret)
{
    if (message->len < SHARE_HEAD)
        return false;
    uint32_t what = span_u32(*message, 0), kind = what >> 16;
    if ((what & 0xffff) != SHARE_VERSION || kind < SHARE_FOLLOW || kind > SHARE_DONE)
        return false;
    *ret = (struct share_head){(enum share_kind)kind, span_u32(*message, 4), span_u64(*message, 8),
                               span_u32(*message, 16)};
    skip(message, SHARE_HEAD);
    return true;
}

void share_pid_encode(const struct exits_pid *p, unsigned char *to)
{
    put_u32(to, (uint32_t)p->pid);
    put_u32(to + 4, 0);
    put_u64(to + 8, p->start);
}

bool share_pid_decode(struct span *rest, struct exits_pid *ret)
{
    if (rest->len < SHARE_PID || span_u32(*rest, 0) > INT32_MAX)
        return false;
    *ret = (struct exits_pid){(int32_t)span_u32(*rest, 0), span_u64(*rest, 8)};
    skip(rest, SHARE_PID);
    return true;
}

/* ---- events ---- */

/* The fields of usage in their order on the wire: from the event, or into it. */
static void usage_fields(struct exits_event *e, uint64_t *ret[static USAGE_FIELDS])
{
    uint64_t *const fields[USAGE_FIELDS] = {&e->elapsed_ns,   &e->cpu_ns,       &e->user_ns,      &e->system_ns,
                                            &e->rss_peak_bytes, &e->io_read,    &e->io_write,     &e->io_rchar,
                                            &e->io_wchar,     &e->faults_minor, &e->faults_major, &e->run_delay_ns,
                                            &e->cpu_unsure_ns};
    memcpy(ret, fields, sizeof(fields));
}

static size_t length_of(unsigned kind, unsigned flags, size_t name)
{
    return EVENT_FIXED + (kind == EVENT_LOST ? 8 : 0) + (flags & HAS_USAGE ? 8 * USAGE_FIELDS : 0) + name;
}

size_t share_event_length(const unsigned char *at)
{
    return length_of(at[0], at[1], at[2]);
}

size_t share_event_encode(const struct exits_event *e, unsigned char *to)
{
    struct exits_event copy = *e;
    uint64_t *usage[USAGE_FIELDS];
    bool has_usage = e->has_usage || e->kind == EVENT_USAGE;
    size_t name = e->has_comm ? strnlen(e->comm, sizeof(e->comm) - 1) : 0, at = EVENT_FIXED;
    unsigned flags = (e->has_status ? HAS_STATUS : 0u) | (has_usage ? HAS_USAGE : 0u) | (e->has_io ? HAS_IO : 0u) |
                     (e->has_delay ? HAS_DELAY : 0u) | (e->of_usage ? OF_USAGE : 0u);
    memset(to, 0, EVENT_FIXED);
    to[0] = (unsigned char)e->kind;
    to[1] = (unsigned char)flags;
    to[2] = (unsigned char)name;
    put_u32(to + 4, (uint32_t)e->pid);
    put_u32(to + 8, (uint32_t)e->ppid);
    put_u32(to + 12, (uint32_t)e->status);
    put_u32(to + 16, e->uid);
    put_u64(to + 24, e->t_ns);
    if (e->kind == EVENT_LOST) {
        put_u64(to + at, e->count);
        at += 8;
    }
    usage_fields(&copy, usage);
    for (size_t i = 0; has_usage && i < USAGE_FIELDS; i++, at += 8)
        put_u64(to + at, *usage[i]);
    memcpy(to + at, e->comm, name);
    return at + name;
}

bool share_event_decode(struct span *rest, struct exits_event *ret)
{
    uint64_t *usage[USAGE_FIELDS];
    if (rest->len < EVENT_FIXED)
        return false;
    unsigned kind = (unsigned char)rest->at[0], flags = (unsigned char)rest->at[1];
    size_t name = (unsigned char)rest->at[2], len = length_of(kind, flags, name), at = EVENT_FIXED;
    int32_t pid = (int32_t)span_u32(*rest, 4);
    if (kind > EVENT_LOST || name >= sizeof(ret->comm) || len > rest->len || pid < 0 || (!pid && kind != EVENT_LOST))
        return false;
    struct exits_event e = {.kind = (enum exits_event_kind)kind, .pid = pid, .ppid = (int32_t)span_u32(*rest, 8),
                            .status = (int32_t)span_u32(*rest, 12), .uid = span_u32(*rest, 16),
                            .t_ns = span_u64(*rest, 24), .has_comm = name > 0, .has_status = flags & HAS_STATUS,
                            .has_usage = flags & HAS_USAGE && kind == EVENT_EXIT, .has_io = flags & HAS_IO,
                            .has_delay = flags & HAS_DELAY, .of_usage = flags & OF_USAGE};
    if (kind == EVENT_LOST) {
        e.count = span_u64(*rest, at);
        at += 8;
    }
    usage_fields(&e, usage);
    for (size_t i = 0; flags & HAS_USAGE && i < USAGE_FIELDS; i++, at += 8)
        *usage[i] = span_u64(*rest, at);
    memcpy(e.comm, rest->at + at, name);
    *ret = e;
    skip(rest, len);
    return true;
}
