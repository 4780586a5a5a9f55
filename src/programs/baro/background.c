/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/background.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "kernel/proc/procfs.h"
#include "recorder/wrapper/fds.h"

#define REAPED_WITHIN_MS 20 /* a shell that reads our output reaps us later: until then we are a process of the job */

/* Its parent reaps it. */
static void wait_until_gone(pid_t starter)
{
    const struct timespec pause = {.tv_nsec = NS_PER_MS / 5};
    uint64_t end = clock_monotonic_ns() + REAPED_WITHIN_MS * NS_PER_MS;
    while (kill(starter, 0) == 0 && clock_monotonic_ns() < end)
        nanosleep(&pause, NULL);
}

int background_begin(struct baro_error *err)
{
    pid_t starter = getpid(), pid = fork();
    if (pid < 0)
        return error_set(err, -errno, "can't start a process: %s", strerror(errno));
    if (pid)
        _exit(0);
    setsid(); /* ^C of the terminal is for the job */
    fds_close_others(NULL, 0);
    wait_until_gone(starter);
    return 0;
}

static uint64_t own_start_ticks(void)
{
    char text[1024];
    struct pid_stat st;
    ssize_t n = fd_read_record(AT_FDCWD, "/proc/self/stat", text, sizeof(text));
    return n > 0 && pid_stat_parse(span_of(text, (size_t)n), &st) == 0 ? st.starttime : 0;
}

void background_report(const char *tape, const struct marks_file *marks)
{
    struct buf line = {0};
    struct json j = {.out = &line};
    json_begin(&j, '{');
    json_key(&j, "pid");
    json_u64(&j, (uint64_t)getpid());
    json_key(&j, "start_ticks");
    json_u64(&j, own_start_ticks());
    json_key(&j, "tape");
    json_text(&j, *tape ? tape : NULL);
    json_key(&j, "events");
    json_text(&j, marks && *marks->path ? marks->path : NULL);
    json_end(&j, '}'); /* with a newline */
    if (!line.failed)
        fd_write_all(STDOUT_FILENO, line.at, line.len, NULL);
    buf_done(&line);
    fds_null_standard(-1);
}
