/* SPDX-License-Identifier: Apache-2.0 */
/* What share.c and share_events.c have in common; private to them. */
#ifndef RECORD_SHARE_STATE_H
#define RECORD_SHARE_STATE_H

#include "base/clock.h"
#include "exits/share_wire.h"
#include "record/share.h"
#include "record/share_table.h"

#define SHARE_CLIENTS_MOST 1024u
#define SHARE_CLIENTS_OF_USER 512u       /* but root's */
#define SHARE_PIDS_OF_CLIENT 65536u
#define SHARE_PIDS_IN_ALL 1048576u
#define SHARE_QUEUE_MOST (256u << 10)    /* bytes that are kept for a recorder that does not read */
#define SHARE_QUEUES_OF_USER (64u << 20) /* of all recorders of a user but root */
#define SHARE_SLACK (20 * NS_PER_MS)     /* start times are rounded down to 10 ms */

/* Encoded events that were not sent yet. */
struct share_queue {
    unsigned char *at;
    size_t len, cap;
};

struct share_client {
    int fd;
    uint32_t uid;
    int32_t pid;
    uint64_t start; /* in ticks, which tells it from another process with this pid */
    struct share_entry *entries;
    size_t n_entries;
    struct share_queue usage, forks; /* usage is sent first (exits/observer.c) */
    uint64_t oldest_ns;              /* when the first event was queued; 0: none is */
    uint64_t lost, lost_usage;       /* losses that it was not told of yet */
    uint64_t asked;                  /* the number of a request that is to be replied to; 0: none */
    uint32_t refused;                /* processes of this request */
    uint64_t window_ns;              /* requests since then */
    unsigned requests;
    bool over;                       /* to be removed */
};

struct share {
    int listen_fd, epoll_fd, proc_fd;
    bool has_usage, lost; /* lost: events, since the source was last read until nothing was queued */
    char path[108];
    uint64_t inode; /* of the socket */
    struct share_client *at[SHARE_CLIENTS_MOST];
    size_t n;
    struct share_table table;
    uint64_t read_ns;   /* requests that were sent before have been read */
    uint64_t due_ns;    /* share_flush(); UINT64_MAX: nothing to send */
};

void share_forget(struct share *s, struct share_client *c, struct share_entry *e);
void share_forget_older(struct share *s, int32_t pid, uint64_t began_ns); /* of a process that had this pid before */
void share_forget_all(struct share *s, struct share_client *c);
void share_drop(struct share *s); /* those that are over */
void share_reply(struct share *s, struct share_client *c); /* SHARE_DONE at once */

#endif
