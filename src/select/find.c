/* SPDX-License-Identifier: Apache-2.0 */
/* Are the processes and control groups there that a task file names? */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/fd.h"
#include "procfs/procfs.h"
#include "select/task_file.h"

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
