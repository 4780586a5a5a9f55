/* SPDX-License-Identifier: Apache-2.0 */
/* What no metric says: kernel, namespaces, user, event sources, TCP, GPUs and meters of energy, which other programs
 * read, limits of control groups, and whether a job may have a group of its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/fmt.h"
#include "base/namespace.h"
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

static bool is_initial(const char *path, ino_t inode)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_ino == inode;
}

static bool has_word(const char *path, const char *word)
{
    char text[32768];
    ssize_t n = fd_read_file(AT_FDCWD, path, text, sizeof(text));
    return n > 0 && memmem(text, (size_t)n, word, strlen(word));
}

/* ---- place ---- */

static void namespaces(struct findings *f)
{
    int proc_fd CLEANUP(fd_closep) = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_mounted = access("/proc/version", F_OK) == 0;
    bool pid = is_initial("/proc/self/ns/pid", INITIAL_PID), user = is_initial("/proc/self/ns/user", INITIAL_USER);
    if (!is_mounted || !namespace_proc_is_own(proc_fd))
        findings_add(f, "place", "namespaces", FOUND_NO,
                     "mount -t proc proc /proc, as unshare --mount-proc and containers do",
                     "/proc is %s: only processes that baro run reaps itself are known",
                     is_mounted ? "that of another PID namespace" : "not mounted");
    else if (pid && user)
        findings_add(f, "place", "namespaces", FOUND_YES, NULL, "the initial ones, of pids and of users");
    else
        findings_add(f, "place", "namespaces", FOUND_PARTLY,
                     "running baro outside, on the host; or --pid=host and --userns=host",
                     "a container: its own %s%s%s; events come from perf, or processes are found by their pids",
                     pid ? "" : "pids", pid || user ? "" : " and ", user ? "" : "users");
}

void doctor_place(struct findings *f)
{
    struct utsname u;
    struct buf dir = {0};
    struct baro_error note = BARO_ERROR_INIT, err = BARO_ERROR_INIT;
    if (uname(&u) == 0)
        findings_add(f, "place", "kernel", FOUND_FACT, NULL, "%s %s on %s", u.sysname, u.release, u.machine);
    findings_add(f, "place", "user", FOUND_FACT, NULL, geteuid() ? "%u, not root" : "root", (unsigned)geteuid());
    namespaces(f);
    int fd CLEANUP(fd_closep) = (int)syscall(SYS_pidfd_open, getpid(), 0);
    findings_add(f, "place", "pidfd", fd < 0 ? FOUND_NO : FOUND_YES, "a kernel of 5.3 or later", "%s%s",
                 fd < 0 ? strerror(errno) : "processes can be waited for and signalled by identity",
                 fd < 0 ? "; ends are seen at the next sample" : "");
    if (runs_dir(&dir, &note, &err) < 0)
        findings_add(f, "place", "kept runs", FOUND_NO, "BARO_DIR=/some/folder, or -o FILE", "%s", err.text);
    else if (note.text[0])
        findings_add(f, "place", "kept runs", FOUND_PARTLY, "BARO_DIR=/some/folder", "%s", note.text);
    else
        findings_add(f, "place", "kept runs", FOUND_YES, NULL, "in %.200s", (const char *)dir.at);
    buf_done(&dir);
}

/* ---- events ---- */

void doctor_events(struct findings *f)
{
    static const char *const names[] = {
        [EXITS_CONNECTOR] = "connector", [EXITS_PERF] = "perf", [EXITS_TASKSTATS] = "taskstats"};
    struct exits_policy policy;
    char text[64];
    exits_choose(&policy);
    for (int i = 0; i < 3; i++) {
        const struct exits_probe *p = &policy.probes[i];
        const char *refusal = i == EXITS_PERF ? exits_perf_refusal(p->code) : NULL;
        struct doctor_finding *one =
            findings_add(f, "events", names[i], p->works ? FOUND_YES : FOUND_NO, NULL, "%s", p->text);
        if (refusal)
            snprintf(one->grant, sizeof(one->grant), "%s (docs/places.md)", report_perf_grant(refusal));
    }
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid", text, sizeof(text));
    if (n > 1)
        findings_add(f, "events", "perf_event_paranoid", FOUND_FACT, NULL, "%.*s", (int)n - 1, text);
    if (access("/proc/sys/kernel/task_delayacct", R_OK) == 0)
        findings_add(f, "events", "task_delayacct", FOUND_FACT, NULL, "%s",
                     has_word("/proc/sys/kernel/task_delayacct", "0")
                         ? "off: no delays for I/O and swap in exit records"
                         : "on");
    findings_add(f, "events", "chosen", policy.membership == MEMBERSHIP_SCAN ? FOUND_PARTLY : FOUND_YES, NULL,
                 "forks and exits by %s, what ended processes used by %s", exits_membership_name(policy.membership),
                 policy.usage == USAGE_NONE ? "wait4 and the last sample" : exits_usage_name(policy.usage));
}

