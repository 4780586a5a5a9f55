/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-top/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RETRY_MS 20 /* a recorder needs some milliseconds until it writes the head of the tape */

bool beside_begin(bool *ret_quiet)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    const char *how = getenv("BARO_TOP_BESIDE");
    if (!how)
        return false;
    *ret_quiet = strcmp(how, "quiet") == 0;
    unsetenv("BARO_TOP_BESIDE");
    fcntl(BESIDE_SOCKET, F_SETFD, FD_CLOEXEC);
    fcntl(BESIDE_TAPE, F_SETFD, FD_CLOEXEC);
    /* Giving the terminal back from the background must not stop us: no shell would continue us. */
    sigaction(SIGTTOU, &ignore, NULL);
    sigaction(SIGTTIN, &ignore, NULL);
    return true;
}

bool beside_heed(struct terminal *t, bool *ret_away)
{
    uint8_t request;
    ssize_t n;
    while ((n = recv(BESIDE_SOCKET, &request, 1, MSG_DONTWAIT)) == 1) {
        *ret_away = request != 0;
        if (!request)
            continue;
        if (t)
            terminal_suspend(t);
        send(BESIDE_SOCKET, &request, 1, MSG_NOSIGNAL);
    }
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

int beside_open(struct feed *f, bool *ret_away, struct baro_error *err)
{
    struct pollfd job = {.fd = BESIDE_SOCKET, .events = POLLIN};
    int code;
    snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", BESIDE_TAPE);
    while ((code = feed_open(f, err)) == BARO_E_EMPTY) {
        if (poll(&job, 1, RETRY_MS) > 0 && !beside_heed(NULL, ret_away))
            return BARO_E_ENDED;
    }
    return code;
}

bool beside_has_terminal(int terminal_fd)
{
    return tcgetpgrp(terminal_fd) == getpgrp();
}
