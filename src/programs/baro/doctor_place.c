/* SPDX-License-Identifier: Apache-2.0 */
/* The environment: kernel, namespaces, user, and the event sources that report forks and exits here. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/span.h"
#include "kernel/events/policy.h"
#include "libbaro/tape/runs.h"
#include "output/text/summary_text.h"
#include "programs/baro/doctor.h"

/* include/linux/proc_ns.h: inodes of the initial namespaces. */
#define INITIAL_USER 0xEFFFFFFDu
#define INITIAL_PID 0xEFFFFFFCu

static bool initial(const char *path, ino_t inode)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_ino == inode;
}

static bool number_in(const char *path, int64_t *ret)
{
    char text[64];
    ssize_t n = fd_read_file(AT_FDCWD, path, text, sizeof(text));
    struct span s = span_of(text, n > 0 ? (size_t)n : 0);
    return n > 0 && scan_i64(&s, ret);
}

static void namespaces(struct findings *f)
{
    if (access("/proc/version", F_OK) < 0) {
        finding_grant(findings_add(f, "place", "namespaces", FOUND_NO,
                                   "/proc is not mounted: only processes that baro run reaps itself are known"),
                      "mount -t proc proc /proc");
        return;
    }
    bool pid = initial("/proc/self/ns/pid", INITIAL_PID), user = initial("/proc/self/ns/user", INITIAL_USER);
    if (pid && user) {
        findings_add(f, "place", "namespaces", FOUND_YES, "the initial ones, of pids and of users");
        return;
    }
    struct doctor_finding *one =
        findings_add(f, "place", "namespaces", FOUND_PARTLY,
                     "a container: its own %s%s%s; events come from perf, or processes are found by their pids",
                     pid ? "" : "pids", pid || user ? "" : " and ", user ? "" : "users");
    finding_grant(one, "running baro outside, on the host; or --pid=host and --userns=host");
}

static void kept_runs(struct findings *f)
{
    struct buf dir = {0};
    struct baro_error note = BARO_ERROR_INIT, err = BARO_ERROR_INIT;
    if (runs_dir(&dir, &note, &err) < 0)
        finding_grant(findings_add(f, "place", "kept runs", FOUND_NO, "%s", err.text),
                      "BARO_DIR=/some/folder, or -o FILE");
    else if (note.text[0])
        finding_grant(findings_add(f, "place", "kept runs", FOUND_PARTLY, "%s", note.text), "BARO_DIR=/some/folder");
    else
        findings_add(f, "place", "kept runs", FOUND_YES, "in %.200s", (const char *)dir.at);
    buf_done(&dir);
}

void doctor_place(struct findings *f)
{
    struct utsname u;
    if (uname(&u) == 0)
        findings_add(f, "place", "kernel", FOUND_FACT, "%s %s on %s", u.sysname, u.release, u.machine);
    findings_add(f, "place", "user", FOUND_FACT, geteuid() ? "%u, not root" : "root", (unsigned)geteuid());
    namespaces(f);
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (fd >= 0) {
        findings_add(f, "place", "pidfd", FOUND_YES, "processes can be waited for and signalled by identity");
        close(fd);
    } else {
        finding_grant(
            findings_add(f, "place", "pidfd", FOUND_NO, "%s; ends are seen at the next sample", strerror(errno)),
            "a kernel of 5.3 or later");
    }
    kept_runs(f);
}

static void settings(struct findings *f)
{
    int64_t v;
    if (number_in("/proc/sys/kernel/perf_event_paranoid", &v))
        findings_add(f, "events", "perf_event_paranoid", FOUND_FACT, "%lld", (long long)v);
    if (number_in("/proc/sys/kernel/task_delayacct", &v))
        findings_add(f, "events", "task_delayacct", FOUND_FACT, "%s",
                     v ? "on" : "off: no delays for I/O and swap in exit records");
}

void doctor_events(struct findings *f)
{
    static const char *const names[] = {
        [EXITS_CONNECTOR] = "connector", [EXITS_PERF] = "perf", [EXITS_TASKSTATS] = "taskstats"};
    struct exits_policy policy;
    exits_choose(&policy);
    for (int i = 0; i < 3; i++) {
        struct doctor_finding *one = findings_add(f, "events", names[i], policy.probes[i].works ? FOUND_YES : FOUND_NO,
                                                  "%s", policy.probes[i].text);
        const char *refusal = i == EXITS_PERF ? exits_perf_refusal(policy.probes[i].code) : NULL;
        if (refusal)
            finding_grant(one, "%s (docs/places.md)", report_perf_grant(refusal));
    }
    settings(f);
    findings_add(f, "events", "chosen", policy.membership == MEMBERSHIP_SCAN ? FOUND_PARTLY : FOUND_YES,
                 "forks and exits by %s, what ended processes used by %s", exits_membership_name(policy.membership),
                 policy.usage == USAGE_NONE ? "wait4 and the last sample" : exits_usage_name(policy.usage));
}
