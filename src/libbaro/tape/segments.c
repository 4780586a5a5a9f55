/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/tape/segments.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/span.h"
#include "libbaro/tape/create.h"
#include "libbaro/tape/folder.h"

#define DIGITS 6u
#define NUMBER_MOST 999999999u /* from 1000000 on names have more than six digits */

void segment_name(uint32_t number, char ret[static SEGMENT_NAME_SIZE])
{
    snprintf(ret, SEGMENT_NAME_SIZE, "%06u.baro", number % (NUMBER_MOST + 1));
}

/* Returns the number in the name of a segment; 0: it is another name. */
static uint32_t number_of(const char *name)
{
    char again[SEGMENT_NAME_SIZE];
    struct span s = span_str(name);
    uint64_t n;
    if (!scan_u64(&s, &n) || n == 0 || n > NUMBER_MOST)
        return 0;
    segment_name((uint32_t)n, again);
    return strcmp(name, again) == 0 ? (uint32_t)n : 0;
}

int segments_add(struct segments *s, uint32_t number, const struct stat *file)
{
    if (array_reserve(&s->at, s->n + 1, &s->cap, sizeof(*s->at)) < 0)
        return -ENOMEM;
    s->at[s->n++] = (struct segment){.number = number, .file = *file};
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const struct segment *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

int segments_list(int dir_fd, struct segments *s)
{
    uint32_t last = s->n ? s->at[s->n - 1].number : 0;
    size_t before = s->n;
    struct dirent *e;
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        r = -errno;
        fd_close(fd);
        return r;
    }
    while (r == 0 && (e = readdir(d)) != NULL) {
        struct stat st;
        uint32_t number = number_of(e->d_name);
        if (number > last && fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            r = segments_add(s, number, &st);
    }
    closedir(d);
    if (r == 0 && s->n > before)
        qsort(s->at + before, s->n - before, sizeof *s->at, by_number);
    return r < 0 ? r : (int)(s->n - before);
}

void segments_done(struct segments *s)
{
    free(s->at);
    *s = (struct segments){0};
}

uint64_t segments_bytes(int dir_fd)
{
    struct segments s = {0};
    uint64_t bytes = 0;
    segments_list(dir_fd, &s);
    for (size_t i = 0; i < s.n; i++)
        bytes += (uint64_t)s.at[i].file.st_size;
    segments_done(&s);
    return bytes;
}

static bool in_work(int dir_fd, const struct segments *s)
{
    char name[SEGMENT_NAME_SIZE];
    if (!s->n)
        return false;
    segment_name(s->at[s->n - 1].number, name);
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    bool yes = fd >= 0 && tape_in_work(fd);
    fd_close(fd);
    return yes;
}

bool segments_in_work(int dir_fd)
{
    struct segments s = {0};
    segments_list(dir_fd, &s);
    bool yes = in_work(dir_fd, &s);
    segments_done(&s);
    return yes;
}

static int remove_one(int dir_fd, const struct segment *s)
{
    char name[SEGMENT_NAME_SIZE];
    segment_name(s->number, name);
    int r = folder_remove(dir_fd, name, &s->file);
    return r == -ENOENT ? 0 : r;
}

static int remove_all(int dir_fd, const struct segments *s)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < s->n; i++)
        r = remove_one(dir_fd, &s->at[i]);
    return r;
}

/* Repeats if a recorder adds a segment meanwhile. After the folder was removed, nothing can be made in it (ENOENT). */
int segments_remove(int parent_fd, const char *name, bool running)
{
    enum { TRIES = 10 };
    int r = -ENOTEMPTY, fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    for (int i = 0; r == -ENOTEMPTY && i < TRIES; i++) {
        struct segments s = {0};
        r = segments_list(fd, &s);
        if (r == 0 && i == 0)
            r = -ENOTDIR; /* not a tape */
        else if (r >= 0)
            r = !running && in_work(fd, &s) ? -EBUSY : remove_all(fd, &s);
        segments_done(&s);
        if (r == 0 && unlinkat(parent_fd, name, AT_REMOVEDIR) < 0)
            r = -errno;
    }
    fd_close(fd);
    return r;
}
