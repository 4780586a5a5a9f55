/* SPDX-License-Identifier: Apache-2.0 */
/* Which values of the machine are available: reads each file and reports what is missing. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/span.h"
#include "kernel/sys/power_pmu.h"
#include "kernel/sys/sysfs.h"
#include "programs/baro/doctor.h"

#define TEXT_MAX (256u << 10) /* a machine with many CPUs has long lines */

struct look {
    struct findings *f;
    char *text;
    size_t len;
};

/* Returns 0 or -errno. An empty file is -ENODATA: some containers hide a file by mounting an empty one over it. */
static int read_text(struct look *l, const char *path)
{
    ssize_t n = fd_read_file(AT_FDCWD, path, l->text, TEXT_MAX);
    l->len = n > 0 ? (size_t)n : 0;
    return n < 0 ? (int)n : n == 0 ? -ENODATA : 0;
}

static const char *why(int code)
{
    return code == -ENODATA ? "it is empty here: a container may hide it" : strerror(-code);
}

static bool has_line(const struct look *l, const char *word)
{
    return memmem(l->text, l->len, word, strlen(word)) != NULL;
}

/* Lines that begin with word. */
static unsigned lines_with(const struct look *l, const char *word)
{
    struct span rest = span_of(l->text, l->len), line;
    unsigned n = 0;
    while (scan_line(&rest, &line))
        n += span_starts(line, word);
    return n;
}

static struct doctor_finding *no_file(struct look *l, const char *what, const char *path, const char *gives, int code)
{
    struct doctor_finding *one = findings_add(l->f, "machine", what, FOUND_NO, "%s: %s: %s", gives, path, why(code));
    if (code == -EACCES || code == -EPERM)
        finding_grant(one, "a container or a policy that lets this user read %s", path);
    else if (code == -ENODATA || code == -ENOENT)
        finding_grant(one, "running baro outside of the container, or a kernel that has %s", path);
    return one;
}

static void cpu(struct look *l)
{
    int code = read_text(l, "/proc/stat");
    if (code < 0) {
        no_file(l, "cpu", "/proc/stat", "CPU time", code);
        return;
    }
    unsigned lines = lines_with(l, "cpu");
    /* gVisor and some other sandboxes have lines of zeros. */
    if (has_line(l, "cpu  0 0 0 0"))
        finding_grant(findings_add(l->f, "machine", "cpu", FOUND_NO,
                                   "CPU time: /proc/stat says that no time has passed (a sandbox)"),
                      "running baro outside of the sandbox");
    else
        findings_add(l->f, "machine", "cpu", FOUND_YES,
                     "time of the machine and of %u CPUs by mode, interrupts, context switches, forks",
                     lines ? lines - 1 : 0);
}

