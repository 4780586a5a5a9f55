/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/namespace.h"
#include "base/span.h"
#include "kernel/proc/procfs.h"
#include "recorder/wrapper/wrapper.h"

static uint64_t timeval_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_usec * 1000;
}

static uint32_t zombie_read(pid_t pid, const char *file, char *at, size_t cap)
{
    char path[64];
    ssize_t len;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    len = fd_read_file(AT_FDCWD, path, at, cap);
    return len > 0 ? (uint32_t)len : 0;
}

/* The session of a zombie: the fourth field after the name, which ends with the last ')'. 0: not known. */
static int64_t zombie_session(const struct link_message *m)
{
    const char *after = memrchr(m->stat, ')', m->stat_len);
    struct span rest, word;
    int64_t session;

    if (!after)
        return 0;
    rest = span_of(after + 1, (size_t)(m->stat + m->stat_len - after - 1));
    for (int field = 0; field < 3; field++) { /* state, parent, group */
        scan_blanks(&rest);
        if (!scan_word(&rest, &word))
            return 0;
    }
    scan_blanks(&rest);
    return scan_i64(&rest, &session) ? session : 0;
}

static bool proc_is_own(struct wrapper *w)
{
    if (!w->proc_checked) {
        int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

        w->proc_checked = true;
        w->proc_is_own = namespace_proc_is_own(fd);
        fd_close(fd);
    }
    return w->proc_is_own;
}

/* A limit is a second at least. The recorder reads it of processes that it samples; of these it may not come in time.
 */
static void limit_read(pid_t pid, struct link_message *m)
{
    struct rlimit limit;

    if (m->cpu_ns < NS_PER_SEC / 2 || prlimit(pid, RLIMIT_CPU, NULL, &limit) < 0 ||
        limit.rlim_max >= UINT64_MAX / NS_PER_SEC || clock_process_ticks_ns(pid, &m->ticks_ns) < 0)
        return;
    m->cpu_limit_ns = limit.rlim_max * NS_PER_SEC;
}

/* A zombie still has its stat and its CPU clock; both are gone once it is reaped. The clock is the time of the process
 * alone in nanoseconds, while wait4() adds that of its reaped children, in microseconds. In the /proc of another PID
 * namespace the same number is another process. */
static void zombie_fill(struct wrapper *w, pid_t pid, struct link_message *m)
{
    if (proc_is_own(w))
        m->stat_len = zombie_read(pid, "stat", m->stat, sizeof(m->stat));
    if (clock_process_cpu_ns(pid, &m->cpu_ns) < 0)
        m->cpu_ns = 0;
    limit_read(pid, m);
}

static void usage_put(struct link_message *m, const struct rusage *u)
{
    m->user_ns = timeval_ns(u->ru_utime);
    m->system_ns = timeval_ns(u->ru_stime);
    m->maxrss_bytes = (uint64_t)u->ru_maxrss * 1024;
    m->faults_minor = (uint64_t)u->ru_minflt;
    m->faults_major = (uint64_t)u->ru_majflt;
    m->switches_voluntary = (uint64_t)u->ru_nvcsw;
    m->switches_involuntary = (uint64_t)u->ru_nivcsw;
}

/* When a parent reaps a process, the kernel adds what the process had read and written, with all that it had reaped, to
 * the parent's count (wait_task_zombie() in kernel/exit.c, since 2.6.27). Only root may read a zombie's own io on 6.18
 * (without an address space the kernel can't tell who may trace it), but we may read ours. So the growth of ours over
 * wait4(2), minus the text of our first read, is what the process used. Example: rchar was 5,000 before, in a text of
 * 95 bytes, and is 104,867,000 after: the process had read 104,861,905 bytes. */
struct own_io {
    bool ok;
    uint64_t text_len;
    struct pid_io io;
};

static bool io_parse(const char *text, uint64_t len, struct pid_io *ret)
{
    const unsigned all =
        1u << IO_RCHAR | 1u << IO_WCHAR | 1u << IO_READ_BYTES | 1u << IO_WRITE_BYTES | 1u << IO_CANCELLED_WRITE_BYTES;

    return len && pid_io_parse(span_of(text, len), ret) == 0 && (ret->valid & all) == all;
}

static struct own_io self_io_read(struct wrapper *w)
{
    struct own_io own = {0};
    char text[256];
    ssize_t len;

    if (w->self_io < 0)
        w->self_io = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
    len = w->self_io < 0 ? 0 : pread(w->self_io, text, sizeof(text), 0);
    own.text_len = len > 0 ? (uint64_t)len : 0;
    own.ok = io_parse(text, own.text_len, &own.io);
    return own;
}

