/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/cgroup/walk.h"
#include "recorder/select/pin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/proc/procfs.h"
#include "recorder/select/select.h"

#define CLOCK_SLACK (2 * (int64_t)NS_PER_SEC) /* the wall clock may be set a little between the two times */

static int init_group(struct pin_state *s, const struct pin *pin, int root_fd)
{
    s->walk = malloc(sizeof(*s->walk));
    if (!s->walk)
        return -ENOMEM;
    cgroup_walk_init(s->walk, root_fd, pin->place);
    return 0;
}

int pins_init(struct pins *p, int root_fd)
{
    int code = 0;
    p->state = calloc(p->n + 1, sizeof(*p->state));
    if (!p->state)
        return -ENOMEM;
    for (size_t i = 0; i < p->n && code == 0; i++) {
        p->is_read |= p->pin[i].kind != PIN_PID;
        if (p->pin[i].kind == PIN_GROUP)
            code = init_group(&p->state[i], &p->pin[i], root_fd);
    }
    return code;
}

void pins_done(struct pins *p)
{
    for (size_t i = 0; p->state && i < p->n; i++) {
        if (p->state[i].walk)
            cgroup_walk_done(p->state[i].walk);
        free(p->state[i].walk);
    }
    free(p->state);
    p->state = NULL;
}

/* ---- PID files ---- */

/* Returns the pid in the first word of the file; 0: none. PostgreSQL's file has more lines. ret_written_ns: when the
 * file was written (CLOCK_REALTIME). */
static int32_t read_pid_file(struct pins_reading *p, const char *path, int64_t *ret_written_ns)
{
    struct stat st;
    uint64_t pid = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return 0;
    ssize_t n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, p->text, 64) : -1;
    close(fd);
    struct span s = span_of(p->text, n > 0 ? (size_t)n : 0);
    while (s.len && (*s.at == ' ' || *s.at == '\t'))
        s = span_of(s.at + 1, s.len - 1);
    bool is_one = scan_u64(&s, &pid) && pid && pid <= INT32_MAX &&
                  (!s.len || *s.at == '\n' || *s.at == ' ' || *s.at == '\r' || *s.at == '\t');
    *ret_written_ns = n > 0 ? (int64_t)st.st_mtim.tv_sec * (int64_t)NS_PER_SEC + st.st_mtim.tv_nsec : 0;
    return is_one ? (int32_t)pid : 0;
}

static bool began_before(uint64_t start, int64_t written_ns)
{
    uint64_t ns_per_tick = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
    int64_t boot = clock_realtime_ns() - (int64_t)clock_boottime_ns();
    return boot + (int64_t)(start * ns_per_tick) <= written_ns + CLOCK_SLACK;
}

static void follow_file(struct pins *p, struct pins_reading *r, size_t i)
{
    struct pin_state *s = &p->state[i];
    int64_t written_ns;
    if (s->is_barred)
        return;
    select_progress(r->shared, -(int32_t)i - 1, p->job->id, true); /* it may be on a file server that hangs */
    int32_t pid = read_pid_file(r, p->pin[i].path, &written_ns);
    select_progress(r->shared, 0, 0, false);
    uint64_t start = pid ? proc_read_start(r->proc_fd, pid) : 0;
    if (!start || (pid == s->pid && start == s->start) || !began_before(start, written_ns))
        return;
    s->pid = pid;
    s->start = start;
    watch_pin(r->watch, &(struct watch_pinned){p->job, p->pin[i].task, pid, start, false});
}

/* ---- control groups ---- */

struct walked {
    struct pins *pins;
    struct pins_reading *r;
    uint8_t task;
};

static void in_group(void *context, int32_t pid)
{
    const struct walked *w = context;
    watch_pin_seen(w->r->watch, w->pins->job, pid, w->task, w->r->now_ns);
}

static void follow_group(struct pins *p, struct pins_reading *r, size_t i)
{
    struct cgroup_walk *w = p->state[i].walk;
    struct walked walked = {p, r, p->pin[i].task};
    p->job->is_walked = true;
    if (cgroup_walk_groups(w) == 0)
        cgroup_walk_processes(w, r->text, sizeof(r->text), in_group, &walked);
}

void pins_turn(struct pins *p, struct pins_reading *r, bool first)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct pin *pin = &p->pin[i];
        if (pin->kind == PIN_PID && first)
            watch_pin(r->watch, &(struct watch_pinned){p->job, pin->task, pin->pid, pin->start, false});
        else if (pin->kind == PIN_FILE)
            follow_file(p, r, i);
        else if (pin->kind == PIN_GROUP)
            follow_group(p, r, i);
    }
}
