/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On ext4 a folder for each run would cost 0.2 ms and more (mkdir and rmdir), a file 0.04 ms; so a user's runs share a
 * folder, "baro-UID" below $TMPDIR or /tmp, that stays. $XDG_RUNTIME_DIR and /dev/shm come last, where there is no
 * other, as in a container with a read-only root: systemd-logind empties both when the user logs out, and a job that
 * goes on must be able to write.
 */
#include "recorder/marks/marks_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/span.h"
#include "libbaro/mark/lock.h"

#define BELOW "/tmp"
#define BELOW_MOST 200u
#define ENDING ".events"
#define TRIES 8

static unsigned long long random_number(void)
{
    uint64_t random = 0;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
        random = (uint64_t)(uintptr_t)&random;
    return random & 0xffffffffffff;
}

/* Does the folder belong to us alone? If so, no other user can remove it from a folder with the sticky bit. */
static bool is_private(const char *folder)
{
    struct stat st;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool is = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 0777) == 0700;
    fd_close(fd);
    return is;
}

/* Another user may have made a file with the common name: then this run gets a folder of its own. */
static int folder_below(struct marks_file *f, const char *below, char *ret, size_t cap)
{
    snprintf(ret, cap, "%s/baro-%u", below, (unsigned)geteuid());
    if (is_private(ret) || (mkdir(ret, 0700) == 0 && is_private(ret)))
        return 0;
    snprintf(ret, cap, "%s/baro-%u-%012llx", below, (unsigned)geteuid(), random_number());
    if (mkdir(ret, 0700) < 0)
        return -errno;
    snprintf(f->made, sizeof(f->made), "%s", ret);
    return 0;
}

int marks_file_lock(int fd)
{
    for (off_t i = 0; i < MARKS_LOCKS_MOST; i++) {
        struct flock lock = marks_lock_of(i, 1);
        if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
            return 0;
        if (errno != EAGAIN && errno != EACCES)
            return -errno;
    }
    return -EAGAIN;
}

/* Another recorder that sweeps may find the file before it is locked, and remove it: -EAGAIN. A file system without
 * locks is not used if there is another one (below_else). */
static int make_file(struct marks_file *f, const char *folder, bool below_else)
{
    struct stat st;
    snprintf(f->path, sizeof(f->path), "%s/%d-%012llx" ENDING, folder, (int)getpid(), random_number());
    f->fd = open(f->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (f->fd < 0)
        return -errno;
    bool swept =
        flock(f->fd, LOCK_SH | LOCK_NB) < 0 ? errno == EWOULDBLOCK : fstat(f->fd, &st) == 0 && st.st_nlink == 0;
    if (!swept && (marks_file_lock(f->fd) == 0 || !below_else))
        return 0; /* also where no file system knows locks */
    if (!swept)
        unlinkat(AT_FDCWD, f->path, 0);
    f->fd = fd_close(f->fd);
    return swept ? -EAGAIN : -ENOLCK;
}

static int make_below(struct marks_file *f, const char *below, bool below_else)
{
    char folder[sizeof(f->made)];
    int code = folder_below(f, below, folder, sizeof(folder));
    if (code < 0)
        return code;
    for (int i = 0; i < TRIES; i++) {
        code = make_file(f, folder, below_else);
        if (code != -EAGAIN)
            break;
    }
    return code;
}

int marks_file_make(struct marks_file *f)
{
    const char *const below[] = {getenv("TMPDIR"), BELOW, getenv("XDG_RUNTIME_DIR"), "/dev/shm", BELOW};
    enum { PLACES = sizeof(below) / sizeof(*below) };
    int code = -ENOENT;
    for (size_t i = 0; i < PLACES; i++) {
        if (!below[i] || *below[i] != '/' || strlen(below[i]) >= BELOW_MOST)
            continue;
        *f = (struct marks_file){.is_ours = true};
        code = make_below(f, below[i], i + 1 < PLACES);
        if (code >= 0)
            return code;
        marks_file_remove(f);
    }
    *f = (struct marks_file){0};
    return code;
}

void marks_file_remove(const struct marks_file *f)
{
    if (!f || !f->is_ours)
        return;
    if (*f->path)
        unlinkat(AT_FDCWD, f->path, 0);
    if (*f->made)
        unlinkat(AT_FDCWD, f->made, AT_REMOVEDIR);
}

/* ---- what killed recordings left ---- */

static bool is_ours(const char *name)
{
    return span_ends(span_str(name), ENDING);
}

/* A recording that has just made it, and not locked it yet, makes another. */
static void remove_unlocked(int folder_fd, const char *name)
{
    int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(folder_fd, name, 0);
    fd_close(fd);
}

void marks_file_sweep(const struct marks_file *f)
{
    char folder[sizeof(f->path)];
    const struct dirent *e;
    if (!f || !f->is_ours || !*f->path || *f->made)
        return;
    snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(f->path, '/') - f->path), f->path);
    DIR *d = opendir(folder);
    while (d && (e = readdir(d))) {
        if (is_ours(e->d_name))
            remove_unlocked(dirfd(d), e->d_name);
    }
    if (d)
        closedir(d);
}