static struct link_io io_of(const struct pid_io *io)
{
    return (struct link_io){
        .read_bytes = io->value[IO_READ_BYTES],
        .write_bytes = io->value[IO_WRITE_BYTES],
        .rchar_bytes = io->value[IO_RCHAR],
        .wchar_bytes = io->value[IO_WCHAR],
        .cancelled_write_bytes = io->value[IO_CANCELLED_WRITE_BYTES],
    };
}

/* An ordinary user can't open a zombie's io, because its files belong to root (task_dump_owner() in fs/proc/base.c),
 * but a descriptor that was opened before can be read. So the command's own I/O is known until its end, and with it the
 * I/O of the children that it reaped. */
void reap_prepare(struct wrapper *w)
{
    char path[64];

    if (!proc_is_own(w) || !w->command)
        return;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/io", (int)w->command, (int)w->command);
    w->command_io = open(path, O_RDONLY | O_CLOEXEC);
}

/* Reads the process's own I/O, but only if it never had another thread: the kernel has one sum for the I/O of other
 * threads and that of reaped children. If there was one, the CPU clock of the process is ahead of that of its first
 * thread. */
static void own_io_read(struct wrapper *w, pid_t pid, struct link_message *m)
{
    struct pid_io io;
    struct pid_schedstat ss;
    char text[256];
    ssize_t len;
    uint32_t n;

    if (pid != w->command || w->command_io < 0)
        return;
    len = pread(w->command_io, text, sizeof(text), 0);
    w->command_io = fd_close(w->command_io);
    if (len <= 0 || !io_parse(text, (uint64_t)len, &io))
        return;
    n = zombie_read(pid, "schedstat", text, sizeof(text));
    if (!n || pid_schedstat_parse(span_of(text, n), &ss) != 0 || ss.run_ns != m->cpu_ns)
        return;
    m->own_io = io_of(&io);
    m->own_io_known = true;
}

/* Call it before the process is reaped. Returns the wrapper's own count if the process's count can't be read. */
static struct own_io io_begin(struct wrapper *w, pid_t pid, struct link_message *m)
{
    struct pid_io io = {0};
    char text[256];

    m->io_known = proc_is_own(w) && io_parse(text, zombie_read(pid, "io", text, sizeof(text)), &io);
    m->io_used = io_of(&io);
    return m->io_known ? (struct own_io){0} : self_io_read(w);
}

/* Call after it was reaped. If nothing else is known, rusage has the bytes from and to storage, in units of 512
 * (include/linux/task_io_accounting_ops.h). */
static void io_end(struct wrapper *w, const struct own_io *before, const struct rusage *u, struct link_message *m)
{
    struct own_io after = {0};

    if (m->io_known)
        return;
    if (before->ok)
        after = self_io_read(w);
    m->io_used =
        (struct link_io){.read_bytes = (uint64_t)u->ru_inblock * 512, .write_bytes = (uint64_t)u->ru_oublock * 512};
    if (!after.ok)
        return;
    for (int i = 0; i < IO_MAX; i++)
        after.io.value[i] -= before->io.value[i];
    after.io.value[IO_RCHAR] -= before->text_len;
    m->io_used = io_of(&after.io);
    m->io_known = true;
}

static void totals_add(struct link_message *totals, const struct link_message *m)
{
    totals->total_reaped++;
    totals->total_user_ns += m->user_ns;
    totals->total_system_ns += m->system_ns;
    totals->total_faults_minor += m->faults_minor;
    totals->total_faults_major += m->faults_major;
    totals->total_switches_voluntary += m->switches_voluntary;
    totals->total_switches_involuntary += m->switches_involuntary;
    totals->total_io.read_bytes += m->io_used.read_bytes;
    totals->total_io.write_bytes += m->io_used.write_bytes;
    totals->total_io.rchar_bytes += m->io_used.rchar_bytes;
    totals->total_io.wchar_bytes += m->io_used.wchar_bytes;
    totals->total_io.cancelled_write_bytes += m->io_used.cancelled_write_bytes;
    totals->total_io_unknown += !m->io_known;
    if (m->maxrss_bytes > totals->total_maxrss_bytes)
        totals->total_maxrss_bytes = m->maxrss_bytes;
}

/* Was it a child that was there before the command? It has been reaped: its pid may be one of the job's from now on. */
static bool forget_other(struct wrapper *w, pid_t pid)
{
    for (size_t i = 0; i < w->n_others; i++) {
        if (w->other[i] == pid) {
            w->other[i] = w->other[--w->n_others];
            return true;
        }
    }
    return false;
}

