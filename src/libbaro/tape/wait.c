/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether the tape is being written, and waits until it has grown (include/baro/tape.h). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/span.h"
#include "libbaro/tape/create.h"
#include "libbaro/tape/cursor.h"

#define CHECK_MS 100           /* how often the size is checked without inotify */
#define NOTIFIED_CHECK_MS 1000 /* and with it, which does not report writes of another host */
#define STILL_NS NS_PER_SEC    /* after this time without growth the writer is checked */

static bool same_boot(const struct baro_header *h)
{
    char boot[64] = "";
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot, sizeof(boot) - 1);
    boot[n > 0 ? n : 0] = 0;
    boot[strcspn(boot, "\n")] = 0;
    return *boot && strcmp(boot, h->boot_id) == 0;
}

/* Reads state and start time from /proc/PID/stat (proc(5), fields 3 and 22). The line begins with "PID (comm) ", and
 * comm may contain any character. Returns false if it is another line. */
static bool read_stat(struct span text, char *ret_state, uint64_t *ret_start)
{
    const char *end = text.len ? memrchr(text.at, ')', text.len) : NULL;
    struct span rest, field = {"", 0};
    if (!end)
        return false;
    rest = span_of(end + 1, (size_t)(text.at + text.len - end - 1));
    for (int i = 3; i <= 22; i++) {
        scan_blanks(&rest);
        if (!scan_word(&rest, &field))
            return false;
        if (i == 3)
            *ret_state = *field.at;
    }
    return scan_u64(&field, ret_start) && field.len == 0;
}

/* Is the process that the header names alive? Returns 1, 0, or -1 if that cannot be found out from here. */
static int recorder_lives(const struct baro_header *h)
{
    char path[64], text[1024];
    uint64_t start;
    char state;
    struct stat ns;
    if (h->recorder.pid <= 0 || !same_boot(h) || stat("/proc/self/ns/pid", &ns) < 0 || ns.st_ino != h->pid_namespace)
        return -1;
    snprintf(path, sizeof(path), "/proc/%d/stat", h->recorder.pid);
    ssize_t n = fd_read_file(AT_FDCWD, path, text, sizeof(text));
    /* With hidepid (proc(5)) processes of other users have no folder, but kill(2) with signal 0 finds them. */
    if (n <= 0)
        return kill(h->recorder.pid, 0) < 0 && errno == ESRCH ? 0 : -1;
    if (!read_stat(span_of(text, (size_t)n), &state, &start))
        return -1;
    return start == h->recorder.start && state != 'Z' && state != 'X';
}

void cursor_path(const struct baro_tape *t, char ret[64])
{
    snprintf(ret, 64, "/proc/self/fd/%d", t->fd);
}

const char *baro_tape_state_name(enum baro_tape_state state)
{
    static const char *const names[] = {
        [BARO_TAPE_RUNNING] = "running", [BARO_TAPE_ENDED] = "ended", [BARO_TAPE_CUT_OFF] = "cut off"};
    return (unsigned)state < sizeof(names) / sizeof(*names) ? names[state] : "unknown";
}

enum baro_tape_state baro_tape_state(const struct baro_tape *t)
{
    char path[64];
    if (t->complete)
        return BARO_TAPE_ENDED;
    if (t->memory)
        return BARO_TAPE_CUT_OFF;
    int lives = recorder_lives(&t->header);
    if (lives == 0 && t->segments) /* another recorder may have continued it; the header names the first one */
        return segments_in_work(t->segments->dir_fd) ? BARO_TAPE_RUNNING : BARO_TAPE_CUT_OFF;
    if (lives >= 0)
        return lives ? BARO_TAPE_RUNNING : BARO_TAPE_CUT_OFF;
    cursor_path(t, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC); /* an open file description of its own: flock(2) needs one */
    bool in_work = fd >= 0 && tape_in_work(fd);
    fd_close(fd);
    return in_work ? BARO_TAPE_RUNNING : BARO_TAPE_CUT_OFF;
}

int baro_tape_poll_fd(struct baro_tape *t)
{
    char path[64];
    if (t->memory || t->inotify_fd >= 0)
        return t->inotify_fd;
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    cursor_path(t, path);
    if (fd >= 0 && (t->watch = inotify_add_watch(fd, path, IN_MODIFY)) < 0) {
        fd_close(fd);
        fd = -1;
    }
    t->inotify_fd = fd;
    return fd;
}

static void drain_events(const struct baro_tape *t)
{
    char events[4096];
    while (t->inotify_fd >= 0 && read(t->inotify_fd, events, sizeof(events)) > 0)
        ;
}

/* Returns 1 if the tape has changed since it was read to its end. If its file was removed or replaced, it is read to
 * its present end, and no further. */
static int has_grown(struct baro_tape *t)
{
    uint64_t before = t->seen_size;
    struct stat st;
    if (fstat(t->fd, &st) < 0)
        return -errno;
    t->seen_size = (uint64_t)st.st_size;
    t->abandoned = st.st_nlink == 0;
    return t->seen_size != before || t->abandoned;
}

/* Is called when the tape has not grown for a while. If it has no writer, the caller reads once more before it gets
 * BARO_E_ENDED, because the writer may have written between the last read and its end. */
static int still(struct baro_tape *t, uint64_t now_ns)
{
    if (now_ns - t->grown_ns < STILL_NS)
        return 0;
    t->grown_ns = now_ns;
    if (baro_tape_state(t) == BARO_TAPE_RUNNING)
        return 0;
    t->abandoned = true;
    return 1;
}

int baro_tape_wait(struct baro_tape *t, int timeout_ms, struct baro_error *err)
{
    uint64_t now = clock_monotonic_ns(), until = timeout_ms < 0 ? UINT64_MAX : now + (uint64_t)timeout_ms * NS_PER_MS;
    if (t->complete || t->memory || t->abandoned)
        return error_set(err, BARO_E_ENDED, "no recorder is writing the tape");
    baro_tape_poll_fd(t);
    t->grown_ns = t->grown_ns ? t->grown_ns : now;
    for (;; now = clock_monotonic_ns()) {
        drain_events(t); /* before the size is read, so that a later write makes a new event */
        int r = has_grown(t);
        if (r != 0) {
            t->grown_ns = now;
            return r < 0 ? error_set(err, r, "can't read the tape: %s", strerror(-r)) : 1;
        }
        if (still(t, now))
            return 1;
        if (now >= until)
            return 0;
        uint64_t left_ms = (until - now + NS_PER_MS - 1) / NS_PER_MS,
                 most = t->inotify_fd >= 0 ? NOTIFIED_CHECK_MS : CHECK_MS;
        struct pollfd notified = {.fd = t->inotify_fd, .events = POLLIN};
        poll(&notified, 1, (int)(left_ms < most ? left_ms : most));
    }
}
