/* SPDX-License-Identifier: Apache-2.0 */
/* What no metric says: kernel, namespaces, user, event sources, TCP, GPUs and meters of energy, which other programs
 * read, limits of control groups, and whether a job may have a group of its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/fmt.h"
#include "base/namespace.h"
#include "base/span.h"
#include "kernel/cgroup/discover.h"
#include "kernel/events/policy.h"
#include "kernel/sys/power_pmu.h"
#include "kernel/sys/sysfs.h"
#include "libbaro/tape/runs.h"
#include "output/text/summary_text.h"
#include "programs/baro/doctor.h"
#include "recorder/collectors/cgroups/bounds.h"
#include "recorder/collectors/sockets/sockets.h"
#include "recorder/wrapper/own_cgroup.h"

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
    int proc_fd CLEANUP(fd_closep) = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!namespace_proc_is_own(proc_fd)) {
        finding_grant(findings_add(f, "place", "namespaces", FOUND_NO,
                                   "/proc is that of another PID namespace: only processes that baro run reaps itself "
                                   "are known"),
                      "mount -t proc proc /proc, as unshare --mount-proc does");
        return;
    }
    bool pid = initial("/proc/self/ns/pid", INITIAL_PID), user = initial("/proc/self/ns/user", INITIAL_USER);
    if (pid && user) {
        findings_add(f, "place", "namespaces", FOUND_YES, "the initial ones, of pids and of users");
        return;
    }
    struct doctor_finding *one =
        findings_add(f, "place", "namespaces", FOUND_PARTLY,
                     "a container: its own %s%s%s; events come from perf, or processes are found by scanning",
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

void doctor_sockets(struct findings *f)
{
    struct sockets_probe p;
    sockets_probe(&p);
    if (p.ends == 0)
        findings_add(f, TCP, "ends", FOUND_YES, "what each socket had sent and received when it ended");
    else
        finding_grant(
            findings_add(f, TCP, "ends", FOUND_NO, "what sockets did after they were read last: sums are lower bounds"),
            "a kernel of 4.3 or later, or CAP_NET_ADMIN");
    if (p.enter == 0)
        findings_add(f, TCP, "namespaces", FOUND_YES,
                     "sockets of processes in other network namespaces, as of containers");
    else
        finding_grant(findings_add(f, TCP, "namespaces", FOUND_PARTLY,
                                   "only sockets in the network namespace of the recorder: %s", strerror(-p.enter)),
                      "CAP_SYS_ADMIN (root)");
}

/* ---- the machine ---- */

static bool has_word(const char *path, const char *word)
{
    char text[32768];
    ssize_t n = fd_read_file(AT_FDCWD, path, text, sizeof(text));
    return n > 0 && memmem(text, (size_t)n, word, strlen(word));
}

/* Without loading the driver's library, which can take seconds. */
static void gpus(struct findings *f, int sys_fd)
{
    int n = sys_fd < 0 ? 0 : sys_gpus(sys_fd, NULL, NULL);
    bool is_nvidia = access("/proc/driver/nvidia/version", R_OK) == 0;
    if (is_nvidia && access("/dev/nvidiactl", R_OK | W_OK) == 0)
        findings_add(f, MACHINE, "GPUs", FOUND_YES,
                     "NVIDIA's driver is loaded: the program baro-gpu asks it, beside the recorder");
    else if (is_nvidia)
        finding_grant(findings_add(f, MACHINE, "GPUs", FOUND_NO,
                                   "NVIDIA's driver is loaded, but /dev/nvidiactl can't be opened: %s",
                                   strerror(errno)),
                      "a container or a job that was given GPUs (--gpus, --gres=gpu)");
    else if (n)
        findings_add(
            f, MACHINE, "GPUs", FOUND_PARTLY,
            "%d of AMD, Intel or others: devices as far as their drivers say, and what the job's processes use "
            "(fdinfo), but not what others do",
            n);
    else
        finding_grant(
            findings_add(f, MACHINE, "GPUs", FOUND_NO, "no driver of NVIDIA, and none of AMD, Intel or others"),
            "a GPU of these, its driver, and a container that was given it");
}

