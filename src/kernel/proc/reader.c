/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls of this folder. All paths are relative to root_fd, so that captured trees are read like a machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "baro/metric.h"
#include "base/dir.h"
#include "base/fd.h"
#include "kernel/proc/procfs.h"
#include "kernel/proc/text.h"

enum { PATH_SIZE = 96 }; /* "2147483647/task/2147483647/children" has 36 bytes */

/* Makes "PID/what" without snprintf(), which takes 0.2 us. Returns 0 or -ENAMETOOLONG. */
static int path_make(char path[PATH_SIZE], int32_t pid, const char *what)
{
    char digits[12];
    size_t n = 0, at = 0, len = strlen(what);
    uint32_t rest = pid > 0 ? (uint32_t)pid : 0;
    do {
        digits[n++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (n + 1 + len >= PATH_SIZE)
        return -ENAMETOOLONG;
    while (n)
        path[at++] = digits[--n];
    path[at++] = '/';
    memcpy(path + at, what, len + 1);
    return 0;
}

ssize_t proc_read(int root_fd, int32_t pid, const char *what, void *at, size_t cap)
{
    char path[PATH_SIZE];
    int r = path_make(path, pid, what);
    return r < 0 ? r : fd_read_file(root_fd, path, at, cap);
}

ssize_t proc_read_record(int root_fd, int32_t pid, const char *what, void *at, size_t cap)
{
    char path[PATH_SIZE];
    int r = path_make(path, pid, what);
    return r < 0 ? r : fd_read_record(root_fd, path, at, cap);
}

int proc_read_stat(int root_fd, int32_t pid, struct pid_stat *ret)
{
    char text[2048];
    ssize_t n = proc_read_record(root_fd, pid, "stat", text, sizeof(text));
    return n < 0 ? (int)n : pid_stat_parse(span_of(text, (size_t)n), ret);
}

int proc_read_status(int root_fd, int32_t pid, struct pid_status *ret)
{
    char text[4096];
    ssize_t n = proc_read_record(root_fd, pid, "status", text, sizeof(text));
    return n < 0 ? (int)n : pid_status_parse(span_of(text, (size_t)n), ret);
}

uint64_t proc_read_start(int root_fd, int32_t pid)
{
    struct pid_stat st;
    return proc_read_stat(root_fd, pid, &st) == 0 ? st.starttime : 0;
}

int proc_open(int root_fd, int32_t pid, const char *what, int flags)
{
    char path[PATH_SIZE];
    int r = path_make(path, pid, what);
    if (r < 0)
        return r;
    int fd = openat(root_fd, path, O_RDONLY | O_CLOEXEC | flags);
    return fd < 0 ? -errno : fd;
}

int proc_same_memory(int32_t a, int32_t b)
{
    long order = syscall(SYS_kcmp, (pid_t)a, (pid_t)b, KCMP_VM, 0ul, 0ul);
    return order < 0 ? -errno : order == 0;
}

/* ---- directories ---- */

struct numbers {
    bool (*fn)(void *context, int32_t id);
    void *context;
    int n;
};

static bool number_entry(void *context, const char *name, size_t len)
{
    struct numbers *numbers = context;
    uint64_t id = 0;
    const char *end = text_digits(name, name + len, &id);
    if (end != name + len || !len || !id || id > INT32_MAX)
        return true;
    numbers->n++;
    return !numbers->fn || numbers->fn(numbers->context, (int32_t)id);
}

static int numbers_in(int dir_fd, struct numbers *numbers)
{
    if (dir_fd < 0)
        return dir_fd;
    int r = dir_each(dir_fd, number_entry, numbers);
    fd_close(dir_fd);
    return r < 0 ? r : numbers->n;
}

int proc_each_task(int root_fd, int32_t pid, bool (*fn)(void *context, int32_t tid), void *context)
{
    struct numbers numbers = {fn, context, 0};
    return numbers_in(proc_open(root_fd, pid, "task", O_DIRECTORY), &numbers);
}

int proc_each_process(int root_fd, bool (*fn)(void *context, int32_t pid), void *context)
{
    struct numbers numbers = {fn, context, 0};
    int fd = openat(root_fd, ".", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    return numbers_in(fd < 0 ? -errno : fd, &numbers);
}

struct thread_search {
    int root_fd;
    int32_t pid, found;
    struct pid_stat *stat;
};

static bool has_memory(struct thread_search *s, int32_t tid)
{
    char text[2048], name[32];
    snprintf(name, sizeof(name), "task/%d/stat", tid);
    ssize_t n = proc_read_record(s->root_fd, s->pid, name, text, sizeof(text));
    return n > 0 && pid_stat_parse(span_of(text, (size_t)n), s->stat) == 0 && s->stat->state != 'Z' &&
           s->stat->state != 'X' && s->stat->vsize;
}

static bool search_thread(void *context, int32_t tid)
{
    struct thread_search *s = context;
    if (tid != s->pid && has_memory(s, tid))
        s->found = tid;
    return !s->found;
}

int32_t proc_living_thread(int root_fd, int32_t pid, int32_t before, struct pid_stat *ret)
{
    struct thread_search s = {root_fd, pid, 0, ret};
    if (before && has_memory(&s, before))
        return before;
    proc_each_task(root_fd, pid, search_thread, &s);
    return s.found;
}

/* ---- descriptors ---- */

static bool descriptor_entry(void *context, const char *name, size_t len)
{
    uint64_t fd; /* may be 0, which numbers_in() would skip */
    if (len && text_digits(name, name + len, &fd) == name + len)
        ++*(int64_t *)context;
    return true;
}

/* Is it a directory of procfs, and not of a captured tree? In procfs the block size is 1024, and it has no blocks. */
static bool is_procfs(const struct stat *st)
{
    return st->st_blksize == 1024 && st->st_blocks == 0;
}

int64_t proc_count_held_fds(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    return is_procfs(&st) ? st.st_size : 0;
}

int64_t proc_count_fds(int root_fd, int32_t pid)
{
    char path[PATH_SIZE];
    struct stat st;
    int64_t n = 0;
    int r = path_make(path, pid, "fd");
    if (r < 0)
        return r;
    if (fstatat(root_fd, path, &st, 0) < 0)
        return -errno;
    if (is_procfs(&st) && st.st_size > 0)
        return st.st_size;
    int fd = proc_open(root_fd, pid, "fd", O_DIRECTORY);
    if (fd < 0) {
        /* Size 0 means: no descriptors, or a kernel before 6.2. This process has some, so its own size decides. */
        bool counts = is_procfs(&st) && fstatat(root_fd, "self/fd", &st, 0) == 0 && is_procfs(&st) && st.st_size > 0;
        return counts && (fd == -EACCES || fd == -EPERM) ? 0 : fd;
    }
    r = dir_each(fd, descriptor_entry, &n);
    fd_close(fd);
    return r < 0 ? r : n;
}

int proc_absent(int error)
{
    switch (error) {
    case ENOENT:
    case ESRCH: return BARO_ABSENT_GONE;
    case EACCES:
    case EPERM: return BARO_ABSENT_DENIED;
    default: return BARO_ABSENT_UNSUPPORTED;
    }
}

/* ---- pidfds ---- */

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* struct pidfd_info of linux/pidfd.h, and the bit of its mask that asks for the exit status. */
struct pidfd_exit {
    uint64_t mask, cgroup;
    uint32_t ids[11];
    int32_t status;
};
#define PIDFD_EXIT_INFO (UINT64_C(1) << 3)
#define PIDFD_EXIT_GET _IOWR(0xFF, 11, struct pidfd_exit)

int proc_pidfd(int32_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0u);
    return fd < 0 ? -errno : fd;
}

int proc_exit_status(int pidfd)
{
    struct pidfd_exit info = {.mask = PIDFD_EXIT_INFO};
    if (ioctl(pidfd, PIDFD_EXIT_GET, &info) < 0)
        return -errno;
    return info.mask & PIDFD_EXIT_INFO ? info.status : -ENODATA;
}
