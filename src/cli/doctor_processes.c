/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of processes this user may read: of own processes and of another user's. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/doctor.h"
#include "metric/ids.h"
#include "procfs/procfs.h"

#define PTRACE_GRANT "CAP_SYS_PTRACE (root, or setcap cap_sys_ptrace+ep on baro), or being that user"

/* The files, with the metrics that they have. */
static const struct {
    const char *file;
    const char *gives;
    unsigned source;
} files[] = {
    {"stat", "cpu, rss, threads, faults, state", BARO_SOURCE_STAT},
    {"status", "peak rss, swap, kinds of memory", BARO_SOURCE_STATUS},
    {"io", "bytes read and written", BARO_SOURCE_IO},
    {"smaps_rollup", "pss, uss", BARO_SOURCE_SMAPS},
    {"schedstat", "time spent waiting for a core", BARO_SOURCE_SCHEDSTAT},
    {"cmdline", "command lines", 0},
};
#define FILES (sizeof(files) / sizeof(*files))

static int try_file(int proc, int32_t pid, const char *what)
{
    static const size_t cap = 65536;
    char *text = malloc(cap);
    ssize_t n = text ? proc_read(proc, pid, what, text, cap) : -ENOMEM;
    free(text);
    return n < 0 ? (int)n : 0;
}

static void own_files(struct findings *f, int proc)
{
    uint64_t ns;
    for (size_t i = 0; i < FILES; i++) {
        int code = try_file(proc, (int32_t)getpid(), files[i].file);
        if (code == 0) {
            findings_add(f, "own processes", files[i].file, FOUND_YES, "%s", files[i].gives);
            continue;
        }
        struct doctor_finding *one =
            findings_add(f, "own processes", files[i].file, FOUND_NO, "%s: %s", files[i].gives, error_text(-code));
        if (code == -ENOENT && files[i].source == BARO_SOURCE_SMAPS)
            finding_grant(one, "a kernel of 4.14 or later, with CONFIG_PROC_PAGE_MONITOR");
        else if (code == -ENOENT && files[i].source == BARO_SOURCE_IO)
            finding_grant(one, "a kernel with CONFIG_TASK_IO_ACCOUNTING");
        else if (code == -ENOENT)
            finding_grant(one, "a kernel that has this file");
    }
    int64_t fds = proc_count_fds(proc, (int32_t)getpid());
    findings_add(f, "own processes", "fd", fds >= 0 ? FOUND_YES : FOUND_NO, "open file descriptors%s%s",
                 fds < 0 ? ": " : "", fds < 0 ? error_text((int)-fds) : "");
    int code = clock_process_cpu_ns(getpid(), &ns);
    findings_add(f, "own processes", "clock", code == 0 ? FOUND_YES : FOUND_NO, "cpu time in nanoseconds%s%s",
                 code ? ": " : "", code ? error_text(-code) : "");
}

struct search {
    int proc;
    uint32_t self;
    int32_t found;
    uint32_t uid;
    unsigned seen;
    char text[8192];
};

/* Finds a process of another user that has memory: a kernel thread would prove nothing. */
static bool look(void *context, int32_t pid)
{
    struct search *s = context;
    struct pid_status st;
    ssize_t n = proc_read(s->proc, pid, "status", s->text, sizeof(s->text));
    if (n <= 0 || pid_status_parse(span_of(s->text, (size_t)n), &st) != 0)
        return true;
    s->seen++;
    if (!(st.valid & 1u << STATUS_UID) || !(st.valid & 1u << STATUS_VM_RSS) || st.value[STATUS_UID] == s->self)
        return true;
    s->found = pid;
    s->uid = (uint32_t)st.value[STATUS_UID];
    return false;
}

static void others_files(struct findings *f, int proc, const struct search *s)
{
    struct buf have = {0}, lack = {0};
    for (size_t i = 0; i < FILES; i++) {
        struct buf *to = try_file(proc, s->found, files[i].file) == 0 ? &have : &lack;
        buf_str(to, to->len ? ", " : "");
        buf_str(to, files[i].file);
    }
    if (!lack.len) {
        findings_add(f, "other users", "files", FOUND_YES, "all of them, tried on process %d of user %u", s->found,
                     s->uid);
    } else {
        buf_byte(&have, 0);
        buf_byte(&lack, 0);
        struct doctor_finding *one = findings_add(
            f, "other users", "files", FOUND_PARTLY, "%s; not %s (process %d of user %u)",
            have.failed ? "" : (const char *)have.at, lack.failed ? "" : (const char *)lack.at, s->found, s->uid);
        finding_grant(one, PTRACE_GRANT);
    }
    buf_done(&have);
    buf_done(&lack);
}

/* hidepid is a mount option: since 5.8 each mount of proc has its own. */
static bool hidden(char *ret, size_t cap)
{
    char text[32768];
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/self/mountinfo", text, sizeof(text));
    struct span rest = span_of(text, n > 0 ? (size_t)n : 0), line;
    while (scan_line(&rest, &line)) {
        const char *at = memmem(line.at, line.len, "hidepid=", 8);
        if (!at || !memmem(line.at, line.len, " - proc ", 8))
            continue;
        size_t len = 0, room = (size_t)(line.at + line.len - at);
        while (len < room && len + 1 < cap && at[len] != ',' && at[len] != ' ')
            len++;
        memcpy(ret, at, len);
        ret[len] = 0;
        return strcmp(ret, "hidepid=0") != 0 && strcmp(ret, "hidepid=off") != 0;
    }
    return false;
}

void doctor_processes(struct findings *f)
{
    struct search s = {.self = getuid()};
    char option[32];
    int proc CLEANUP(fd_closep) = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0) {
        finding_grant(
            findings_add(f, "own processes", "/proc", FOUND_NO, "nothing can be recorded: %s", error_text(errno)),
            "mount -t proc proc /proc");
        return;
    }
    own_files(f, proc);
    s.proc = proc;
    proc_each_process(proc, look, &s);
    if (hidden(option, sizeof(option)))
        finding_grant(findings_add(f, "other users", "hidepid", FOUND_PARTLY,
                                   "/proc is mounted with %s, which hides others' processes", option),
                      "the group of gid=, or mount -o remount,hidepid=0 /proc");
    if (s.found)
        others_files(f, proc, &s);
    else
        findings_add(f, "other users", "files", FOUND_FACT, "no process of another user is to be seen among %u",
                     s.seen);
}
