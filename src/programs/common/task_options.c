/* SPDX-License-Identifier: Apache-2.0 */
/* --task and --tasks of commands that read tapes: rules as lines of JSON, as `baro tasks --json` writes them. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "programs/common/find_program.h"
#include "programs/common/options.h"

#define LINES_MOST (16u << 20)

static void add_line(struct buf *lines, const char *key, const char *text, bool is_task)
{
    struct json j = {.out = lines};
    json_begin(&j, '{');
    json_key(&j, key);
    json_exact(&j, text);
    if (is_task) {
        json_key(&j, "on");
        json_exact(&j, "either");
        json_key_bool(&j, "children", true);
    }
    json_end(&j, '}'); /* and of the line */
}

int take_task_rule(void *at, const char *text, struct baro_error *err)
{
    struct task_settings *s = at;
    struct buf name = {0};
    const char *equal = strchr(text, '=');
    if (!equal || equal == text || !equal[1])
        return error_set(err, BARO_E_SYNTAX, "invalid task '%.60s': write NAME=REGEX", text);
    buf_add(&name, text, (size_t)(equal - text));
    buf_byte(&name, 0);
    if (!name.failed) {
        add_line(&s->lines, "task", (const char *)name.at, true);
        add_line(&s->lines, "match", equal + 1, false);
    }
    bool failed = name.failed || s->lines.failed;
    buf_done(&name);
    return failed ? error_set(err, -ENOMEM, "out of memory") : 0;
}

/* Executes baro-tasks, which parses YAML. Returns its pid or -1. */
static pid_t start_reader(const char *path, int *ret_fd)
{
    char program[PATH_MAX];
    int ends[2];
    if (!program_beside("baro-tasks", program) || pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        if (dup2(ends[1], STDOUT_FILENO) >= 0)
            execl(program, "baro-tasks", "tasks", "--json", "--", path, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    *ret_fd = ends[0];
    return pid;
}

int take_task_file(void *at, const char *path, struct baro_error *err)
{
    struct task_settings *s = at;
    int fd = -1, status = 0;
    char part[8192];
    ssize_t n;
    size_t before = s->lines.len;
    pid_t pid = start_reader(path, &fd);
    while (pid > 0 && s->lines.len < LINES_MOST && (n = read(fd, part, sizeof(part))) != 0) {
        if (n > 0)
            buf_add(&s->lines, part, (size_t)n);
        else if (errno != EINTR)
            break;
    }
    fd_close(fd);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (s->lines.failed)
        return error_set(err, -ENOMEM, "out of memory");
    if (pid < 0 || s->lines.len == before)
        return error_set(err, -ENOENT, "can't read task files: baro-tasks is not installed, or was killed");
    return 0; /* an error of the file is one of the lines */
}
