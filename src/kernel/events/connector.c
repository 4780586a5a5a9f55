/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process connector: forks, execs and exits of the whole machine over netlink. Root may listen on any kernel, every
 * user since 6.6, in the initial user, pid and network namespaces.
 *
 * Our own filter can drop foreign events in the kernel (filter.h). The event filter of Linux 6.6 (struct proc_input) is
 * not used, because it hides losses: each CPU numbers its events, so a gap shows events that the kernel had no memory
 * to send (ENOBUFS does not report those), but that filter drops numbered events as well. It would also save little:
 * the kinds that it could drop (uid, gid, sid, ptrace, coredump) are rare compared with forks.
 */
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/namespace.h"
#include "kernel/events/connector_parse.h"
#include "kernel/events/thread_groups.h"
#include "kernel/events/netlink.h"
#include "kernel/events/source.h"

/* The kernel doubles it: 20,000 events. The default of 256 was too few for 20 recorders that started at once beside
 * 10,000 events a second. */
#define BUFFER_BYTES (8 << 20)
/* What the kernel charges for one queued event; measured: 256 events in 212,992 bytes (x86-64, 6.18). */
#define BYTES_PER_EVENT 832u
#define DATAGRAM 192u          /* headers and bodies of netlink, connector and event are 76 bytes */
#define BATCHES_PER_DRAIN 256u /* 8,192 events: a machine that forks faster than we read must not keep us here */
#define ANSWER_TRIES 20000u    /* datagrams that may be queued before the reply on a machine that forks a lot */
#define OVERFLOWS_PER_DRAIN 8u /* after each, the events that were queued before it are read */
#define SEQ_CPUS 1024u         /* CPUs whose sequence numbers are checked; unused entries cost no memory */

struct connector {
    struct exits_source base;
    struct groups groups;
    struct netlink_batch batch;
    unsigned char text[NETLINK_BATCH * DATAGRAM];
    uint64_t next[SEQ_CPUS]; /* expected sequence number of each CPU, plus 1; 0: not known */
    uint64_t lost;           /* losses not reported yet */
    bool overflown; /* since the queue was last empty: the gaps that the reported overflow left are not reported */
};

static int listen_to(int fd, uint32_t cookie)
{
    struct nlmsghdr netlink = {.nlmsg_type = NLMSG_DONE};
    struct cn_msg connector = {.id = {CN_IDX_PROC, CN_VAL_PROC}, .ack = cookie, .len = sizeof(uint32_t)};
    uint32_t operation = PROC_CN_MCAST_LISTEN;
    unsigned char message[sizeof(netlink) + sizeof(connector) + sizeof(operation)];
    netlink.nlmsg_len = sizeof(message);
    memcpy(message, &netlink, sizeof(netlink));
    memcpy(message + sizeof(netlink), &connector, sizeof(connector));
    memcpy(message + sizeof(netlink) + sizeof(connector), &operation, sizeof(operation));
    return netlink_send(fd, message, sizeof(message));
}

/* Reads the queue up to the reply, which the kernel queues before send() returns. If there is no reply, the kernel
 * ignored the request: cn_proc_mcast_ctl() silently drops requests from other namespaces. Returns 1 with the reply's
 * errno in *ret_error, 0 if there is no reply. */
static int find_ack(struct connector *c, uint32_t cookie, uint32_t *ret_error)
{
    int n;
    for (unsigned tries = 0; tries < ANSWER_TRIES; tries++) {
        n = netlink_receive(c->base.fd, &c->batch);
        c->lost += n == -ENOBUFS;
        if (n <= 0 && n != -ENOBUFS)
            return 0;
        for (int i = 0; i < n; i++) {
            struct span datagram = span_of(c->text + (size_t)i * DATAGRAM, c->batch.len[i]);
            struct netlink_message m;
            struct connector_event e;
            if (!netlink_next(&datagram, &m) || connector_parse(m.payload, &e) < 0 || e.what != CONNECTOR_ACK)
                continue;
            if (e.ack == cookie + 1) {
                *ret_error = e.status;
                return 1;
            }
        }
    }
    return 0;
}

/* Events that are queued behind the reply happened after it: they are left for the first drain. */
static int check_answer(struct connector *c, uint32_t cookie, struct baro_error *err)
{
    uint32_t refused = 0;
    c->batch.most = 1;
    int found = find_ack(c, cookie, &refused);
    c->batch.most = 0;
    if (!found)
        return error_set(err, -EPERM, "the process connector works only in the initial pid and user namespaces");
    if (refused)
        return error_set(err, -(int)(refused & 0xfff), "the process connector refused to listen: %s",
                         strerror((int)(refused & 0xfff)));
    return 0;
}

static int open_socket(struct baro_error *err)
{
    const char *step;
    int fd = netlink_open(NETLINK_CONNECTOR, CN_IDX_PROC, BUFFER_BYTES, &step);
    if (fd == -EPERM)
        return error_set(err, fd, "the process connector needs root (CAP_NET_ADMIN) before Linux 6.6");
    if (fd == -EPROTONOSUPPORT)
        return error_set(err, fd, "this kernel has no process connector (CONFIG_CONNECTOR, CONFIG_PROC_EVENTS)");
    if (fd < 0)
        return error_set(err, fd, "the process connector can't be opened (%s): %s", step, strerror(-fd));
    return fd;
}

int exits_connector_listen(uint32_t cookie, struct baro_error *err)
{
    int fd = open_socket(err);
    if (fd < 0)
        return fd;
    int code = listen_to(fd, cookie);
    if (code == 0)
        return fd;
    fd_close(fd);
    if (code == -ECONNREFUSED) /* the kernel's end of the socket exists only in the initial network namespace */
        return error_set(err, code, "the process connector works only in the initial network namespace");
    return error_set(err, code, "can't send a request to the process connector: %s", strerror(-code));
}

