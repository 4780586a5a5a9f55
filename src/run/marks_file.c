/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On ext4 a folder for each run would cost 0.2 ms and more (mkdir and rmdir), a file 0.04 ms; so a user's runs share a
 * folder, "baro-UID" below $TMPDIR or /tmp, that stays. Neither /dev/shm nor $XDG_RUNTIME_DIR would do: systemd-logind
 * empties both when the user logs out, and a job that goes on must be able to write.
 */
#include "run/marks_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define BELOW "/tmp"
#define BELOW_MOST 200u

static unsigned long long random_number(void)
{
    uint64_t random = 0;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
        random = (uint64_t)(uintptr_t)&random;
    return random & 0xffffffffffff;
}

/* Ours alone? In a folder with the sticky bit nobody else can take it away then. (Not lstat(2): run/filter.h.) */
static bool is_private(const char *folder)
{
    struct stat st;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool is = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 0777) == 0700;
    fd_close(fd);
    return is;
}

/* Somebody else may have made what has the common name: then a folder for this run alone. */
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

static int make_below(struct marks_file *f, const char *below)
{
    char folder[sizeof(f->made)];
    int code = folder_below(f, below, folder, sizeof(folder));
    if (code < 0)
        return code;
    snprintf(f->path, sizeof(f->path), "%s/%d-%012llx.events", folder, (int)getpid(), random_number());
    f->fd = open(f->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return f->fd < 0 ? -errno : 0;
}

int marks_file_make(struct marks_file *f)
{
    const char *below = getenv("TMPDIR");
    bool given = below && *below == '/' && strlen(below) < BELOW_MOST;
    *f = (struct marks_file){.is_ours = true};
    int code = given ? make_below(f, below) : -ENOENT;
    if (code < 0) {
        marks_file_remove(f);
        *f->made = 0;
        code = make_below(f, BELOW);
    }
    if (code < 0) {
        marks_file_remove(f);
        *f = (struct marks_file){0};
    }
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
