/* SPDX-License-Identifier: Apache-2.0 */
#include "select/pin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "procfs/procfs.h"
#include "select/select.h"

#define AGAIN (200 * NS_PER_MS)
#define CLOCK_SLACK (2 * (int64_t)NS_PER_SEC) /* the wall clock may be set a little between the two times */

int pins_init(struct pins *p, const struct pin *pin, size_t n, int root_fd)
{
    p->pin = pin;
    p->n = n;
    p->due_ns = UINT64_MAX;
    p->state = calloc(n + 1, sizeof(*p->state));
    for (size_t i = 0; p->state && i < n; i++) {
        if (pin[i].kind != PIN_PID)
            p->due_ns = 0;
        if (pin[i].kind == PIN_GROUP)
            cgroup_walk_init(&p->state[i].walk, root_fd, pin[i].place);
    }
    return p->state ? 0 : -ENOMEM;
}

/* ---- PID files ---- */

/* The first word of the file; that of PostgreSQL has more lines. Returns 0: none. ret_written_ns: of CLOCK_REALTIME. */
static int32_t read_file(struct pins *p, const char *path, int64_t *ret_written_ns)
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

static uint64_t start_of(struct pins *p, int32_t pid)
{
    struct pid_stat st;
    ssize_t n = proc_read_record(p->proc_fd, pid, "stat", p->text, sizeof(p->text));
    return n > 0 && pid_stat_parse(span_of(p->text, (size_t)n), &st) == 0 ? st.starttime : 0;
}

static bool began_before(uint64_t start, int64_t written_ns)
{
    uint64_t ns_per_tick = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
    int64_t boot = clock_realtime_ns() - (int64_t)clock_boottime_ns();
    return boot + (int64_t)(start * ns_per_tick) <= written_ns + CLOCK_SLACK;
}

static void follow_file(struct pins *p, size_t i)
{
    struct pin_state *s = &p->state[i];
    int64_t written_ns;
    if (s->is_barred)
        return;
    select_progress(p->shared, -(int32_t)i - 1, 0, true); /* it may be on a file server that hangs */
    int32_t pid = read_file(p, p->pin[i].path, &written_ns);
    select_progress(p->shared, 0, 0, false);
    uint64_t start = pid ? start_of(p, pid) : 0;
    if (!start || (pid == s->pid && start == s->start) || !began_before(start, written_ns))
        return;
    s->pid = pid;
    s->start = start;
    watch_pin(p->watch, pid, start, p->pin[i].task, false);
}

/* ---- control groups ---- */

static void in_group(void *context, int32_t pid)
{
    struct pins *p = context;
    watch_pin_seen(p->watch, pid, p->task, p->now_ns);
}

static void follow_group(struct pins *p, size_t i)
{
    struct cgroup_walk *w = &p->state[i].walk;
    p->task = p->pin[i].task;
    if (cgroup_walk_groups(w) == 0)
        cgroup_walk_processes(w, p->text, sizeof(p->text), in_group, p);
}

void pins_turn(struct pins *p, bool first, uint64_t now_ns)
{
    bool groups = false;
    if (!first && now_ns < p->due_ns)
        return;
    p->now_ns = now_ns;
    for (size_t i = 0; i < p->n; i++) {
        const struct pin *pin = &p->pin[i];
        groups |= pin->kind == PIN_GROUP;
        if (pin->kind == PIN_PID && first)
            watch_pin(p->watch, pin->pid, pin->start, pin->task, false);
        else if (pin->kind == PIN_FILE)
            follow_file(p, i);
        else if (pin->kind == PIN_GROUP)
            follow_group(p, i);
    }
    if (groups)
        watch_pins_unseen(p->watch);
    p->due_ns = p->due_ns == UINT64_MAX ? UINT64_MAX : now_ns + AGAIN;
}
