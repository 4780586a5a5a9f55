/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TCP of the job's processes: what the kernel counts for their sockets. A worker (recorder/helper/worker.h) finds the
 * sockets of each process among its descriptors, and asks the kernel for all sockets (sock_diag).
 */
#ifndef RECORDER_COLLECTORS_SOCKETS_SOCKETS_H
#define RECORDER_COLLECTORS_SOCKETS_SOCKETS_H

#include "base/error.h"
#include "recorder/collectors/sockets/owners.h"
#include "recorder/helper/worker.h"

/* Network namespaces. The inode of one that has ended may be used again; the cookie (SO_NETNS_COOKIE, since Linux 5.14)
 * is used once. */
struct namespaces {
    struct {
        uint64_t inode, cookie; /* cookie 0: not known */
        int32_t pid;            /* a process that was in it; 0: none */
    } * at;
    size_t n, cap;
};

/* Those that there are now, without their cookies; at is allocated. */
void namespaces_list(struct namespaces *ret, int proc_fd);

struct sockets_options {
    int proc_fd;   /* directory descriptor of /proc; borrowed */
    bool attached; /* what sockets have at the first reading was before the recording */
    /* For the worker, which gets a copy. */
    struct namespaces before; /* network namespaces that there were when the recording began */
    bool restarted;           /* another worker has counted before this one */
};

struct sockets_totals { /* bytes and no bool, as in struct owner */
    uint64_t sent, received, unattributed_sent, unattributed_received;
    uint64_t cpu_ns; /* of the last reading */
    /* of the network namespaces of the job's processes that are not the recorder's: all interfaces but lo */
    uint64_t net_received, net_sent;
    uint8_t net_absent, absent; /* enum baro_absent */
    uint8_t is_bound;           /* sent and received may be too small */
    uint8_t net_is_bound;       /* net_sent and net_received may be */
    uint8_t any, denied;        /* some process had a socket; some process or namespace may not be read */
    uint8_t unsettled;          /* ended connections that a later request can attribute */
    uint32_t n;                 /* processes */
    uint32_t asked;             /* which request it answers */
};

/* What is possible here, for `baro doctor`: each 0 or -errno. */
struct sockets_probe {
    int ends;  /* reports of sockets that ended */
    int enter; /* entering a network namespace */
};
void sockets_probe(struct sockets_probe *ret);

struct sockets;

/* Takes the list of options->before over; if it has none, it lists the network namespaces that there are now, which is
 * too late if the job may have made some. */
int sockets_new(struct sockets **ret, const struct sockets_options *options, struct baro_error *err);
/* Asks for a reading of n processes, which are written in between; there is room for OWNERS_MOST. known_ns: the forks
 * until then are known, on CLOCK_MONOTONIC. */
struct owner_asked *sockets_ask_begin(struct sockets *s);
void sockets_ask_end(struct sockets *s, size_t n, uint64_t known_ns);
/* Takes the last reading. Returns false if there is no new one; the rows are valid until the next call. */
bool sockets_take(struct sockets *s, struct sockets_totals *ret, const struct owner **ret_rows);
enum worker_trouble sockets_turn(struct sockets *s);
bool sockets_is_answered(const struct sockets *s);      /* the reading taken last answers the last request */
bool sockets_wait(struct sockets *s, uint64_t most_ns); /* for the reading that was asked for */
struct worker *sockets_worker(struct sockets *s);
void sockets_free(struct sockets *s); /* NULL allowed */

#endif
