/* SPDX-License-Identifier: Apache-2.0 */
/* What the interfaces of a network namespace, without lo, have counted: sums that never fall. Reads nothing itself. */
#ifndef RECORDER_COLLECTORS_SOCKETS_INTERFACES_H
#define RECORDER_COLLECTORS_SOCKETS_INTERFACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct interface {
    char name[16];    /* IFNAMSIZ */
    uint64_t last[2]; /* bytes received and sent, as read last */
    bool seen;        /* it is in the text that is being read */
};

struct interfaces {
    struct interface *at;
    size_t n, cap;
    uint64_t total[2]; /* received and sent */
};

/* Adds to the totals what the interfaces have counted since the last call; text is /proc/PID/net/dev. is_theirs:
 * foreign processes caused the traffic, so it is not added. Returns 0, -ENOENT if there may have been more (an
 * interface was removed, renamed or made anew since the last call), or -ENOMEM. */
int interfaces_take(struct interfaces *t, struct span text, bool is_theirs);
/* Has any interface counted bytes yet, the job's or others'? */
bool interfaces_any(const struct interfaces *t);

#endif