void doctor_sockets(struct findings *f)
{
    struct sockets_probe p;
    sockets_probe(&p);
    findings_add(f, TCP, "ends", p.ends ? FOUND_NO : FOUND_YES, "a kernel of 4.3 or later, or CAP_NET_ADMIN", "%s",
                 p.ends ? "what sockets did after they were read last: sums are lower bounds"
                        : "what each socket had sent and received when it ended");
    findings_add(f, TCP, "namespaces", p.enter ? FOUND_PARTLY : FOUND_YES, "CAP_SYS_ADMIN (root)", "%s%s",
                 p.enter ? "only sockets in the network namespace of the recorder: "
                         : "sockets of processes in other network namespaces, as of containers",
                 p.enter ? strerror(-p.enter) : "");
}

/* ---- the machine ---- */

/* Without loading the driver's library, which can take seconds. */
static void gpus(struct findings *f, int sys_fd)
{
    int n = sys_fd < 0 ? 0 : sys_gpus(sys_fd, NULL, NULL);
    bool is_nvidia = access("/proc/driver/nvidia/version", R_OK) == 0;
    if (is_nvidia && access("/dev/nvidiactl", R_OK | W_OK) == 0)
        findings_add(f, MACHINE, "GPUs", FOUND_YES, NULL,
                     "NVIDIA's driver is loaded: the program baro-gpu asks it, beside the recorder");
    else if (is_nvidia)
        findings_add(f, MACHINE, "GPUs", FOUND_NO, "a container or a job that was given GPUs (--gpus, --gres=gpu)",
                     "NVIDIA's driver is loaded, but /dev/nvidiactl can't be opened: %s", strerror(errno));
    else if (n)
        findings_add(f, MACHINE, "GPUs", FOUND_PARTLY, NULL,
                     "%d of AMD, Intel or others: devices as far as their drivers say, and what the job's processes "
                     "use (fdinfo), but not what others do",
                     n);
    else
        findings_add(f, MACHINE, "GPUs", FOUND_NO, "a GPU of these, its driver, and a container that was given it",
                     "no driver of NVIDIA, and none of AMD, Intel or others");
}

static void energy(struct findings *f, int sys_fd)
{
    static const char perf_grant[] = "CAP_PERFMON for baro and baro-gpu, or kernel.perf_event_paranoid = 0";
    static const char grant[] = "root: chmod a+r /sys/class/powercap/*/energy_uj after each boot (tmpfiles.d: z PATH "
                                "0444), or CAP_DAC_READ_SEARCH for baro and baro-gpu";
    struct power_pmu p;
    int powercap CLEANUP(fd_closep) = open("/sys/class/powercap/intel-rapl:0/energy_uj", O_RDONLY | O_CLOEXEC);
    bool is_denied = powercap < 0 && (errno == EACCES || errno == EPERM);
    int code = sys_fd < 0 ? -ENOENT : power_pmu_read(sys_fd, &p);
    int pmu CLEANUP(fd_closep) = code == 0 ? power_pmu_open(&p, 0, 0) : code;
    bool is_pmu_denied = pmu == -EACCES || pmu == -EPERM;
    if (powercap >= 0 || pmu >= 0) {
        findings_add(f, MACHINE, "energy", FOUND_YES, NULL, "energy of CPUs and memory (RAPL, by %s)",
                     powercap >= 0 ? "powercap" : "the PMU power of perf");
        return;
    }
    struct doctor_finding *one = findings_add(
        f, MACHINE, "energy", FOUND_NO, "the modules intel_rapl_common and intel_rapl_msr, on a machine of one's own",
        "energy of CPUs and memory: %s, and %s",
        is_denied ? "powercap is for root alone since 2020 (CVE-2020-8694)"
                  : "there is no RAPL in /sys/class/powercap, as in a virtual machine",
        is_pmu_denied ? "perf's PMU power may not be read" : "perf has no PMU power for packages");
    if (is_denied || is_pmu_denied)
        snprintf(one->grant, sizeof(one->grant), "%s%s%s", is_pmu_denied ? perf_grant : "",
                 is_denied && is_pmu_denied ? ", or " : "", is_denied ? grant : "");
}

