/* SPDX-License-Identifier: Apache-2.0 */
/*
 * taskstats: what each thread had used when it ended, over generic netlink. Needs CAP_NET_ADMIN in the initial user
 * namespace.
 *
 * The kernel sends one record per thread when it exits (taskstats_exit()). The kernel's own sum over a group
 * (TASKSTATS_TYPE_AGGR_TGID, sent with the record of the last thread of several) holds little but delays. So the
 * threads of a group are added up here until a record says that the group is dead (AGROUP, version 12, Linux 5.19).
 * Example: records of 20 ms and 30 ms without AGROUP, then 5 ms with it, become one EVENT_EXIT of 55 ms.
 *
 * Before version 12 a record does not name the group of its thread. Then a process of one thread is reported in full,
 * and one of several threads with the kernel's sum of its CPU time.
 *
 * The kernel fills the records before it charges the last time slice and the teardown of memory. They are good for
 * names and shares, not for totals.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "kernel/events/netlink.h"
#include "kernel/events/source.h"
#include "kernel/events/taskstats_parse.h"

#define BUFFER_BYTES (16 << 20) /* the kernel doubles it */
/* What the kernel charges for one queued record; measured: 166 to 225 records in 212,992 bytes (x86-64, 6.18). */
#define BYTES_PER_RECORD 1280u
#define DATAGRAM 2048u         /* two structs of version 16 with their headers are 1,180 bytes */
#define BATCHES_PER_DRAIN 256u /* 8,192 events: a machine that forks faster than we read must not keep us here */
#define OVERFLOWS_PER_DRAIN 8u
#define GROUPS_MAX 512u /* living groups of which a thread has ended */

/* The sum over the ended threads of a group that still lives. */
struct partial {
    int32_t tgid;
    bool has_comm;
    char comm[32]; /* name of the first thread, if that has ended: the name of the process */
    struct taskstats_usage sum;
};

struct listener {
    struct exits_source base;
    uint16_t family;
    uint64_t lost;
    size_t n;
    struct partial group[GROUPS_MAX];
    char cpus[256];
    struct netlink_batch batch;
    unsigned char text[NETLINK_BATCH * DATAGRAM];
};

/* ---- generic netlink ---- */

static int send_request(int fd, uint16_t family, uint8_t command, uint16_t type, const char *value)
{
    unsigned char m[512] = {0};
    size_t len = strlen(value) + 1;
    if (NLMSG_HDRLEN + GENL_HDRLEN + NLA_HDRLEN + len > sizeof(m))
        return -EMSGSIZE;
    struct nlattr a = {.nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = type};
    struct genlmsghdr g = {.cmd = command, .version = 1};
    struct nlmsghdr h = {.nlmsg_type = family, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK};
    h.nlmsg_len = (uint32_t)(NLMSG_HDRLEN + GENL_HDRLEN + NLA_ALIGN(NLA_HDRLEN + len));
    memcpy(m, &h, sizeof(h));
    memcpy(m + NLMSG_HDRLEN, &g, sizeof(g));
    memcpy(m + NLMSG_HDRLEN + GENL_HDRLEN, &a, sizeof(a));
    memcpy(m + NLMSG_HDRLEN + GENL_HDRLEN + NLA_HDRLEN, value, len);
    return netlink_send(fd, m, h.nlmsg_len);
}

/* Reads the reply, which the kernel queues before send() returns. Returns the id of the family if the reply has one, 0
 * for a plain acknowledgement, or -errno. */
static int read_answer(struct listener *t)
{
    int n, found = 0;
    while ((n = netlink_receive(t->base.fd, &t->batch)) > 0) {
        for (int i = 0; i < n; i++) {
            struct span datagram = span_of(t->text + (size_t)i * DATAGRAM, t->batch.len[i]);
            struct netlink_message m;
            while (netlink_next(&datagram, &m)) {
                int32_t error;
                if (m.type == GENL_ID_CTRL)
                    found = taskstats_family_parse(m.payload);
                if (m.type != NLMSG_ERROR || m.payload.len < sizeof(error))
                    continue;
                memcpy(&error, m.payload.at, sizeof(error));
                return error ? error : found;
            }
        }
    }
    return n < 0 ? n : -ENOMSG;
}