static void reap_one(struct wrapper *w, pid_t pid)
{
    struct link_message m = w->totals;
    struct rusage usage;
    struct own_io before;
    int status;

    m.t_ns = clock_monotonic_ns();
    zombie_fill(w, pid, &m);
    own_io_read(w, pid, &m);
    before = io_begin(w, pid, &m);
    if (wait4(pid, &status, WNOHANG, &usage) != pid)
        return;
    if (pid == w->command) {
        w->command_ended = true;
        w->result->wait_status = status;
        w->result->ended_ns = m.t_ns;
    } else if (forget_other(w, pid) || (w->recorder && zombie_session(&m) == w->recorder)) {
        return; /* a helper that the recorder left behind, or a child from before the command; not of the job */
    }
    m.kind = LINK_REAPED;
    m.pid = pid;
    m.status = status;
    usage_put(&m, &usage);
    io_end(w, &before, &usage, &m);
    totals_add(&w->totals, &m);
    totals_add(&m, &m);
    link_put(w, &m);
}

bool reap_recorder(struct wrapper *w)
{
    int status;

    if (!w->recorder_ended && waitpid(w->recorder, &status, WNOHANG) == w->recorder) {
        w->recorder_ended = true;
        w->result->recorder_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    }
    return w->recorder_ended;
}

/* A round is limited, so that signals are forwarded even if many orphans end. Returns true if there may be more. */
bool reap_round(struct wrapper *w)
{
    for (int i = 0; i < 64; i++) {
        siginfo_t info = {0};

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || !info.si_pid)
            return false;
        if (info.si_pid == w->recorder)
            reap_recorder(w);
        else
            reap_one(w, info.si_pid);
    }
    return true;
}

char reap_state(struct wrapper *w, pid_t pid)
{
    char text[512];
    uint32_t len = proc_is_own(w) ? zombie_read(pid, "stat", text, sizeof(text)) : 0;
    const char *after = len ? memrchr(text, ')', len) : NULL;

    return after && text + len - after > 2 ? after[2] : 0;
}

/* The state of a helper of the recorder; 0: it is none, or it has ended. */
static char helper_state(const struct wrapper *w, pid_t pid)
{
    struct link_message m = {0};
    const char *after;

    m.stat_len = zombie_read(pid, "stat", m.stat, sizeof(m.stat));
    after = memrchr(m.stat, ')', m.stat_len);
    return after && zombie_session(&m) == w->recorder ? after[2] : 0;
}

#define CHILDREN_TEXT                                                                                                  \
    4096u /* some 500 children; of more the first ones are enough, as one that is left ends a search */

/* Reads the wrapper's children. The list needs CONFIG_PROC_CHILDREN. */
static int list_children(struct wrapper *w, char text[CHILDREN_TEXT], struct span *ret)
{
    char path[64];
    ssize_t len;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)w->self);
    len = proc_is_own(w) ? fd_read_file(AT_FDCWD, path, text, CHILDREN_TEXT) : -ENOENT;
    *ret = span_of(text, len > 0 ? (size_t)len : 0);
    return len < 0 ? -ENOENT : 0;
}

static pid_t next_child(struct span *rest)
{
    uint64_t pid;

    scan_blanks(rest);
    return scan_u64(rest, &pid) && pid <= INT32_MAX ? (pid_t)pid : 0;
}

static bool has_children(void)
{
    siginfo_t info = {0};

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Counts only the recorder's helpers. Living orphans of the job are children of the wrapper, too. */
enum reap_left reap_helpers_left(struct wrapper *w)
{
    char text[CHILDREN_TEXT];
    enum reap_left left = REAP_NONE_LEFT;
    struct span rest;
    pid_t pid;

    if (!has_children() || list_children(w, text, &rest) < 0)
        return left;
    while ((pid = next_child(&rest))) {
        char state = helper_state(w, pid);
        if (state && state != 'D')
            return REAP_ENDING;
        left = state ? REAP_HANGING : left;
    }
    return left;
}

/* Example: process 1 of a PID namespace has children that it did not start. */
void reap_note_others(struct wrapper *w)
{
    char text[CHILDREN_TEXT];
    struct span rest;
    pid_t pid;

    if (list_children(w, text, &rest) < 0)
        return;
    while ((pid = next_child(&rest)) && w->n_others < REAP_OTHERS)
        w->other[w->n_others++] = pid;
}

static bool is_other(const struct wrapper *w, pid_t pid)
{
    for (size_t i = 0; i < w->n_others; i++) {
        if (w->other[i] == pid)
            return true;
    }
    return pid == w->recorder;
}

int reap_job_left(struct wrapper *w)
{
    char text[CHILDREN_TEXT];
    struct span rest;
    pid_t pid;

    if (!has_children())
        return 0;
    if (list_children(w, text, &rest) < 0)
        return -ENOENT;
    while ((pid = next_child(&rest))) {
        if (!is_other(w, pid) && !helper_state(w, pid))
            return 1;
    }
    return 0;
}
