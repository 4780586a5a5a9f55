/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals to the whole job, for limits: to members by pid and start time, and to a control group that is the command's
 * own. It never signals the group that baro was started in, nor the wrapper or a helper.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "recorder/loop/recorder.h"
#include "recorder/wrapper/own_cgroup.h"

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

bool end_job_lives(struct recorder *r, struct member *m)
{
    return m && !member_has_ended(m) && sampler_read_member(&r->sampler, m) == 0 && !member_is_zombie(m);
}

/* Events may have been lost, and without any, new processes are known from the last sample. Lists of children and of
 * the own group have them; those of new members are read in the same pass. */
static void find_members(struct recorder *r)
{
    event_drain(r->all);
    sampler_groups_find_members(&r->sampler);
    sampler_scan_wrapper(&r->sampler);
    for (size_t i = 0; i < r->job.tree.n; i++) {
        if (end_job_lives(r, r->job.tree.at[i]))
            sampler_scan_children(&r->sampler, r->job.tree.at[i]);
    }
}

/* Does the open folder of /proc belong to the process with this start time? The signal goes to the process of that
 * folder: if it has ended, to none, even if another process has its pid. */
static bool is_same(int folder, const struct member *m)
{
    struct pid_stat st;
    char text[1024];
    ssize_t n = fd_read_file(folder, "stat", text, sizeof(text));
    return n > 0 && pid_stat_parse(span_of(text, (size_t)n), &st) == 0 && st.starttime == m->row.key.start;
}

/* Returns false if it may not be signalled. */
static bool send_to(const struct recorder *r, const struct member *m, int signal)
{
    int32_t pid = m->row.key.pid;
    int folder, code = 0;
    if (pid <= 1 || sampling_is_own(&r->sampler.sampling, pid))
        return true;
    folder = r->proc_fd < 0 ? -ENOENT : proc_open(r->proc_fd, pid, ".", O_DIRECTORY);
    if (folder >= 0 && is_same(folder, m)) {
        code = (int)syscall(SYS_pidfd_send_signal, folder, signal, NULL, 0u);
        if (code < 0 && (errno == ENOSYS || errno == EBADF)) /* before 5.1 */
            code = kill(pid, signal);
    } else if (r->proc_fd < 0 && pid == r->wrapper.command && !r->end.status_known) {
        /* Without /proc only the command is known; it is there until the wrapper has reported its end. */
        code = kill(pid, signal);
    }
    code = code < 0 ? -errno : 0;
    fd_close(folder);
    return code != -EPERM;
}

/* Kills all in the command's own v2 group at once: a process can't fork faster than that. Only in the directory that
 * was made for the command, and not if the job has moved baro there. */
static void kill_group(const struct recorder *r)
{
    const struct own_group *own = r->options->run.own_group;
    char text[4096];
    if (!own || !own->n || !own->at[0].v2)
        return;
    struct span procs = own_read(own->at[0].path, "cgroup.procs", text, sizeof(text));
    uint64_t pid;
    while (scan_blanks(&procs), scan_u64(&procs, &pid)) {
        if (sampling_is_own(&r->sampler.sampling, (int32_t)pid))
            return;
        scan_char(&procs, '\n');
    }
    own_write(own->at[0].path, "cgroup.kill", "1"); /* 5.14 */
}

struct end_job end_job_signal(struct recorder *r, int signal)
{
    struct end_job n = {0};
    find_members(r);
    for (size_t i = 0; i < r->job.tree.n; i++) {
        struct member *m = r->job.tree.at[i];
        if (!end_job_lives(r, m))
            continue;
        n.alive++;
        /* The recorder of a recording that was begun inside ends by itself when its job has ended: its tape is whole
         * then. */
        if (!signal || m->other.is)
            continue;
        n.refused += !send_to(r, m, signal);
        if (signal != SIGKILL)
            send_to(r, m, SIGCONT); /* one that is stopped takes the signal now */
    }
    if (signal == SIGKILL && n.alive)
        kill_group(r);
    return n;
}

const char *end_job_reason(const struct member *m)
{
    if (kill(m->row.key.pid, 0) < 0 && errno == EPERM)
        return "of another user: not permitted";
    return m->row.value[PROCESS_state] == 'D' ? "hangs in the kernel, state D" : "did not end within 5 s";
}
