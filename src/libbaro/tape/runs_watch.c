/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor that is readable when there are new runs. include/baro/runs.h describes it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "baro/runs.h"
#include "base/error.h"
#include "base/fd.h"
#include "libbaro/tape/folder.h"
#include "libbaro/tape/runs.h"

struct baro_runs_watch {
    int fd; /* inotify descriptor */
};

/* Watches the folder by its descriptor: its path may lead to another folder by now. */
static int watch_folder(int fd, int folder)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", folder);
    uint32_t what = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR;
    return inotify_add_watch(fd, path, what) < 0 ? -errno : 0;
}

static int open_folder(const char *folder, struct baro_error *err)
{
    struct buf path = {0};
    int fd = folder ? folder_open(folder, false, err) : runs_open(&path, NULL, err);
    buf_done(&path);
    return fd;
}

int baro_runs_watch(struct baro_runs_watch **ret, const char *folder, struct baro_error *err)
{
    int dir = open_folder(folder, err);
    if (dir < 0)
        return dir;
    struct baro_runs_watch *w = malloc(sizeof *w);
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    int r = !w ? -ENOMEM : fd < 0 ? -errno : watch_folder(fd, dir);
    fd_close(dir);
    if (r < 0) {
        fd_close(fd);
        free(w);
        return error_set(err, r, "can't watch the folder of runs: %s", strerror(-r));
    }
    w->fd = fd;
    *ret = w;
    return 0;
}

int baro_runs_watch_fd(const struct baro_runs_watch *w)
{
    return w->fd;
}

static bool is_tape_name(const char *name)
{
    static const char end[] = ".baro";
    size_t n = strlen(name), len = sizeof end - 1;
    return *name != '.' && n > len && strcmp(name + n - len, end) == 0;
}

/* May runs have changed? An overflow means that events were lost. */
static bool is_news(const struct inotify_event *e)
{
    return e->mask & IN_Q_OVERFLOW || (e->len && is_tape_name(e->name));
}

int baro_runs_watch_read(struct baro_runs_watch *w, struct baro_error *err)
{
    _Alignas(struct inotify_event) char room[4096];
    ssize_t n;
    int news = 0;
    while ((n = read(w->fd, room, sizeof room)) > 0)
        for (ssize_t at = 0; at < n;) {
            const struct inotify_event *e = (const struct inotify_event *)(room + at);
            if (e->mask & IN_IGNORED)
                return error_set(err, -ENOENT, "the folder of runs was removed");
            news |= is_news(e);
            at += (ssize_t)(sizeof *e + e->len);
        }
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return error_set(err, -errno, "can't read the changes of the folder of runs: %s", strerror(errno));
    return news;
}

void baro_runs_watch_free(struct baro_runs_watch *w)
{
    if (!w)
        return;
    fd_close(w->fd);
    free(w);
}
