/* SPDX-License-Identifier: Apache-2.0 */
/* --task and --tasks of commands that read tapes: rules as lines of JSON, as `baro tasks --json` writes them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "programs/common/find_program.h"
#include "programs/common/options.h"

#define LINES_MOST (16u << 20)

void task_lines_add(struct buf *lines, const struct task_line *line)
{
    struct json j = {.out = lines}, rule = {.out = lines};
    json_begin(&j, '{');
    json_key_exact(&j, "task", line->name);
    json_key_exact(&j, "on", line->on);
    if (line->children)
        json_key_bool(&j, "children", true);
    if (line->has_uid)
        json_key_u64(&j, "uid", line->uid);
    json_end(&j, '}'); /* and of the line */
    json_begin(&rule, '{');
    json_key_exact(&rule, line->is_name ? "exact" : "match", line->text);
    json_end(&rule, '}');
}

const char *task_rule_text(const char *option)
{
    const char *equals = strchr(option, '=');
    return equals && equals != option && equals[1] ? equals + 1 : NULL;
}

/* Keeps a NUL behind the lines, which len does not count. */
static int terminate(struct buf *lines, struct baro_error *err)
{
    buf_byte(lines, 0);
    if (lines->failed)
        return error_set(err, -ENOMEM, "out of memory");
    lines->len--;
    return 0;
}

int take_task_rule(void *at, const char *text, struct baro_error *err)
{
    struct task_settings *s = at;
    const char *regex = task_rule_text(text);
    if (!regex)
        return error_set(err, BARO_E_SYNTAX, "invalid task '%.60s': write NAME=REGEX", text);
    char *name = strndup(text, (size_t)(regex - 1 - text));
    if (name)
        task_lines_add(&s->lines, &(struct task_line){.name = name, .on = "either", .children = true, .text = regex});
    free(name);
    return name ? terminate(&s->lines, err) : error_set(err, -ENOMEM, "out of memory");
}

int take_task_shown(void *at, const char *text, struct baro_error *err)
{
    struct task_settings *s = at;
    if (task_rule_text(text))
        return take_task_rule(at, text, err);
    s->only = text;
    return 0;
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
    if (pid < 0 || s->lines.len == before)
        return error_set(err, -ENOENT, "can't read task files: baro-tasks is not installed, or was killed");
    return terminate(&s->lines, err); /* an error of the file is one of the lines */
}
