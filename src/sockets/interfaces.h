/* SPDX-License-Identifier: Apache-2.0 */
/* What the interfaces of a network namespace, without lo, have counted: a sum that never falls. Pure. */
#ifndef SOCKETS_INTERFACES_H
#define SOCKETS_INTERFACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct interface {
    char name[16];    /* IFNAMSIZ */
    uint64_t last[2]; /* bytes received and sent, as read last */
    bool seen;        /* in the text that is read */
};

struct interfaces {
    struct interface *at;
    size_t n, cap;
    uint64_t total[2]; /* received and sent since the base */
};

/* Adds what they have counted since the last call; text is /proc/PID/net/dev. base: what they have counted so far was
 * before, and does not count. Returns 0, -ENOENT if some are gone (what they counted after the last call is not known),
 * or -ENOMEM. */
int interfaces_take(struct interfaces *t, struct span text, bool base);
/* Whether any has counted something yet, before the base or after. */
bool interfaces_any(const struct interfaces *t);

#endif