void doctor_machine(struct findings *f)
{
    int sys_fd CLEANUP(fd_closep) = open("/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    gpus(f, sys_fd);
    energy(f, sys_fd);
    /* Where the values of /proc are not those of the machine. */
    if (has_word("/proc/self/mountinfo", " - fuse.lxcfs "))
        findings_add(f, MACHINE, "lxcfs", FOUND_FACT, NULL,
                     "/proc is made up for this container: what stands for the machine is its share");
    if (has_word("/proc/sys/kernel/osrelease", "icrosoft"))
        findings_add(f, MACHINE, "WSL", FOUND_FACT, NULL, "the machine is a virtual one below Windows");
    if (has_word("/proc/version", "gVisor"))
        findings_add(f, MACHINE, "gVisor", FOUND_FACT, NULL,
                     "the kernel is a sandbox: much of what it says of the machine is nothing");
}

/* ---- control groups ---- */

static void check_limits(struct findings *f, const struct cgroup_hierarchies *p, int root)
{
    struct cgroup_bounds bounds;
    struct buf b = {0};
    cgroup_bounds_read(root, p, &bounds);
    const struct {
        const char *what;
        const struct cgroup_bound *of;
    } all[] = {{"memory", &bounds.memory}, {"cores", &bounds.quota}, {"CPUs", &bounds.cpus}, {"threads", &bounds.pids}};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        const struct cgroup_bound *of = all[i].of;
        if (of->value == CGROUP_NO_LIMIT)
            continue;
        buf_printf(&b, "%s%s ", b.len ? "; " : "", all[i].what);
        if (of == &bounds.memory)
            fmt_bytes(&b, of->value);
        else if (of == &bounds.quota)
            fmt_decimal(&b, (double)of->value / 1e6, 2);
        else
            fmt_count(&b, of->value);
        buf_printf(&b, " by %s", of->source);
    }
    buf_byte(&b, 0);
    bool seen = !bounds.memory.unseen && !bounds.quota.unseen && !bounds.pids.unseen;
    findings_add(f, CONTROL_GROUPS, "limits", FOUND_FACT, NULL, "%s%s",
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

static bool has_memory(const struct cgroup_location *p, const char *file)
{
    char path[CGROUP_DIR_MAX + 64];
    snprintf(path, sizeof(path), "/%s/%s", p->dir, file);
    return has_word(path, "memory");
}

/* Names the memory values that a group below this one would have. Other processes of this group are not considered:
 * one of them is the caller of doctor. */
static const char *memory_of_own(const struct cgroup_location *memory, const struct cgroup_location *p)
{
    bool is_v1 = memory && !memory->v2;
    if (is_v1 && is_writable(memory, ".") && is_writable(memory, "cgroup.procs"))
        return ", and of v1 memory and its peak";
    if (is_v1 || !p->v2)
        return "";
    if (has_memory(p, "cgroup.subtree_control"))
        return ", memory and its peak";
    if (p->root)
        return "; no memory, as this is the root of the machine's";
    return has_memory(p, "cgroup.controllers") && is_writable(p, "cgroup.subtree_control")
               ? "; memory and its peak, too, where baro is alone in this group (systemd-run --scope -p Delegate=yes "
                 "baro run ...)"
               : "; no memory, as this group has no memory controller to hand on";
}

/* A group can be made if the directory and the cgroup.procs of its parent are writable. */
static void own_group(struct findings *f, const struct cgroup_hierarchies *p)
{
    const struct cgroup_location *v2 = cgroup_location_of(p, CGROUP_AT_UNIFIED),
                                 *at = v2 ? v2 : cgroup_location_of(p, CGROUP_AT_CPUACCT),
                                 *memory = cgroup_location_of(p, CGROUP_AT_MEMORY);
    char path[CGROUP_DIR_MAX + 2];
    snprintf(path, sizeof(path), "/%s", at ? at->dir : "");
    if (!at)
        findings_add(f, CONTROL_GROUPS, "own group", FOUND_NO, "v2 mounted, beside v1 or alone",
                     "a job can't be given one: there is no hierarchy that counts CPU time");
    else if (!is_writable(at, ".") || !is_writable(at, "cgroup.procs"))
        findings_add(f, CONTROL_GROUPS, "own group", FOUND_NO,
                     "systemd-run --user --scope -p Delegate=yes baro run ..., or root",
                     "a job can't be given one: this one is not delegated to this user");
    else if (v2 && own_is_delegated(path)) /* memory of v1 needs --cgroup own */
        findings_add(f, CONTROL_GROUPS, "own group", FOUND_YES, NULL, "every job is given one (v2): CPU time%s",
                     memory && !memory->v2 ? "" : memory_of_own(memory, at));
    else
        findings_add(f, CONTROL_GROUPS, "own group", FOUND_PARTLY,
                     "user.delegate or trusted.delegate = 1 of this group of v2, as systemd sets with Delegate=yes, "
                     "for every job",
                     "with --cgroup own a job is given one (%s): CPU time%s", v2 ? "v2" : "v1",
                     memory_of_own(memory, at));
}

void doctor_cgroup(struct findings *f, const struct cgroup_hierarchies *p, int root_fd)
{
    bool v1 = false, v2 = false;
    for (size_t i = 0; i < p->n; i++) {
        v1 = v1 || !p->at[i].v2;
        v2 = v2 || p->at[i].v2;
    }
    if (!p->n) { /* groups that are not visible are not known */
        findings_add(f, CONTROL_GROUPS, "hierarchies", FOUND_NO,
                     "a container with /proc and /sys/fs/cgroup mounted (read-only will do), on a kernel with "
                     "CONFIG_CGROUPS",
                     "none is to be seen: limits above this process are not known");
        return;
    }
    const struct cgroup_location *own = cgroup_location_of(p, v2 ? CGROUP_AT_UNIFIED : CGROUP_AT_MEMORY);
    findings_add(f, CONTROL_GROUPS, "hierarchies", FOUND_FACT, NULL, "%s; this process is in %.200s",
                 v1 && v2 ? "v1 and v2 (hybrid)"
                 : v2     ? "v2"
                          : "v1",
                 own ? own->path : p->at[0].path);
    check_limits(f, p, root_fd);
    own_group(f, p);
}
