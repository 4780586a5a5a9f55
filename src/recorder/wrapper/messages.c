/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "recorder/wrapper/wrapper.h"

#define LINK_KIND_SAY 's'
#define LINK_KIND_DONE 'd'
#define LINK_TEXT_MOST 1024 /* at once, below PIPE_BUF */
#define SAY_TRIES 10
#define SAY_WAIT_MS 100

/* Returns 0 or -errno; -EAGAIN if the recorder is too slow. */
int link_put(struct wrapper *w, const struct link_message *m)
{
    if (w->link < 0)
        return -EPIPE;
    return send(w->link, m, sizeof(*m), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int link_report(struct wrapper *w, enum link_kind kind, int64_t number)
{
    struct link_message m = w->totals;

    m.kind = kind;
    m.pid = w->command;
    m.t_ns = clock_monotonic_ns();
    m.number = number;
    m.status = w->result->wait_status; /* for LINK_ENDED, in case LINK_REAPED of the command was lost */
    return link_put(w, &m);
}

/* ---- messages of the recorder: one byte for the kind, then the text ---- */

void link_wake(const struct link_end *link)
{
    if (link->wrapper > 1 && getppid() == link->wrapper)
        kill(link->wrapper, SIGURG); /* ignored by default, in case another process has this pid */
}

static int word_put(const struct link_end *link, char kind, const char *text, size_t len)
{
    struct iovec parts[] = {{&kind, 1}, {(void *)text, len}};
    const struct msghdr word = {.msg_iov = parts, .msg_iovlen = len ? 2 : 1};
    struct pollfd out = {.fd = link->fd, .events = POLLOUT};

    for (int i = 0; i < SAY_TRIES; i++) {
        if (sendmsg(link->fd, &word, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
            return 0;
        if (errno != EAGAIN && errno != EINTR)
            break;
        link_wake(link);
        poll(&out, 1, SAY_WAIT_MS);
    }
    return -errno;
}

void link_say(const struct link_end *link, const char *text, size_t len, bool now)
{
    for (size_t n; len; text += n, len -= n) {
        n = len < LINK_TEXT_MOST ? len : LINK_TEXT_MOST;
        if (word_put(link, LINK_KIND_SAY, text, n) < 0)
            return;
    }
    if (now)
        link_wake(link);
}

void link_done(const struct link_end *link)
{
    word_put(link, LINK_KIND_DONE, NULL, 0);
}

/* False if the reader of stderr has stopped reading. */
static bool stderr_ready(const struct wrapper *w, const struct timespec *timeout)
{
    struct pollfd out = {.fd = w->stderr_fd, .events = POLLOUT};

    return w->stderr_fd >= 0 && ppoll(&out, 1, timeout, NULL) > 0;
}

/* If poll says that a pipe can be written to, it takes this much (PIPE_BUF) at once. */
static bool stderr_put(const struct wrapper *w, const char *text, size_t len, const struct timespec *timeout)
{
    return stderr_ready(w, timeout) && write(w->stderr_fd, text, len) == (ssize_t)len;
}

void link_print(struct wrapper *w)
{
    const struct timespec at_once = {0, 0};
    char word[1 + LINK_TEXT_MOST];

    while (w->link >= 0 && !w->recorder_done && stderr_ready(w, &at_once)) {
        ssize_t n = recv(w->link, word, sizeof(word), MSG_DONTWAIT);

        if (n <= 0)
            return;
        if (*word == LINK_KIND_DONE)
            w->recorder_done = true; /* that message came right after the line that woke us */
        else if (!stderr_put(w, word + 1, (size_t)n - 1, &at_once))
            return;
    }
}

bool link_print_last(struct wrapper *w, uint64_t deadline_ns)
{
    char word[1 + LINK_TEXT_MOST];
    ssize_t n;

    while (!w->recorder_done && (n = recv(w->link, word, sizeof(word), MSG_DONTWAIT)) > 0) {
        uint64_t now = clock_monotonic_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
        const struct timespec timeout = {(time_t)(left / NS_PER_SEC), (long)(left % NS_PER_SEC)};

        if (*word == LINK_KIND_DONE)
            w->recorder_done = true;
        else
            stderr_put(w, word + 1, (size_t)n - 1, &timeout);
    }
    return w->recorder_done;
}
