/* SPDX-License-Identifier: Apache-2.0 */
/* The worker: makes a reading each time it is asked. */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dir.h"
#include "base/fd.h"
#include "kernel/events/netlink.h"
#include "kernel/proc/procfs.h"
#include "recorder/collectors/sockets/state.h"

#define DATAGRAM 32768u
#define DATAGRAMS 8u
/* The kernel reports the end of a socket a little later. */
#define ENDS_TRIES 5
#define ENDS_WAIT (2 * NS_PER_MS)
/* Some thousand reports fit into the receive buffer: with more than this at a time they are also read in between. */
#define ENDS_OFTEN 200u
#define ENDS_PERIOD (NS_PER_SEC / 4)
#define TIME_WAIT_STATES (1u << TCP_TIME_WAIT | 1u << TCP_SYN_RECV | 1u << 12) /* 12: TCP_NEW_SYN_RECV */

struct reader {
    struct sockets_shared *shared;
    const struct sockets_options *options;
    struct owners owners;
    struct job_namespaces namespaces;
    struct netlink_batch batch;
    struct sockets_asked asked;
    struct sockets_totals totals;
    uint32_t asked_seen;
    size_t owner; /* the process whose descriptors are read */
    int fd_dir;
    size_t ends; /* reports of ends since the last time that these were read */
    bool denied; /* the descriptors of some process may not be read */
    int failed;  /* -errno */
};

/* ---- the kernel's answers ---- */

static void each_socket(struct reader *r, uint64_t netns, size_t n, bool ended, bool *ret_done)
{
    struct netlink_message m;
    struct diag_socket s;
    for (size_t i = 0; i < n; i++) {
        struct span datagram = span_of((const char *)r->batch.at + i * r->batch.slot, r->batch.len[i]);
        while (netlink_next(&datagram, &m)) {
            *ret_done = *ret_done || m.type == NLMSG_DONE || m.type == NLMSG_ERROR;
            if (m.type != SOCK_DIAG_BY_FAMILY || !diag_parse(m.payload, &s))
                continue;
            s.netns = netns;
            if (ended)
                owners_ended(&r->owners, &s);
            else if (owners_socket(&r->owners, &s) < 0)
                r->failed = -ENOMEM;
        }
    }
}

/* Reads the reports of ends. Leaves out sockets of a namespace without a process of the job. */
static void read_ends(struct reader *r, struct job_namespace *p)
{
    bool done = false;
    int n;
    while (p->ends_known && (n = netlink_receive(p->ends_fd, &r->batch)) != 0) {
        worker_progress(&r->shared->worker);
        r->owners.ends_ns = clock_monotonic_ns();
        if (n > 0) {
            r->ends += (size_t)n;
            if (p->reading && !r->owners.base)
                each_socket(r, p->inode, (size_t)n, true, &done);
            continue;
        }
        r->owners.is_bound = true; /* some were lost */
        if (n != -ENOBUFS)
            p->ends_known = false;
    }
}

/* Reads a dump of sockets. The kernel writes each part when the previous part was received. Returns false if the kernel
 * refuses the dump. */
static bool dump(struct reader *r, const struct job_namespace *p, uint8_t family)
{
    bool done = false;
    if (p->ask_fd < 0 || probe_ask(p->ask_fd, family, ~TIME_WAIT_STATES) < 0)
        return false;
    while (!done) {
        int n = netlink_receive(p->ask_fd, &r->batch);
        if (n <= 0)
            return false;
        worker_progress(&r->shared->worker);
        each_socket(r, p->inode, (size_t)n, false, &done);
    }
    return true;
}

/* ---- descriptors ---- */

static bool on_descriptor(void *context, const char *name, size_t len)
{
    static const char prefix[] = "socket:[";
    struct reader *r = context;
    char text[64];
    uint64_t inode;
    (void)len;
    if (*name == '.')
        return true;
    ssize_t n = readlinkat(r->fd_dir, name, text, sizeof(text));
    worker_progress(&r->shared->worker);
    if (n < (ssize_t)sizeof(prefix) || memcmp(text, prefix, sizeof(prefix) - 1))
        return true;
    struct span digits = span_of(text + sizeof(prefix) - 1, (size_t)n - sizeof(prefix) + 1);
    if (scan_u64(&digits, &inode) && inode && inode <= UINT32_MAX &&
        owners_hold(&r->owners, r->owner, (uint32_t)inode) < 0)
        r->failed = -ENOMEM;
    return true;
}

