/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

#define CLEANUP(f) __attribute__((cleanup(f)))

static inline int fd_close(int fd)
{
    if (fd >= 0)
        close(fd);
    return -1;
}

static inline void fd_closep(int *fd)
{
    *fd = fd_close(*fd);
}

/* Is a call that failed to be made again, since a signal came? Signals are rare: if it fails so often in a row, a
 * filter (seccomp) says EINTR each time, and the call has failed. *tries: how often it failed; 0 before the first call.
 */
static inline bool fd_again(unsigned *tries)
{
    return errno == EINTR && (*tries)++ < 1000;
}

/* Reads up to cap bytes from the start of an open kernel file; retries after EINTR. Returns the length or -errno. */
ssize_t fd_pread_all(int fd, void *at, size_t cap);
/* Opens relative to dirfd with O_RDONLY|O_CLOEXEC, reads up to cap bytes, closes. Returns the length or -errno. */
ssize_t fd_read_file(int dirfd, const char *path, void *at, size_t cap);
/* The same with a single read(2), which is enough for files that the kernel writes in one piece, like most of
 * /proc/PID. */
ssize_t fd_read_record(int dirfd, const char *path, void *at, size_t cap);
/* Writes all, retrying EINTR and short counts. Returns 0 or -errno with *ret_done (may be NULL) what was written. */
int fd_write_all(int fd, const void *at, size_t len, size_t *ret_done);

/* Makes a folder and those above it. Returns 0 or -errno. */
int fd_make_folders(const char *path);

/* Opens those of standard input, output and error that are closed, on something that can neither be read nor written.
 * Otherwise a file that is opened later would get one of their numbers. */
void fd_hold_standard(void);

/* Raises this process's limit of descriptors to the hard limit; with CAP_SYS_RESOURCE to 2^20, the default of
 * fs.nr_open. */
void fd_raise_limit(void);

#endif
