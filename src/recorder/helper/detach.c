/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/helper/detach.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/span.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static bool is_kept(const int *kept, size_t n, uint64_t fd)
{
    for (size_t i = 0; i < n; i++) {
        if (kept[i] >= 0 && (uint64_t)kept[i] == fd)
            return true;
    }
    return false;
}

/* Closes descriptors on kernels without close_range(2) (before 5.9): those in /proc/self/fd or, if that can't be read,
 * all numbers up to the limit, within reason. */
static void close_listed(const int *kept, size_t n)
{
    DIR *d = opendir("/proc/self/fd");
    if (!d) {
        for (int fd = 0; fd < 65536; fd++) {
            if (!is_kept(kept, n, (uint64_t)fd))
                close(fd);
        }
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(d))) {
        struct span name = span_str(entry->d_name);
        uint64_t fd;
        if (scan_u64(&name, &fd) && !is_kept(kept, n, fd) && fd != (uint64_t)dirfd(d))
            close((int)fd);
    }
    closedir(d);
}

static void close_others(const int *kept, size_t n)
{
    int64_t before = -1; /* all descriptors up to this one are closed or kept */
    for (;;) {
        int64_t next = INT64_MAX;
        for (size_t i = 0; i < n; i++) {
            if (kept[i] > before && kept[i] < next)
                next = kept[i];
        }
        unsigned last = next == INT64_MAX ? ~0u : (unsigned)(next - 1);
        if (next > before + 1 && syscall(SYS_close_range, (unsigned)(before + 1), last, 0u) != 0) {
            close_listed(kept, n);
            return;
        }
        if (next == INT64_MAX)
            return;
        before = next;
    }
}

/* Ignores the signals of a terminal, which are for the job. The helper ends when the recorder ends, because its socket
 * is closed then. */
static void reset_signals(void)
{
    static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU};
    sigset_t none;
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
        signal(ignored[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void helper_detach(const int *kept, size_t n)
{
    close_others(kept, n);
    reset_signals();
}