/* ---- events ---- */

static void check_sequence(struct connector *c, const struct connector_event *e)
{
    if (c->base.filtered) /* the filter checks the numbers */
        return;
    if (e->cpu >= SEQ_CPUS) /* before 6.6 the reply to another program's request has CPU -1 */
        return;
    if (c->next[e->cpu] && c->next[e->cpu] != (uint64_t)e->seq + 1 && !c->overflown) {
        c->lost++;
        groups_clear(&c->groups);
    }
    c->next[e->cpu] = (uint64_t)(uint32_t)(e->seq + 1) + 1;
}

/* ENOBUFS is returned before the events that were queued earlier and before the gaps that the overflow left. It is
 * reported at once, and the gaps are not reported again. */
static void overflow_begin(struct connector *c)
{
    c->lost++;
    c->overflown = true;
}

static void overflow_end(struct connector *c)
{
    c->overflown = false;
    groups_clear(&c->groups);
    memset(c->next, 0, sizeof(c->next));
}

static bool translate(struct connector *c, const struct connector_event *e, struct exits_event *ret)
{
    bool leader = e->tid == e->tgid;
    uint32_t status = 0;
    switch (e->what) {
    case CONNECTOR_FORK:
        if (!leader) {
            groups_thread(&c->groups, e->tgid);
            return false;
        }
        groups_process(&c->groups, e->tgid);
        ret->kind = EVENT_FORK;
        ret->ppid = e->parent_tgid;
        return true;
    case CONNECTOR_EXEC:
        groups_process(&c->groups, e->tgid);
        ret->kind = EVENT_EXEC;
        return true;
    case CONNECTOR_COMM:
        ret->kind = EVENT_COMM;
        ret->has_comm = true;
        memcpy(ret->comm, e->comm, sizeof(e->comm));
        return leader;
    case CONNECTOR_EXIT:
        ret->kind = EVENT_EXIT;
        if (!groups_end(&c->groups, e->tgid, leader, e->status, &ret->has_status, &status))
            return false;
        ret->status = (int32_t)status;
        return true;
    case CONNECTOR_ACK:
    case CONNECTOR_OTHER: break;
    }
    return false;
}

static int report_lost(struct connector *c, exits_event_fn *fn, void *context)
{
    if (!c->lost)
        return 0;
    struct exits_event e = {.kind = EVENT_LOST, .t_ns = clock_monotonic_ns(), .uid = UINT32_MAX, .count = c->lost};
    c->lost = 0;
    fn(context, &e);
    return 1;
}

static int handle_datagram(struct connector *c, struct span datagram, exits_event_fn *fn, void *context)
{
    int events = 0;
    struct netlink_message m;
    struct connector_event in;
    while (netlink_next(&datagram, &m)) {
        if (connector_parse(m.payload, &in) < 0)
            continue;
        check_sequence(c, &in);
        events += report_lost(c, fn, context);
        struct exits_event out = {
            .pid = in.tgid, .t_ns = in.t_ns + (uint64_t)c->base.clock_offset_ns, .uid = UINT32_MAX};
        if (!translate(c, &in, &out))
            continue;
        fn(context, &out);
        events++;
    }
    return events;
}

static int connector_drain(struct exits_source *s, exits_event_fn *fn, void *context)
{
    struct connector *c = (struct connector *)s;
    int events = 0;
    unsigned overflows = 0;
    for (unsigned round = 0; round < BATCHES_PER_DRAIN; round++) {
        int n = netlink_receive(s->fd, &c->batch);
        if (n == -ENOBUFS) {
            overflow_begin(c);
            events += report_lost(c, fn, context);
            if (++overflows == OVERFLOWS_PER_DRAIN)
                break;
            continue;
        }
        if (n < 0)
            return n;
        for (int i = 0; i < n; i++)
            events += handle_datagram(c, span_of(c->text + (size_t)i * DATAGRAM, c->batch.len[i]), fn, context);
        if (n < NETLINK_BATCH) {
            if (c->overflown)
                overflow_end(c);
            break;
        }
    }
    return events;
}

/* ---- life ---- */

static uint64_t connector_capacity(const struct exits_source *s)
{
    return netlink_granted(s->fd) / BYTES_PER_EVENT;
}

static void connector_close(struct exits_source *s)
{
    struct connector *c = (struct connector *)s;
    netlink_leave(s->fd, CN_IDX_PROC); /* a helper process may have the descriptor as well */
    groups_done(&c->groups);
    free(c);
}

int exits_connector_take(struct exits_source **ret, int fd, uint32_t cookie, struct baro_error *err)
{
    struct connector *c = calloc(1, sizeof(*c));
    if (!c) {
        fd_close(fd);
        return error_set(err, -ENOMEM, "out of memory");
    }
    c->base = (struct exits_source){EXITS_CONNECTOR,
                                    fd,
                                    connector_drain,
                                    connector_capacity,
                                    connector_close,
                                    namespace_monotonic_offset_ns(),
                                    false};
    c->batch = (struct netlink_batch){.slot = DATAGRAM, .at = c->text};
    int code = check_answer(c, cookie, err);
    if (code < 0) {
        exits_close(&c->base);
        return code;
    }
    *ret = &c->base;
    return 0;
}

int exits_connector_open(struct exits_source **ret, struct baro_error *err)
{
    uint32_t cookie = (uint32_t)getpid();
    int fd = exits_connector_listen(cookie, err);
    return fd < 0 ? fd : exits_connector_take(ret, fd, cookie, err);
}
