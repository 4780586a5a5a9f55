/* SPDX-License-Identifier: Apache-2.0 */
/* Do the processes and control groups exist that a task file names? */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "kernel/proc/procfs.h"
#include "recorder/select/pin.h"

static int find_pid(struct pin *pin, int proc_fd, struct baro_error *err)
{
    struct pid_stat st;
    if (proc_read_stat(proc_fd, pin->pid, &st) < 0)
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

static int find_pin(struct pin *pin, bool goes_on, struct baro_error *err)
{
    const char *below = pin->kind == PIN_PID ? "/proc" : "/";
    if (pin->kind == PIN_FILE)
        return 0; /* it may appear later */
    int fd = open(below, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int code = fd < 0                 ? error_set(err, -errno, "can't open %s: %s", below, strerror(errno))
               : pin->kind == PIN_PID ? find_pid(pin, fd, err)
                                      : find_group(pin, fd, err);
    fd_close(fd);
    if (goes_on && code == -ESRCH) { /* task_file_keep() drops it */
        pin->start = 0;
        return 0;
    }
    return code;
}

int task_file_find(struct task_file *f, const char *path, bool goes_on, struct baro_error *err)
{
    int code = 0;
    f->not_there = NULL;
    for (size_t i = 0; i < f->n_pins && code == 0; i++) {
        struct baro_error why = BARO_ERROR_INIT;
        code = find_pin(&f->pin[i], goes_on, &why);
        if (code == -ENOENT && f->pin[i].kind == PIN_GROUP)
            f->not_there = &f->pin[i];
        if (code < 0)
            error_set(err, code, "%s:%u:%u: %s", path, f->pin[i].line, f->pin[i].column, why.text);
    }
    return code;
}

bool task_file_is_there(const struct pin *pin)
{
    struct pin copy = *pin;
    return find_pin(&copy, false, NULL) == 0;
}

void task_file_keep(struct task_file *f, uint64_t begin_ns, uint32_t clk_tck)
{
    size_t kept = 0;
    uint64_t ns_per_tick = NS_PER_SEC / (clk_tck ? clk_tck : 100);
    for (size_t i = 0; i < f->n_pins; i++) {
        const struct pin *pin = &f->pin[i];
        if (pin->kind != PIN_PID || (pin->start && pin->start * ns_per_tick <= begin_ns))
            f->pin[kept++] = *pin;
    }
    f->n_pins = kept;
}