static void energy(struct findings *f, int sys_fd)
{
    struct power_pmu p;
    int powercap CLEANUP(fd_closep) = open("/sys/class/powercap/intel-rapl:0/energy_uj", O_RDONLY | O_CLOEXEC);
    bool is_denied = powercap < 0 && (errno == EACCES || errno == EPERM);
    int code = sys_fd < 0 ? -ENOENT : power_pmu_read(sys_fd, &p);
    int pmu CLEANUP(fd_closep) = code == 0 ? power_pmu_open(&p, 0, 0) : code;
    bool is_pmu_denied = pmu == -EACCES || pmu == -EPERM;
    if (powercap >= 0 || pmu >= 0)
        findings_add(f, MACHINE, "energy", FOUND_YES, "energy of CPUs and memory (RAPL, by %s)",
                     powercap >= 0 ? "powercap" : "the PMU power of perf");
    else if (is_denied || is_pmu_denied)
        finding_grant(
            findings_add(f, MACHINE, "energy", FOUND_NO, "energy of CPUs and memory: %s%s",
                         is_denied ? "powercap is for root alone since 2020 (CVE-2020-8694)" : "there is no powercap",
                         is_pmu_denied ? ", and perf's PMU power may not be read"
                                       : ", and perf has no PMU power for packages"),
            "%s%s%s", is_pmu_denied ? "CAP_PERFMON for baro and baro-gpu, or kernel.perf_event_paranoid = 0" : "",
            is_denied && is_pmu_denied ? ", or " : "",
            is_denied ? "root: chmod a+r /sys/class/powercap/*/energy_uj after each boot (tmpfiles.d: z PATH 0444), or "
                        "CAP_DAC_READ_SEARCH for baro and baro-gpu"
                      : "");
    else
        finding_grant(
            findings_add(f, MACHINE, "energy", FOUND_NO,
                         "energy of CPUs and memory: there is no RAPL in /sys/class/powercap, and perf has no "
                         "PMU power for packages, as in a virtual machine"),
            "the modules intel_rapl_common and intel_rapl_msr, on a machine of one's own");
}