static int subscribe(struct listener *t, struct baro_error *err)
{
    int fd = t->base.fd;
    int code = send_request(fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME);
    if (code == 0)
        code = read_answer(t);
    if (code <= 0)
        return error_set(err, code < 0 ? code : -ENOENT, "this kernel has no taskstats (CONFIG_TASKSTATS)");
    t->family = (uint16_t)code;
    code = send_request(fd, t->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, t->cpus);
    if (code == 0)
        code = read_answer(t);
    if (code == -EPERM)
        return error_set(err, code, "taskstats needs root (CAP_NET_ADMIN in the initial user namespace)");
    if (code == -EINVAL)
        return error_set(err, code, "taskstats works only in the initial user and pid namespaces");
    if (code < 0)
        return error_set(err, code, "taskstats refused to register: %s", strerror(-code));
    return 0;
}

/* The mask must name possible CPUs only, and these may have gaps; the kernel accepts its own list. Exits on a CPU that
 * is not in the mask are not reported. */
static int list_cpus(struct listener *t)
{
    ssize_t n = fd_read_file(AT_FDCWD, "/sys/devices/system/cpu/possible", t->cpus, sizeof(t->cpus) - 1);
    if (n > 0 && t->cpus[n - 1] == '\n')
        n--;
    t->cpus[n > 0 ? n : 0] = 0;
    return n > 0 ? 0 : n < 0 ? (int)n : -ENODATA;
}

/* ---- records ---- */

static struct partial *find_partial(struct listener *t, int32_t tgid)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->group[i].tgid == tgid)
            return &t->group[i];
    }
    return NULL;
}

static void keep_partial(struct listener *t, const struct taskstats_record *r)
{
    struct partial *k = find_partial(t, r->tgid);
    if (!k && t->n == GROUPS_MAX) {
        t->lost++;
        return;
    }
    if (!k) {
        k = &t->group[t->n++];
        *k = (struct partial){.tgid = r->tgid};
    }
    taskstats_add(&k->sum, &r->usage);
    /* The name may change: exec ends the first thread, and the thread that called it takes its place. */
    if (r->has_comm) {
        memcpy(k->comm, r->comm, sizeof(k->comm));
        k->has_comm = true;
    }
}

static void add_partial(struct listener *t, struct taskstats_record *r)
{
    struct partial *k = find_partial(t, r->tgid);
    if (!k)
        return;
    taskstats_add(&r->usage, &k->sum);
    if (!r->has_comm && k->has_comm) {
        memcpy(r->comm, k->comm, sizeof(r->comm));
        r->has_comm = true;
    }
    *k = t->group[--t->n];
}

static struct exits_event translate(const struct taskstats_record *r)
{
    const struct taskstats_usage *u = &r->usage;
    struct exits_event e = {
        .kind = EVENT_EXIT, .pid = r->tgid ? r->tgid : r->pid, .t_ns = clock_monotonic_ns(), .uid = r->uid};
    bool several = !r->has_group && r->tgid; /* a group before version 12: only its CPU time is complete */
    e.has_usage = true;
    e.has_comm = r->has_comm;
    if (e.has_comm)
        memcpy(e.comm, r->comm, sizeof(r->comm));
    /* The kernel fills in the status only for the first thread. It is the status of the group only if that thread
     * ended last. */
    e.has_status = e.pid == r->pid;
    e.status = e.has_status ? (int32_t)r->status : 0;
    e.elapsed_ns = r->elapsed_ns;
    bool total = several && r->has_total && r->total_cpu_ns > u->cpu_ns;
    e.cpu_ns = total ? r->total_cpu_ns : u->cpu_ns;
    e.cpu_unsure_ns = total ? 0 : u->cpu_unsure_ns;
    e.user_ns = several ? 0 : u->user_ns;
    e.system_ns = several ? 0 : u->system_ns;
    e.rss_peak_bytes = u->rss_peak_bytes;
    e.faults_minor = u->faults_minor;
    e.faults_major = u->faults_major;
    e.has_io = !several;
    e.io_read = u->io_read;
    e.io_write = u->io_write;
    e.io_rchar = u->io_rchar;
    e.io_wchar = u->io_wchar;
    e.has_delay = !several && u->delays > 0;
    e.run_delay_ns = u->run_delay_ns;
    return e;
}

