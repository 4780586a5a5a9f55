/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper with a recorder that only listens: it serves to test and time what the wrapper itself does to a command.
 * `wrapdummy [-q] [--no-subreaper] [--log FILE] [--] COMMAND...`; the log gets one line per message.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "recorder/wrapper/messages.h"
#include "recorder/wrapper/run.h"

struct dummy {
    int log;
};

static void log_message(int log, const struct link_message *m)
{
    static const char *const names[] = {"?", "started", "failed", "reaped", "signal", "stopped", "continued", "ended"};

    dprintf(
        log,
        "%s pid=%d number=%lld status=%d stat=%u io=%d cpu_ns=%llu user_ns=%llu system_ns=%llu maxrss=%llu reaped=%llu "
        "total_maxrss=%llu floor=%llu\n",
        names[m->kind < 8 ? m->kind : 0], m->pid, (long long)m->number, m->status, m->stat_len, m->io_known,
        (unsigned long long)m->cpu_ns, (unsigned long long)m->user_ns, (unsigned long long)m->system_ns,
        (unsigned long long)m->maxrss_bytes, (unsigned long long)m->total_reaped,
        (unsigned long long)m->total_maxrss_bytes, (unsigned long long)m->floor_rss_bytes);
}

static int drain(void *context, const struct link_end *link)
{
    const struct dummy *d = context;
    struct pollfd in = {.fd = link->fd, .events = POLLIN};
    struct link_message m;

    for (;;) {
        ssize_t len;

        poll(&in, 1, -1);
        len = recv(link->fd, &m, sizeof(m), MSG_DONTWAIT);
        if (len == 0) {
            link_done(link);
            return 0;
        }
        if (len == (ssize_t)sizeof(m)) {
            if (d->log >= 0)
                log_message(d->log, &m);
        }
    }
}

int main(int argc, char **argv)
{
    struct dummy dummy = {.log = -1};
    struct run_options options = {.subreaper = true, .tape_fd = -1, .events_fd = -1, .folder_fd = -1};
    struct run_result result;
    struct baro_error err = BARO_ERROR_INIT;
    int i;

    fd_hold_standard();
    for (i = 1; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        if (strcmp(argv[i], "--no-subreaper") == 0)
            options.subreaper = false;
        if (strcmp(argv[i], "--log") == 0 && i + 1 < argc)
            dummy.log = open(options.tape_path = argv[++i], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    if (i >= argc)
        return 125;
    options.argv = argv + i;
    options.tape_fd = dummy.log;
    if (run_wrapper(&options, drain, &dummy, &result, &err) < 0) {
        dprintf(STDERR_FILENO, "%s\n", err.text);
        return 125;
    }
    if (result.exec_errno)
        dprintf(result.stderr_fd, "baro: can't run %s: %s\n", argv[i], strerror(result.exec_errno));
    run_die_like(&result);
}
