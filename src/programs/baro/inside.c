/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/inside.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "kernel/proc/procfs.h"
#include "programs/baro/mark_line.h"
#include "recorder/wrapper/run.h"

void inside_put_process(struct buf *line)
{
    char text[1024];
    struct pid_stat st;
    ssize_t n = fd_read_record(AT_FDCWD, "/proc/self/stat", text, sizeof(text));
    if (n <= 0 || pid_stat_parse(span_of(text, (size_t)n), &st) < 0)
        return;
    mark_line_number(line, "pid", (uint64_t)getpid());
    mark_line_number(line, "start_ticks", st.starttime);
}

static void say_not_executed(const struct cli *cli, char **argv, const struct run_result *r)
{
    struct buf line = {0};
    struct baro_error err = BARO_ERROR_INIT;
    error_set(&err, -r->exec_errno, "%s: %s", **argv ? *argv : "''", strerror(r->exec_errno)); /* escaped */
    buf_printf(&line, "baro %s: %s\n", cli->command->name, err.text);
    if (r->stderr_fd >= 0 && !line.failed)
        fd_write_all(r->stderr_fd, line.at, line.len, NULL);
    buf_done(&line);
}

int inside_run(struct cli *cli, char **argv, void (*ended)(void *context, const struct run_result *result),
               void *context)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct run_result result;
    const struct run_options options = {
        .argv = argv, .tape_fd = -1, .segments_fd = -1, .events_fd = -1, .folder_fd = -1};
    if (run_wrapper(&options, NULL, NULL, &result, &err) < 0)
        return cli_fail(cli, &err);
    if (ended)
        ended(context, &result);
    if (result.exec_errno)
        say_not_executed(cli, argv, &result);
    run_die_like(&result);
}
