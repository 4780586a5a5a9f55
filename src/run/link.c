/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/wrapper.h"

/* Returns 0 or -errno: -EAGAIN when the recorder does not keep up. */
int link_put(struct wrapper *w, const struct link_message *m)
{
    if (w->link < 0)
        return -EPIPE;
    return send(w->link, m, sizeof(*m), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int link_tell(struct wrapper *w, enum link_kind kind, int64_t number)
{
    struct link_message m = w->totals;

    m.kind = kind;
    m.pid = w->command;
    m.t_ns = clock_monotonic_ns();
    m.number = number;
    m.status = w->result->wait_status; /* said again by the last word, where there is one */
    return link_put(w, &m);
}

void link_done(int link_fd)
{
    static const char word = 1;

    send(link_fd, &word, sizeof(word), MSG_NOSIGNAL | MSG_DONTWAIT);
}