static int handle_datagram(struct listener *t, struct span datagram, exits_event_fn *fn, void *context)
{
    int events = 0;
    struct netlink_message m;
    while (netlink_next(&datagram, &m)) {
        struct taskstats_record r;
        if (m.type != t->family || taskstats_parse(m.payload, &r) < 0)
            continue;
        if (r.has_group && !r.last) {
            keep_partial(t, &r);
            continue;
        }
        if (r.has_group)
            add_partial(t, &r);
        struct exits_event e = translate(&r);
        fn(context, &e);
        events++;
    }
    return events;
}

static int taskstats_drain(struct exits_source *s, exits_event_fn *fn, void *context)
{
    struct listener *t = (struct listener *)s;
    int events = 0, n = NETLINK_BATCH;
    for (unsigned round = 0; round < BATCHES_PER_DRAIN && n == NETLINK_BATCH && t->lost < OVERFLOWS_PER_DRAIN;
         round++) {
        n = netlink_receive(s->fd, &t->batch);
        if (n == -ENOBUFS) {
            t->lost++;
            t->n = 0; /* a group whose last record was lost would stay for ever */
            n = NETLINK_BATCH;
            continue;
        }
        if (n < 0)
            return n;
        for (int i = 0; i < n; i++)
            events += handle_datagram(t, span_of(t->text + (size_t)i * DATAGRAM, t->batch.len[i]), fn, context);
    }
    if (t->lost) {
        struct exits_event e = {.kind = EVENT_LOST, .t_ns = clock_monotonic_ns(), .uid = UINT32_MAX, .count = t->lost};
        t->lost = 0;
        fn(context, &e);
        events++;
    }
    return events;
}

/* ---- life ---- */

static uint64_t taskstats_capacity(const struct exits_source *s)
{
    return netlink_granted(s->fd) / BYTES_PER_RECORD;
}

static void taskstats_close(struct exits_source *s)
{
    struct listener *t = (struct listener *)s;
    /* Otherwise each CPU notices that the socket is closed only when the next process exits on it. */
    if (t->family)
        send_request(s->fd, t->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK, t->cpus);
    free(t);
}

int exits_taskstats_open(struct exits_source **ret, struct baro_error *err)
{
    const char *step;
    struct listener *t = calloc(1, sizeof(*t));
    if (!t)
        return error_set(err, -ENOMEM, "out of memory");
    t->base =
        (struct exits_source){EXITS_TASKSTATS, -1, taskstats_drain, taskstats_capacity, taskstats_close, 0, false};
    t->batch = (struct netlink_batch){.slot = DATAGRAM, .at = t->text};
    int code = netlink_open(NETLINK_GENERIC, 0, BUFFER_BYTES, &step);
    if (code < 0) {
        free(t);
        return error_set(err, code, "taskstats can't be opened (%s): %s", step, strerror(-code));
    }
    t->base.fd = code;
    code = list_cpus(t);
    code = code < 0 ? error_set(err, code, "taskstats can't be opened (the list of possible CPUs can't be read): %s",
                                strerror(-code))
                    : subscribe(t, err);
    if (code < 0) {
        exits_close(&t->base);
        return code;
    }
    *ret = &t->base;
    return 0;
}