/* The process may have ended meanwhile, and another one may have its pid: those descriptors do not count. */
static uint8_t read_descriptors(struct reader *r, struct baro_key key)
{
    char path[32], text[2048];
    struct pid_stat st;
    snprintf(path, sizeof(path), "%d", key.pid);
    int dir = openat(r->options->proc_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    ssize_t n = dir < 0 ? -errno : fd_read_record(dir, "stat", text, sizeof(text));
    bool is_it = n > 0 && pid_stat_parse(span_of(text, (size_t)n), &st) == 0 && st.starttime == key.start;
    r->fd_dir = is_it ? openat(dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int error = is_it && r->fd_dir < 0 ? errno : is_it ? 0 : ESRCH;
    fd_close(dir);
    if (r->fd_dir < 0)
        return (uint8_t)proc_absent(error);
    job_namespaces_note(&r->namespaces, key.pid, r->owners.reading);
    int code = dir_each(r->fd_dir, on_descriptor, r);
    r->fd_dir = fd_close(r->fd_dir);
    return code < 0 ? (uint8_t)proc_absent(-code) : BARO_PRESENT;
}

static void read_processes(struct reader *r)
{
    for (r->owner = 0; r->owner < r->owners.n; r->owner++) {
        struct owner *o = &r->owners.at[r->owner];
        o->absent = read_descriptors(r, o->key);
        r->denied = r->denied || o->absent == BARO_ABSENT_DENIED;
    }
    r->owners.unsure = r->denied;
}

/* ---- a reading ---- */

static void read_all_ends(struct reader *r)
{
    r->owners.ends_known = true;
    for (size_t i = 0; i < r->namespaces.n; i++) {
        read_ends(r, &r->namespaces.at[i]);
        r->owners.ends_known = r->owners.ends_known && r->namespaces.at[i].ends_known;
    }
}

static void publish_owners(struct reader *r, uint64_t cpu_ns)
{
    struct sockets_answer *to = &r->shared->answer;
    struct sockets_totals *t = &r->totals;
    const struct owners *o = &r->owners;
    owners_look(&r->owners);
    t->sent = o->sent;
    t->received = o->received;
    t->unattributed_sent = o->unattributed_sent;
    t->unattributed_received = o->unattributed_received;
    t->is_bound = o->is_bound || r->denied || r->namespaces.denied || !o->ends_known || owners_pending(o);
    t->net_is_bound = t->net_is_bound || r->denied;
    t->any = o->any;
    t->unsettled = listeners_any_unsettled(o->listeners);
    t->denied = r->namespaces.denied || r->denied;
    t->cpu_ns = cpu_ns;
    t->n = (uint32_t)o->n;
    t->asked = r->asked_seen;
    worker_write_begin(&r->shared->answer_turn);
    to->totals = *t;
    memcpy(to->row, o->at, o->n * sizeof(*o->at));
    worker_write_end(&r->shared->answer_turn);
}

static void read_sockets(struct reader *r)
{
    uint64_t begin_ns = 0, end_ns = 0;
    bool first = r->owners.reading == 0, any = false;
    clock_process_cpu_ns(0, &begin_ns);
    r->ends = 0;
    r->owners.base = first && r->options->attached;
    if (first)
        read_all_ends(r); /* if the recording attaches, they existed before it */
    r->owners.known_ns = r->asked.known_ns;
    owners_begin(&r->owners, r->asked.of, r->asked.n);
    read_processes(r);
    for (size_t i = 0; i < r->namespaces.n && (r->owners.holders.n || r->owners.n_sockets); i++) {
        if (!r->namespaces.at[i].reading)
            continue;
        bool ipv4 = dump(r, &r->namespaces.at[i], AF_INET), ipv6 = dump(r, &r->namespaces.at[i], AF_INET6);
        any |= ipv4 && ipv6;
    }
    r->owners.base = false;
    read_all_ends(r); /* after it is known who listens */
    r->totals.absent = any || !r->owners.holders.n ? BARO_PRESENT : BARO_ABSENT_UNSUPPORTED;
    owners_end(&r->owners);
    for (int i = 0; i < ENDS_TRIES && r->owners.ends_known && owners_pending(&r->owners); i++) {
        nanosleep(&(struct timespec){.tv_nsec = ENDS_WAIT}, NULL);
        read_all_ends(r);
    }
    job_namespaces_net(&r->namespaces, r->owners.reading, first && r->options->attached, &r->totals);
    clock_process_cpu_ns(0, &end_ns);
    publish_owners(r, end_ns - begin_ns);
}

static void read_between(struct reader *r)
{
    bool often = r->ends > ENDS_OFTEN;
    r->ends = 0;
    if (often)
        read_all_ends(r);
}

/* Copies the keys that were asked for, as many as there are. */
static bool copy_asked(struct reader *r)
{
    struct sockets_shared *from = r->shared;
    uint32_t turn = r->asked_seen, again = r->asked_seen;
    if (!worker_copy(&r->asked, &from->asked, offsetof(struct sockets_asked, of), &from->asked_turn, &turn) ||
        r->asked.n > OWNERS_MOST ||
        !worker_copy(r->asked.of, from->asked.of, r->asked.n * sizeof(*r->asked.of), &from->asked_turn, &again) ||
        turn != again)
        return false;
    r->asked_seen = turn;
    return true;
}

void sockets_live(const struct worker_child *c)
{
    struct reader *r = calloc(1, sizeof(*r)); /* too large for the stack */
    if (!r)
        return;
    r->shared = c->shared;
    r->options = c->context;
    r->fd_dir = -1;
    r->batch = (struct netlink_batch){.slot = DATAGRAM, .most = DATAGRAMS, .at = malloc(DATAGRAM * NETLINK_BATCH)};
    if (!r->batch.at || owners_init(&r->owners) < 0)
        return;
    job_namespaces_init(&r->namespaces, r->options->proc_fd);
    job_namespaces_theirs(&r->namespaces, &r->options->before); /* a copy: the memory is this process's */
    r->namespaces.all_theirs = r->options->restarted;
    while (!r->failed) {
        worker_progress(&r->shared->worker);
        bool asked = copy_asked(r);
        if (asked)
            read_sockets(r);
        else
            read_between(r);
        worker_idle(&r->shared->worker);
        if (asked)
            worker_done(c);
        worker_rest(c, r->ends > ENDS_OFTEN ? ENDS_PERIOD : NS_PER_SEC * 3600);
    }
    owners_done(&r->owners);
}
