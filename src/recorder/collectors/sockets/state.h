/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder and its worker share; private to this folder. */
#ifndef RECORDER_COLLECTORS_SOCKETS_STATE_H
#define RECORDER_COLLECTORS_SOCKETS_STATE_H

#include "recorder/collectors/sockets/interfaces.h"
#include "recorder/collectors/sockets/sockets.h"

struct sockets_asked {
    size_t n;
    uint64_t known_ns; /* CLOCK_MONOTONIC: forks until then are known; UINT64_MAX: all that will ever be */
    struct owner_asked of[OWNERS_MOST];
};

struct sockets_answer {
    struct sockets_totals totals;
    struct owner row[OWNERS_MOST];
};

struct sockets_shared {
    struct worker_shared worker;
    _Atomic uint32_t asked_turn, answer_turn; /* odd while it is written */
    struct sockets_asked asked;
    struct sockets_answer answer;
};

/* sockets_child.c: the worker. Its context is a struct sockets_options. */
void sockets_live(const struct worker_child *c);

/* probe.c: asks the kernel for the TCP sockets of a family in these states. Returns 0 or -errno. */
int probe_ask(int fd, uint8_t family, uint32_t states);

/* namespaces.c */
uint64_t namespace_of(int proc_fd, int32_t pid); /* inode of the namespace that the process is in; 0: not known */
/* Compares cookies, or inodes if one of the cookies is not known (0). */
bool namespaces_have(const struct namespaces *n, uint64_t inode, uint64_t cookie);
void namespaces_add(struct namespaces *n, uint64_t inode, uint64_t cookie, int32_t pid);
uint64_t namespace_cookie(int socket_fd); /* cookie of the namespace that the socket is in; 0: not known */

/* job_namespaces.c: network namespaces. Each has a descriptor to ask for its sockets, and one on which it reports their
 * ends.
 */
#define JOB_NAMESPACES_MOST 16u
#define LEFT_MOST 64u
struct job_namespace {
    uint64_t inode, cookie;      /* as in struct namespaces */
    int ask_fd, ends_fd, dev_fd; /* dev_fd: /proc/PID/net/dev of a process that was in it, which may have ended */
    bool ends_known, refused;    /* refused: it may not be entered */
    uint32_t reading;            /* the reading in which a process was in it */
    bool counted;                /* its interfaces were read */
    struct interfaces interfaces;
};
struct left_namespace {
    uint64_t inode, cookie;
    struct interfaces interfaces;
};
struct job_namespaces {
    struct job_namespace at[JOB_NAMESPACES_MOST];
    size_t n;
    struct left_namespace left[LEFT_MOST]; /* namespaces without a process now; the job may enter them again */
    size_t n_left;
    uint64_t forgotten[2];    /* what those that were left before them had received and sent */
    struct namespaces theirs; /* namespaces that others have used */
    bool all_theirs;          /* any that is found may have been counted before */
    int proc_fd, own_fd;
    bool denied;       /* some namespace could not be entered */
    bool net_any;      /* interfaces of some were read */
    bool net_is_bound; /* they may have counted more */
};
void job_namespaces_init(struct job_namespaces *p, int proc_fd);
/* Those that others have used, whose cookies are read here; the list is taken over. */
void job_namespaces_theirs(struct job_namespaces *p, const struct namespaces *theirs);
void job_namespaces_note(struct job_namespaces *p, int32_t pid, uint32_t reading);
/* Reads what their interfaces have counted; is_theirs: all of it so far was before the recording. Those that no process
 * is in any more are closed: open descriptors would keep their interfaces, whose names the job may use again. */
void job_namespaces_net(struct job_namespaces *p, uint32_t reading, bool is_theirs, struct sockets_totals *ret);

#endif
