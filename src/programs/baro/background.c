/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/background.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "kernel/proc/procfs.h"
#include "recorder/wrapper/fds.h"

#define REAPED_WITHIN_MS 20 /* a shell that reads the output reaps later: then the recorder leaves out the starter */
#define REAPED_AT_LAST_MS 2000
#define EXIT_NOT_KNOWN 2 /* of a recorder that failed */

static bool read_stat(pid_t pid, struct pid_stat *ret)
{
    int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int code = proc_read_stat(proc_fd, pid, ret);
    fd_close(proc_fd);
    return code == 0;
}

static uint64_t own_start_ticks(void)
{
    struct pid_stat st;
    return read_stat(getpid(), &st) ? st.starttime : 0;
}

/* Does the starter still exist? Once it has been reaped, another process may soon have its pid. */
static bool is_there(const struct baro_key *starter)
{
    struct pid_stat st;
    return read_stat(starter->pid, &st) && st.starttime == starter->start;
}

/* Waits until the starter's parent has reaped it. A parent that waits for a CPU could not do that yet, so only the
 * time in which it sleeps counts. */
static void wait_until_gone(const struct baro_key *starter, int32_t parent)
{
    const struct timespec pause = {.tv_nsec = NS_PER_MS / 5};
    uint64_t now = clock_monotonic_ns(), end = now + REAPED_WITHIN_MS * NS_PER_MS;
    const uint64_t at_last = now + REAPED_AT_LAST_MS * NS_PER_MS;
    struct pid_stat st;
    while (is_there(starter) && now < end && now < at_last) {
        nanosleep(&pause, NULL);
        now = clock_monotonic_ns();
        if (read_stat(parent, &st) && st.state == 'R')
            end = now + REAPED_WITHIN_MS * NS_PER_MS;
    }
}

/* The recorder writes a byte once it has something to record; without one it has ended. */
static _Noreturn void end_as(pid_t recorder, int fd)
{
    char byte;
    int status;
    ssize_t n;
    unsigned tries = 0;
    do
        n = read(fd, &byte, 1);
    while (n < 0 && fd_again(&tries));
    if (n == 1)
        _exit(0);
    while (waitpid(recorder, &status, 0) < 0) {
        if (!fd_again(&tries))
            _exit(EXIT_NOT_KNOWN); /* SIGCHLD is ignored */
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_NOT_KNOWN);
}

int background_begin(struct background *ret, struct baro_error *err)
{
    int fd[2];
    *ret = (struct background){{getpid(), own_start_ticks()}, getppid(), -1};
    if (pipe2(fd, O_CLOEXEC) < 0)
        return error_set(err, -errno, "can't make a pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0)
        return error_set(err, -errno, "can't start a process: %s", strerror(errno));
    if (pid) {
        close(fd[1]);
        end_as(pid, fd[0]);
    }
    setsid(); /* ^C of the terminal is for the job */
    fds_close_others(&fd[1], 1);
    ret->starter_fd = fd[1];
    return 0;
}

void background_accept(struct background *b)
{
    fd_write_all(b->starter_fd, "", 1, NULL);
    fd_close(b->starter_fd);
    wait_until_gone(&b->starter, b->parent);
}

void background_report(const char *tape, const struct marks_file *marks)
{
    struct buf line = {0};
    struct json j = {.out = &line};
    json_begin(&j, '{');
    json_key_u64(&j, "pid", (uint64_t)getpid());
    json_key_u64(&j, "start_ticks", own_start_ticks());
    json_key_text(&j, "tape", *tape ? tape : NULL);
    json_key_text(&j, "events", marks && *marks->path ? marks->path : NULL);
    json_end(&j, '}'); /* with a newline */
    if (!line.failed)
        fd_write_all(STDOUT_FILENO, line.at, line.len, NULL);
    buf_done(&line);
    fds_null_standard(-1);
}
