/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder and its worker share; private to this folder. */
#ifndef SOCKETS_STATE_H
#define SOCKETS_STATE_H

#include "sockets/sockets.h"

struct sockets_asked {
    size_t n;
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

/* child.c: the worker. Its context is a struct sockets_options. */
void sockets_live(const struct worker_child *c);

/* probe.c: asks the kernel for the TCP sockets of a family in these states. Returns 0 or -errno. */
int probe_ask(int fd, uint8_t family, uint32_t states);

/* places.c: network namespaces. Each has a descriptor to ask for its sockets, and one on which it reports their ends.
 */
#define PLACES_MOST 16u
struct place {
    uint64_t inode; /* of the namespace */
    int ask_fd, ends_fd, dev_fd; /* dev_fd: /proc/PID/net/dev of a process that was in it, which may have ended */
    bool ends_known;
    uint32_t reading; /* in which a process was in it */
    bool has_base;
    uint64_t base[2], last[2]; /* bytes received and sent by its interfaces, before the recording, and when read last */
};
struct places {
    struct place at[PLACES_MOST];
    size_t n;
    int proc_fd, own_fd;
    bool denied; /* some namespace could not be entered */
    bool any_gone;
    uint64_t gone[2]; /* what the interfaces of those had received and sent that no process is in any more */
};
void places_init(struct places *p, int proc_fd);
void places_note(struct places *p, int32_t pid, uint32_t reading);
/* Reads what their interfaces have counted. Those that no process is in any more are closed: open descriptors would
 * keep their interfaces, whose names the job may use again. */
void places_net(struct places *p, uint32_t reading, bool base, struct sockets_totals *ret);

#endif
