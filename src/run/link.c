/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
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

void link_wake(pid_t wrapper, pid_t command)
{
    char path[64], stat[512];
    const char *after = NULL;
    ssize_t len;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)command);
    len = fd_read_file(AT_FDCWD, path, stat, sizeof(stat));
    if (len > 0)
        after = memrchr(stat, ')', (size_t)len);
    if (after && after + 2 < stat + len && (after[2] == 'T' || after[2] == 't'))
        return;
    if (getppid() == wrapper) /* else it is gone, and its pid may be another's */
        kill(wrapper, SIGCONT);
}

void link_done(int link_fd)
{
    static const char word = 1;

    send(link_fd, &word, sizeof(word), MSG_NOSIGNAL | MSG_DONTWAIT);
}
