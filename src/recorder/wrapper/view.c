/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live view beside the job (`baro run --top`, programs/baro/beside.h) leaves the terminal before the wrapper stops.
 * A shell that sees the stop prints its message and its prompt, and sets the terminal's modes. If the view left the
 * alternate screen after that, message and prompt would be gone with it, and the modes would be those before the job.
 * Example: the view gets no CPU time for 0.2 s after Ctrl-Z; the terminal is empty, and the prompt does not come.
 *
 * A request is one byte, a number from 1 to 255; the view answers with the same number once it has left. 0 lets it
 * return, and is not answered. The number distinguishes the answer from one to an earlier request, whose stop was over
 * before the view had left.
 */
#include <errno.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "recorder/wrapper/wrapper.h"

/* A view that somebody stopped, or that hangs, must not keep the shell from its terminal for ever. */
#define LEAVE_NS (10 * NS_PER_SEC)

static bool send_byte(const struct wrapper *w, uint8_t byte)
{
    return send(w->beside_fd, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

/* Returns true if the request was answered, or there is no view any more. */
static bool is_answered(const struct wrapper *w)
{
    uint8_t answer;
    ssize_t n;

    do {
        n = recv(w->beside_fd, &answer, 1, MSG_DONTWAIT);
    } while (n == 1 && answer != w->view_request);
    return n >= 0 || errno != EAGAIN;
}

bool view_leaves(struct wrapper *w)
{
    if (w->beside_fd < 0 || w->view_left)
        return true;
    if (!w->view_asked_ns) {
        w->view_asked_ns = clock_monotonic_ns();
        w->view_request = (uint8_t)(w->view_request % UINT8_MAX + 1);
        w->view_left = !send_byte(w, w->view_request);
    }
    w->view_left = w->view_left || is_answered(w) || clock_monotonic_ns() >= w->view_asked_ns + LEAVE_NS;
    return w->view_left;
}

void view_let_return(struct wrapper *w)
{
    if (w->view_asked_ns)
        send_byte(w, 0);
    w->view_asked_ns = 0;
    w->view_left = false;
}
