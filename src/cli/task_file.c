/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/task_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/programs.h"
#include "procfs/procfs.h"

#define LINES_MOST (16u << 20)
#define NOT_EXECUTED 127

static void become_reader(int fd, const char *path)
{
    char program[] = "baro-tasks", command[] = "tasks", json[] = "--json", end[] = "--";
    char *argv[] = {program, command, json, end, (char *)path, NULL};
    if (dup2(fd, STDOUT_FILENO) >= 0)
        programs_become(program, argv);
    _exit(NOT_EXECUTED);
}

/* All that the program writes. */
static int read_lines(const char *path, struct buf *ret, int *ret_status, struct baro_error *err)
{
    int ends[2], status = 0;
    char part[8192];
    ssize_t n;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, -errno, "can't make a pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        become_reader(ends[1], path);
    int code = pid < 0 ? -errno : 0;
    close(ends[1]);
    while (code == 0 && (n = read(ends[0], part, sizeof(part))) != 0) {
        if (n > 0 && ret->len < LINES_MOST)
            buf_add(ret, part, (size_t)n);
        else if (n < 0 && errno != EINTR)
            code = -errno;
    }
    close(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return code < 0 ? error_set(err, code, "can't read task files: %s", strerror(-code)) : 0;
}

int task_file_read(struct task_file *ret, const char *path, struct baro_error *err)
{
    struct buf lines = {0};
    int status;
    memset(ret, 0, sizeof(*ret));
    int code = read_lines(path, &lines, &status, err);
    if (code == 0 && status == NOT_EXECUTED && !lines.len)
        code = error_set(err, -ENOENT, "the program baro-tasks, which reads task files, is not installed: it belongs "
                         "to a build with libyaml");
    else if (code == 0 && (lines.failed || !lines.len))
        code = error_set(err, BARO_E_SYNTAX, "baro-tasks ended before it had read %s", path);
    if (code == 0)
        code = task_file_parse(ret, path, span_of((const char *)lines.at, lines.len), err);
    buf_done(&lines);
    return code;
}

static int find_pid(struct pin *pin, int proc_fd, struct baro_error *err)
{
    struct pid_stat st;
    char text[1024];
    ssize_t n = proc_read_record(proc_fd, pin->pid, "stat", text, sizeof(text));
    if (n <= 0 || pid_stat_parse(span_of(text, (size_t)n), &st) < 0)
        return error_set(err, -ESRCH, "no process has the pid %d; remove it, or give a pidfile", (int)pin->pid);
    pin->start = st.starttime;
    return 0;
}

static int find_group(const struct pin *pin, int root_fd, struct baro_error *err)
{
    struct cgroup_hierarchies *places = malloc(sizeof(*places));
    int code = places ? cgroup_target(root_fd, pin->path, places, err) : error_set(err, -ENOMEM, "out of memory");
    free(places);
    return code;
}

int task_file_find(struct task_file *f, const char *path, struct baro_error *err)
{
    int code = 0, proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < f->n_pins && code == 0; i++) {
        struct pin *pin = &f->pin[i];
        struct baro_error why = BARO_ERROR_INIT;
        if (pin->kind == PIN_PID)
            code = find_pid(pin, proc_fd, &why);
        else if (pin->kind == PIN_GROUP)
            code = find_group(pin, root_fd, &why);
        if (code < 0)
            error_set(err, code, "%s:%u:%u: %s", path, pin->line, pin->column, why.text);
    }
    fd_close(proc_fd);
    fd_close(root_fd);
    return code;
}
