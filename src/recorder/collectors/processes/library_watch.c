/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/processes/library_watch.h"

#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/span.h"
#include "kernel/proc/procfs.h"

#define TRIES 16u /* processes whose mappings are read until one is found that has such a library */

void library_watch_init(struct library_watch *w)
{
    *w = (struct library_watch){.fd = -1};
}

void library_watch_done(struct library_watch *w)
{
    w->fd = fd_close(w->fd);
}

/* Is it the path of glibc, or of musl's loader, which is its C library, too? */
static bool is_library(const char *path)
{
    const char *name = strrchr(path, '/');
    return name && (strcmp(name, "/libc.so.6") == 0 || strncmp(name, "/ld-musl-", 9) == 0);
}

/* Cuts the next line off the text of /proc/PID/maps; NULL: it is not whole. */
static const char *next_line(char **at)
{
    char *line = *at, *end = strchr(line, '\n');
    if (end)
        *end = 0;
    *at = end ? end + 1 : line + strlen(line);
    return end ? line : NULL;
}

/* Is the file that a line maps on a disk, or on what is mounted at the root? A look-up on a file server or in FUSE
 * might never return. The fourth word of a line is the device, "08:01"; devices without a disk have major number 0. */
static bool is_near(const char *line)
{
    struct span s = span_str(line), device = {0};
    struct stat st;
    char root[32];
    for (int i = 0; i < 4; i++) {
        scan_blanks(&s);
        if (!scan_word(&s, &device))
            return false;
    }
    if (device.len < 3 || memcmp(device.at, "00:", 3) != 0)
        return true;
    if (stat("/", &st) < 0)
        return false;
    snprintf(root, sizeof(root), "%02x:%02x", major(st.st_dev), minor(st.st_dev));
    return span_equal(device, root);
}

void library_watch_find(struct library_watch *w, struct sampling *g, int32_t pid)
{
    char path[256];
    ssize_t n = -1;
    if (w->fd >= 0 || w->tries >= TRIES)
        return;
    w->tries++;
    n = proc_read(g->options.proc_fd, pid, "maps", g->text, SAMPLING_TEXT - 1);
    g->text[n > 0 ? n : 0] = 0;
    for (char *at = g->text; *at;) {
        const char *line = next_line(&at), *file = line ? strchr(line, '/') : NULL;
        if (!file || !is_library(file))
            continue;
        if (!is_near(line))
            return;
        /* the job may have another root than we have */
        int len = snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, file);
        w->fd = len < (int)sizeof(path) ? inotify_init1(IN_NONBLOCK | IN_CLOEXEC) : -1;
        if (w->fd >= 0 && inotify_add_watch(w->fd, path, IN_OPEN | IN_CLOSE_NOWRITE) < 0)
            w->fd = fd_close(w->fd);
        return;
    }
}

bool library_watch_drain(const struct library_watch *w)
{
    _Alignas(struct inotify_event) char part[2048];
    ssize_t n = w->fd < 0 ? 0 : read(w->fd, part, sizeof(part)), more = n;
    while (more > (ssize_t)sizeof(part) / 2)
        more = read(w->fd, part, sizeof(part));
    return n > 0;
}
