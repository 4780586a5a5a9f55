/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/span.h"
#include "recorder/wrapper/wrapper.h"

/* Opens /dev/null. Without /dev (a bare chroot), opens a descriptor that can neither be read nor written. */
static int open_null(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC | O_NOCTTY);

    return fd >= 0 ? fd : open("/", O_PATH | O_CLOEXEC);
}

void fds_null_standard(int but)
{
    int null = open_null();

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fd == but)
            continue;
        else if (null < 0)
            close(fd);
        else if (null != fd)
            dup2(null, fd);
    if (null > STDERR_FILENO)
        close(null);
}

static bool is_kept(int fd, const int *keep, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (keep[i] == fd)
            return true;
    return false;
}

/* Closes descriptors on kernels before 5.9. Without /proc it tries all numbers up to the limit, although the limit may
 * have been lowered since they were opened. */
static void close_listed(const int *keep, size_t count)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    long max = sysconf(_SC_OPEN_MAX);

    if (dir) {
        int own = dirfd(dir);

        while ((entry = readdir(dir))) {
            struct span name = span_str(entry->d_name);
            uint64_t number;
            int fd = scan_u64(&name, &number) && number < INT_MAX ? (int)number : -1;

            if (fd > STDERR_FILENO && fd != own && !is_kept(fd, keep, count))
                close(fd);
        }
        closedir(dir);
        return;
    }
    for (int fd = STDERR_FILENO + 1; fd < max && fd < 65536; fd++)
        if (!is_kept(fd, keep, count))
            close(fd);
}

static int next_kept(int from, const int *keep, size_t count)
{
    int next = INT_MAX;

    for (size_t i = 0; i < count; i++)
        if (keep[i] >= from && keep[i] < next)
            next = keep[i];
    return next;
}

/* Closes all above stderr except those in keep. */
void fds_close_others(const int *keep, size_t count)
{
    int from = STDERR_FILENO + 1;

    while (from < INT_MAX) {
        int next = next_kept(from, keep, count);
        unsigned last = next == INT_MAX ? UINT_MAX : (unsigned)next - 1;

#ifdef SYS_close_range
        if (next > from && syscall(SYS_close_range, (unsigned)from, last, 0u) < 0) {
            close_listed(keep, count);
            return;
        }
#else
        (void)last;
        close_listed(keep, count);
        return;
#endif
        if (next == INT_MAX)
            return;
        from = next + 1;
    }
}
