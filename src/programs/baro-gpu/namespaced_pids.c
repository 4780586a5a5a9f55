/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates PIDs of the driver, which are those of the outermost PID namespace. If we are in that namespace, they are
 * ours. In any other namespace they mean nothing, unless the host's /proc is visible (BARO_HOST_PROC): its lines NSpid
 * have a process's PIDs in all of its namespaces, and the start time tells which of them is that of our namespace.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/span.h"
#include "kernel/proc/procfs.h"
#include "programs/baro-gpu/gpu_helper.h"

#define OUTERMOST 0xEFFFFFFCu /* PROC_PID_INIT_INO of linux/proc_ns.h, since 3.8 */

const char *pids_host_proc(void)
{
    const char *given = getenv("BARO_HOST_PROC");
    struct stat st;
    if (given && *given)
        return given;
    return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == OUTERMOST ? "/proc" : NULL;
}

static bool is_host_process(int proc_fd, uint64_t pid, uint64_t start, int32_t *ret_pid, uint64_t *ret_start)
{
    if (!pid || pid > INT32_MAX || proc_read_start(proc_fd, (int32_t)pid) != start)
        return false;
    *ret_pid = (int32_t)pid;
    *ret_start = start;
    return true;
}

static bool find_by_nspid(int host_fd, int own_fd, int32_t host_pid, int32_t *ret_pid, uint64_t *ret_start)
{
    char text[8192];
    uint64_t start = proc_read_start(host_fd, host_pid);
    ssize_t n = start ? proc_read(host_fd, host_pid, "status", text, sizeof(text)) : -1;
    struct span rest = span_of(text, n > 0 ? (size_t)n : 0), line, word;
    while (scan_line(&rest, &line)) {
        if (!span_starts(line, "NSpid:"))
            continue;
        line = span_of(line.at + 6, line.len - 6);
        for (scan_blanks(&line); scan_word(&line, &word); scan_blanks(&line)) {
            uint64_t pid;
            if (scan_u64(&word, &pid) && is_host_process(own_fd, pid, start, ret_pid, ret_start))
                return true;
        }
        return false;
    }
    return start && is_host_process(own_fd, (uint64_t)host_pid, start, ret_pid, ret_start); /* before 4.1 */
}

bool pids_find(const char *host_proc, int32_t host_pid, int32_t *ret_pid, uint64_t *ret_start)
{
    int host_fd = open(host_proc, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    int own_fd = open("/proc", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    bool found = host_fd >= 0 && own_fd >= 0 && find_by_nspid(host_fd, own_fd, host_pid, ret_pid, ret_start);
    fd_close(host_fd);
    fd_close(own_fd);
    return found;
}