static void frequency(struct look *l)
{
    if (read_text(l, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq") == 0)
        findings_add(l->f, "machine", "frequency", FOUND_YES, "frequency of each CPU, and its highest");
    else if (read_text(l, "/proc/cpuinfo") == 0 && has_line(l, "cpu MHz"))
        findings_add(l->f, "machine", "frequency", FOUND_PARTLY,
                     "as /proc/cpuinfo has it, without the highest: there is no cpufreq here, as in a virtual machine");
    else
        findings_add(l->f, "machine", "frequency", FOUND_NO,
                     "no cpufreq, and none in /proc/cpuinfo: the machine below decides");
}

static void load(struct look *l)
{
    int code = read_text(l, "/proc/loadavg");
    if (code < 0)
        no_file(l, "load", "/proc/loadavg", "load averages", code);
    else
        findings_add(l->f, "machine", "load", FOUND_YES, "load averages, threads that exist");
}

static void check_memory(struct look *l)
{
    int code = read_text(l, "/proc/meminfo");
    if (code < 0)
        no_file(l, "memory", "/proc/meminfo", "memory and swap", code);
    else if (!has_line(l, "MemAvailable:"))
        finding_grant(findings_add(l->f, "machine", "memory", FOUND_PARTLY,
                                   "memory and swap, but not what could be had (MemAvailable)"),
                      "a kernel of 3.14 or later, or one that is not made up by a container");
    else
        findings_add(l->f, "machine", "memory", FOUND_YES, "memory by what it is used for, swap%s",
                     has_line(l, "Zswap:") ? ", zswap" : "");
}

static void events(struct look *l)
{
    int code = read_text(l, "/proc/vmstat");
    if (code < 0)
        no_file(l, "paging", "/proc/vmstat", "page faults, reclaim, swapping, processes OOM-killed", code);
    else if (!has_line(l, "\noom_kill "))
        finding_grant(findings_add(l->f, "machine", "paging", FOUND_PARTLY,
                                   "page faults, reclaim, swapping; not processes OOM-killed"),
                      "a kernel of 4.13 or later");
    else
        findings_add(l->f, "machine", "paging", FOUND_YES, "page faults, reclaim, swapping, processes OOM-killed");
}

/* Each of these files may be hidden alone. */
static void pressure_of(struct look *l, int cpu_code)
{
    static const struct {
        const char *path, *what;
    } rest[] = {{"/proc/pressure/memory", "memory"}, {"/proc/pressure/io", "I/O"}};
    const char *missing = cpu_code < 0 ? "/proc/pressure/cpu" : NULL;
    struct buf had = {0};
    if (!missing)
        buf_str(&had, "CPU");
    for (size_t i = 0; i < sizeof(rest) / sizeof(*rest); i++) {
        int code = read_text(l, rest[i].path);
        if (code == 0)
            buf_printf(&had, "%s%s", had.len ? ", " : "", rest[i].what);
        else
            missing = missing ? missing : rest[i].path;
    }
    bool any = had.len > 0;
    buf_byte(&had, 0);
    if (!any) {
        no_file(l, "pressure", "/proc/pressure/cpu", "time spent waiting", cpu_code);
    } else {
        const char *irq = read_text(l, "/proc/pressure/irq") == 0
                              ? ", interrupts"
                              : "; not for interrupts (6.1 and CONFIG_IRQ_TIME_ACCOUNTING)";
        struct doctor_finding *one = findings_add(
            l->f, "machine", "pressure", missing ? FOUND_PARTLY : FOUND_YES, "time spent waiting for %s%s%s%s",
            had.failed ? "" : (const char *)had.at, irq, missing ? "; not to be read: " : "", missing ? missing : "");
        if (missing)
            finding_grant(one, "running baro outside of the container, or a kernel that has %s", missing);
    }
    buf_done(&had);
}

static void check_pressure(struct look *l)
{
    int code = read_text(l, "/proc/pressure/cpu");
    if (code == -EOPNOTSUPP) {
        finding_grant(findings_add(l->f, "machine", "pressure", FOUND_NO,
                                   "time spent waiting for CPU, memory, I/O: it is switched off"),
                      "psi=1 on the kernel's command line");
        return;
    }
    if (code == -ENOENT) {
        finding_grant(findings_add(l->f, "machine", "pressure", FOUND_NO,
                                   "time spent waiting for CPU, memory, I/O: this kernel does not count it"),
                      "a kernel of 4.20 or later with CONFIG_PSI, and psi=1 on its command line");
        return;
    }
    pressure_of(l, code);
}

static unsigned entries(const char *path)
{
    unsigned n = 0;
    DIR *dir = opendir(path);
    for (const struct dirent *e; dir && (e = readdir(dir));)
        n += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

static void disks(struct look *l)
{
    int code = read_text(l, "/proc/diskstats");
    unsigned n = entries("/sys/block");
    if (code < 0 && (code != -ENODATA || n)) { /* a machine without any has an empty file */
        no_file(l, "disks", "/proc/diskstats", "bytes, operations and times of disks", code);
    } else if (code == -ENODATA) {
        findings_add(l->f, "machine", "disks", FOUND_NO, "no block device is to be seen here");
    } else if (!n) {
        finding_grant(
            findings_add(
                l->f, "machine", "disks", FOUND_PARTLY,
                "bytes, operations and times; which of them lie over others is not known: /sys/block is not there"),
            "a container with /sys");
    } else {
        findings_add(l->f, "machine", "disks", FOUND_YES, "bytes, operations and times of %u block devices", n);
    }
}

static void filesystems(struct look *l)
{
    struct statvfs st;
    int code = read_text(l, "/proc/self/mountinfo");
    if (code < 0)
        no_file(l, "filesystems", "/proc/self/mountinfo", "size and use", code);
    else if (statvfs("/", &st) < 0)
        findings_add(l->f, "machine", "filesystems", FOUND_NO, "size and use: statvfs: %s", strerror(errno));
    else
        findings_add(l->f, "machine", "filesystems", FOUND_YES,
                     "size and use, each once; one that does not answer is said so and holds up nothing");
}

static void network(struct look *l)
{
    int code = read_text(l, "/proc/net/dev");
    if (code < 0) {
        no_file(l, "network", "/proc/net/dev", "bytes, packets, errors", code);
        return;
    }
    struct span rest = span_of(l->text, l->len), line;
    unsigned n = 0;
    while (scan_line(&rest, &line))
        n += memchr(line.at, ':', line.len) != NULL;
    if (entries("/sys/class/net"))
        findings_add(l->f, "machine", "network", FOUND_YES,
                     "bytes, packets, errors, drops of the %u interfaces in this network namespace", n);
    else
        finding_grant(findings_add(l->f, "machine", "network", FOUND_PARTLY,
                                   "bytes, packets, errors, drops of %u interfaces, but no total: which of them carry "
                                   "the same bytes is not known, as /sys/class/net is not there",
                                   n),
                      "a container with /sys");
}

static bool has_input(const char *folder)
{
    bool found = false;
    DIR *dir = opendir(folder);
    for (const struct dirent *e; dir && !found && (e = readdir(dir));) {
        size_t n = strlen(e->d_name);
        found = strncmp(e->d_name, "temp", 4) == 0 && (n == 4 || (n > 6 && strcmp(e->d_name + n - 6, "_input") == 0));
    }
    if (dir)
        closedir(dir);
    return found;
}

static unsigned sensors_below(const char *folder)
{
    char path[400];
    unsigned n = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
        n += e->d_name[0] != '.' && has_input(path);
    }
    if (dir)
        closedir(dir);
    return n;
}

static void sensors(struct look *l)
{
    unsigned n = sensors_below("/sys/class/hwmon"), zones = sensors_below("/sys/class/thermal");
    if (n || zones)
        findings_add(l->f, "machine", "temperatures", FOUND_YES, "%u chips in hwmon, %u thermal zones", n, zones);
    else
        finding_grant(
            findings_add(l->f, "machine", "temperatures", FOUND_NO, "no sensor is to be seen, as in a virtual machine"),
            "the driver of its chips, such as coretemp, k10temp, nvme or drivetemp, on a machine of one's own");
}

static int cards(void)
{
    int fd = open("/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int n = fd < 0 ? 0 : sys_gpus(fd, NULL, NULL);
    fd_close(fd);
    return n;
}

/* Without loading the driver's library, which can take seconds. */
static void gpus(struct look *l)
{
    int code = read_text(l, "/proc/driver/nvidia/version");
    int n = cards();
    if (code == 0 && access("/dev/nvidiactl", R_OK | W_OK) == 0)
        findings_add(l->f, "machine", "GPUs", FOUND_YES,
                     "NVIDIA's driver is loaded: the program baro-gpu asks it, beside the recorder");
    else if (code == 0)
        finding_grant(findings_add(l->f, "machine", "GPUs", FOUND_NO,
                                   "NVIDIA's driver is loaded, but /dev/nvidiactl can't be opened: %s",
                                   strerror(errno)),
                      "a container or a job that was given GPUs (--gpus, --gres=gpu)");
    else if (n)
        findings_add(
            l->f, "machine", "GPUs", FOUND_PARTLY,
            "%d of AMD, Intel or others: devices as far as their drivers say, and what the job's processes use "
            "(fdinfo), but not what others do",
            n);
    else
        finding_grant(
            findings_add(l->f, "machine", "GPUs", FOUND_NO, "no driver of NVIDIA, and none of AMD, Intel or others"),
            "a GPU of these, its driver, and a container that was given it");
}

/* Returns 0 where the PMU "power" may be read; else why not. */
static int check_power_pmu(void)
{
    struct power_pmu p;
    int sys_fd = open("/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int code = sys_fd < 0 ? -errno : power_pmu_read(sys_fd, &p), fd = code == 0 ? power_pmu_open(&p, 0, 0) : code;
    fd_close(sys_fd);
    fd_close(fd);
    return fd < 0 ? fd : 0;
}

static void energy(struct look *l)
{
    static const char path[] = "/sys/class/powercap/intel-rapl:0/energy_uj";
    int code = read_text(l, path), pmu = code == 0 ? 0 : check_power_pmu();
    bool is_denied = code == -EACCES || code == -EPERM, is_pmu_denied = pmu == -EACCES || pmu == -EPERM;
    if (code == 0)
        findings_add(l->f, "machine", "energy", FOUND_YES, "energy of CPUs and memory (RAPL, by powercap)");
    else if (pmu == 0)
        findings_add(l->f, "machine", "energy", FOUND_YES,
                     "energy of CPUs and memory (RAPL, by the PMU power of perf)");
    else if (is_denied || is_pmu_denied)
        finding_grant(
            findings_add(l->f, "machine", "energy", FOUND_NO, "energy of CPUs and memory: %s%s",
                         is_denied ? "powercap is for root alone since 2020 (CVE-2020-8694)" : "there is no powercap",
                         is_pmu_denied ? ", and perf's PMU power may not be read"
                                       : ", and perf has no PMU power for packages"),
            !is_denied      ? "CAP_PERFMON for baro and baro-gpu, or kernel.perf_event_paranoid = 0"
            : is_pmu_denied ? "CAP_PERFMON for baro and baro-gpu, or kernel.perf_event_paranoid = 0, or (root) chmod "
                              "a+r /sys/class/powercap/*/energy_uj after each boot"
                            : "root: chmod a+r /sys/class/powercap/*/energy_uj after each boot (tmpfiles.d: z "
                              "PATH 0444), or CAP_DAC_READ_SEARCH for baro and baro-gpu");
    else
        finding_grant(
            findings_add(l->f, "machine", "energy", FOUND_NO,
                         "energy of CPUs and memory: there is no RAPL in /sys/class/powercap, and perf has no "
                         "PMU power for packages, as in a virtual machine"),
            "the modules intel_rapl_common and intel_rapl_msr, on a machine of one's own");
}

/* Reports environments in which the values of /proc are not those of the machine. */
static void made_up(struct look *l)
{
    if (read_text(l, "/proc/self/mountinfo") == 0 && has_line(l, " - fuse.lxcfs "))
        findings_add(l->f, "machine", "lxcfs", FOUND_FACT,
                     "/proc is made up for this container: what stands for the machine is its share");
    if (read_text(l, "/proc/sys/kernel/osrelease") == 0 && (has_line(l, "microsoft") || has_line(l, "Microsoft")))
        findings_add(l->f, "machine", "WSL", FOUND_FACT, "the machine is a virtual one below Windows");
    if (read_text(l, "/proc/version") == 0 && has_line(l, "gVisor"))
        findings_add(l->f, "machine", "gVisor", FOUND_FACT,
                     "the kernel is a sandbox: much of what it says of the machine is nothing");
}

void doctor_machine(struct findings *f)
{
    struct look l = {.f = f, .text = malloc(TEXT_MAX)};
    if (!l.text)
        return;
    made_up(&l);
    cpu(&l);
    frequency(&l);
    load(&l);
    check_memory(&l);
    events(&l);
    check_pressure(&l);
    disks(&l);
    filesystems(&l);
    network(&l);
    sensors(&l);
    gpus(&l);
    energy(&l);
    free(l.text);
}
