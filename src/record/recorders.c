/* SPDX-License-Identifier: Apache-2.0 */
#include "record/recorders.h"

#include "base/fd.h"
#include "record/recorder.h"

void recorders_init(struct recorders *a, struct recorder *only)
{
    *a = (struct recorders){.only = only, .epoll_fd = -1, .signal_fd = -1};
}

void recorders_done(struct recorders *a)
{
    event_close(a);
    a->epoll_fd = fd_close(a->epoll_fd);
    a->signal_fd = fd_close(a->signal_fd);
}