void doctor_machine(struct findings *f)
{
    int sys_fd CLEANUP(fd_closep) = open("/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    gpus(f, sys_fd);
    energy(f, sys_fd);
    /* Where the values of /proc are not those of the machine. */
    if (has_word("/proc/self/mountinfo", " - fuse.lxcfs "))
        findings_add(f, MACHINE, "lxcfs", FOUND_FACT,
                     "/proc is made up for this container: what stands for the machine is its share");
    if (has_word("/proc/sys/kernel/osrelease", "icrosoft"))
        findings_add(f, MACHINE, "WSL", FOUND_FACT, "the machine is a virtual one below Windows");
    if (has_word("/proc/version", "gVisor"))
        findings_add(f, MACHINE, "gVisor", FOUND_FACT,
                     "the kernel is a sandbox: much of what it says of the machine is nothing");
}

/* ---- control groups ---- */

static void bound(struct buf *b, const char *what, const struct cgroup_bound *of, bool is_bytes, bool is_cores)
{
    if (of->value == CGROUP_NO_LIMIT)
        return;
    buf_printf(b, "%s%s ", b->len ? "; " : "", what);
    if (is_bytes)
        fmt_bytes(b, of->value);
    else if (is_cores)
        fmt_decimal(b, (double)of->value / 1e6, 2);
    else
        fmt_count(b, of->value);
    buf_printf(b, " by %s", of->source);
}

static void check_limits(struct findings *f, const struct cgroup_hierarchies *p, int root)
{
    struct cgroup_bounds bounds;
    struct buf b = {0};
    cgroup_bounds_read(root, p, &bounds);
    bound(&b, "memory", &bounds.memory, true, false);
    bound(&b, "cores", &bounds.quota, false, true);
    bound(&b, "CPUs", &bounds.cpus, false, false);
    bound(&b, "threads", &bounds.pids, false, false);
    buf_byte(&b, 0);
    bool seen = !bounds.memory.unseen && !bounds.quota.unseen && !bounds.pids.unseen;
    findings_add(f, CONTROL_GROUPS, "limits", FOUND_FACT, "%s%s",
                 b.len > 1 && !b.failed ? (const char *)b.at
                 : seen                 ? "none in any group from here up"
                                        : "none to be seen",
                 seen ? "" : "; of others above nothing is known");
    buf_done(&b);
}

static bool is_writable(const struct cgroup_location *p, const char *file)
{
    char path[CGROUP_DIR_MAX + 64];
    snprintf(path, sizeof(path), "/%s/%s", p->dir, file);
    return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

static bool is_listed(const struct cgroup_location *p, const char *file, const char *word)
{
    char dir[CGROUP_DIR_MAX + 2], text[256];
    snprintf(dir, sizeof(dir), "/%s", p->dir);
    return span_has_word(own_read(dir, file, text, sizeof(text)), word);
}

/* Names the memory values that a group below this one would have. Other processes of this group are not considered:
 * one of them is the caller of doctor. */
static const char *memory_of_own(const struct cgroup_location *memory, const struct cgroup_location *p)
{
    if (memory && !memory->v2)
        return is_writable(memory, ".") && is_writable(memory, "cgroup.procs")
                   ? "CPU time, and of v1 memory and its peak"
                   : "CPU time";
    if (!p->v2)
        return "CPU time";
    if (is_listed(p, "cgroup.subtree_control", "memory"))
        return "CPU time, memory and its peak";
    if (p->root)
        return "CPU time; no memory, as this is the root of the machine's";
    if (is_listed(p, "cgroup.controllers", "memory") && is_writable(p, "cgroup.subtree_control"))
        return "CPU time; memory and its peak, too, where baro is alone in this group (systemd-run --scope -p "
               "Delegate=yes baro run ...)";
    return "CPU time; no memory, as this group has no memory controller to hand on";
}

/* A group can be made if the directory and the cgroup.procs of its parent are writable. */
static void own_group(struct findings *f, const struct cgroup_hierarchies *p)
{
    const struct cgroup_location *v2 = cgroup_location_of(p, CGROUP_AT_UNIFIED),
                                 *at = v2 ? v2 : cgroup_location_of(p, CGROUP_AT_CPUACCT),
                                 *memory = cgroup_location_of(p, CGROUP_AT_MEMORY);
    char path[CGROUP_DIR_MAX + 2] = "/";
    if (at)
        snprintf(path, sizeof(path), "/%s", at->dir);
    if (!at)
        finding_grant(findings_add(f, CONTROL_GROUPS, "own group", FOUND_NO,
                                   "a job can't be given one: there is no hierarchy that counts CPU time"),
                      "v2 mounted, beside v1 or alone");
    else if (!is_writable(at, ".") || !is_writable(at, "cgroup.procs"))
        finding_grant(findings_add(f, CONTROL_GROUPS, "own group", FOUND_NO,
                                   "a job can't be given one: this one is not delegated to this user"),
                      "systemd-run --user --scope -p Delegate=yes baro run ..., or root");
    else if (v2 && own_is_delegated(path)) /* memory of v1 needs --cgroup own */
        findings_add(f, CONTROL_GROUPS, "own group", FOUND_YES, "every job is given one (v2): %s",
                     memory && !memory->v2 ? "CPU time" : memory_of_own(memory, at));
    else
        finding_grant(findings_add(f, CONTROL_GROUPS, "own group", FOUND_PARTLY,
                                   "with --cgroup own a job is given one (%s): %s", v2 ? "v2" : "v1",
                                   memory_of_own(memory, at)),
                      "user.delegate or trusted.delegate = 1 of this group of v2, as systemd sets with Delegate=yes, "
                      "for every job");
}

void doctor_cgroup(struct findings *f)
{
    int root CLEANUP(fd_closep) = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct cgroup_hierarchies *p = malloc(sizeof(*p));
    int code = p && root >= 0 ? cgroup_find(root, 0, p) : -ENOMEM;
    bool v1 = false, v2 = false;
    for (size_t i = 0; code == 0 && i < p->n; i++) {
        v1 = v1 || !p->at[i].v2;
        v2 = v2 || p->at[i].v2;
    }
    if (code < 0) {
        finding_grant(findings_add(f, CONTROL_GROUPS, "hierarchies", FOUND_NO,
                                   "limits and use are not known: /proc/self/cgroup: %s", strerror(-code)),
                      "a kernel with CONFIG_CGROUPS, outside of a sandbox");
    } else if (!p->n) { /* groups that are not visible are not known */
        finding_grant(findings_add(f, CONTROL_GROUPS, "hierarchies", FOUND_NO,
                                   "none is to be seen: limits above this process are not known"),
                      "a container with /sys/fs/cgroup mounted (read-only will do)");
    } else {
        const struct cgroup_location *own = cgroup_location_of(p, v2 ? CGROUP_AT_UNIFIED : CGROUP_AT_MEMORY);
        findings_add(f, CONTROL_GROUPS, "hierarchies", FOUND_FACT, "%s; this process is in %.200s",
                     v1 && v2 ? "v1 and v2 (hybrid)"
                     : v2     ? "v2"
                              : "v1",
                     own ? own->path : p->at[0].path);
        check_limits(f, p, root);
        own_group(f, p);
    }
    free(p);
}
