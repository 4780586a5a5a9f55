/* SPDX-License-Identifier: Apache-2.0 */
/* The control groups of a process and its limits, on machines of many kinds (tests/fixtures/machines). Expected values
 * are typed by hand. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNIT_OWN_MAIN
#include "unit.h"
#include "files.h"
#include "recorder/collectors/cgroups/bounds.h"
#include "recorder/collectors/cgroups/limits.h"

#define ID "3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a"
#define GIB (UINT64_C(1) << 30)
#define HYBRID "6.18-x86_64-hybrid-cgroups"
#define SYSTEMD "6.1-x86_64-v2-systemd"
#define DOCKER_V1 "4.19-x86_64-docker-v1"
#define USER "cgroup /user.slice/user-1000.slice"
#define PODS "cgroup /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice"

static int machine(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/machines/%s", getenv("BARO_FIXTURES"), name);
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        fail_msg("%s is not there", path);
    return fd;
}

static void expect_place(const struct cgroup_hierarchies *p, enum cgroup_controller c, const char *dir,
                         const char *path, bool root)
{
    const struct cgroup_location *at = cgroup_location_of(p, c);
    assert_non_null(at);
    assert_string_equal(at->dir, dir);
    assert_string_equal(at->path, path);
    assert_int_equal(at->root, root);
}

static void limits_at(int fd, int32_t pid, uint32_t cpus, struct baro_limits *ret)
{
    struct cgroup_hierarchies places;
    int code = cgroup_find(fd, pid, &places);
    struct limits_place p = {.root_fd = fd,
                             .pid = pid,
                             .cpus = cpus,
                             .memory_total = 64 * GIB,
                             .groups = code == 0 ? &places : NULL,
                             .groups_error = code};
    limits_read(&p, ret);
}

static void limits_of(const char *name, int32_t pid, uint32_t cpus, struct baro_limits *ret)
{
    int fd = machine(name);
    limits_at(fd, pid, cpus, ret);
    close(fd);
}

static void expect_known(const struct baro_limits *l, int memory, int cores, int pids)
{
    assert_int_equal(l->memory_absent, memory);
    assert_int_equal(l->cores_absent, cores);
    assert_int_equal(l->pids_absent, pids);
}

/* Where a process's groups are, by machine and pid. */
TEST(groups_of_machines)
{
    static const struct {
        const char *machine;
        int32_t pid;
        enum cgroup_controller controller;
        const char *dir, *path;
        bool root;
    } rows[] = {
        {HYBRID, 4000, CGROUP_AT_MEMORY, "sys/fs/cgroup/memory/batch/job7", "/batch/job7", false},
        {HYBRID, 4000, CGROUP_AT_CPUACCT, "sys/fs/cgroup/cpuacct", "/", true},
        {HYBRID, 4000, CGROUP_AT_UNIFIED, "sys/fs/cgroup/unified", "/", true},
        {HYBRID, 4000, CGROUP_AT_IO, "sys/fs/cgroup/unified", "/", true}, /* no v1 blkio here: v2's */
        {DOCKER_V1, 17, CGROUP_AT_CPU, "sys/fs/cgroup/cpu,cpuacct", "/docker/" ID, false},
        /* cgroup.procs says that it is in there */
        {DOCKER_V1 "-elsewhere", 17, CGROUP_AT_MEMORY, "sys/fs/cgroup/memory", "/kubepods/pod9/" ID, false},
        {"5.15-x86_64-docker-v2", 17, CGROUP_AT_MEMORY, "sys/fs/cgroup", "/", false},
        {"6.8-x86_64-lxcfs", 300, CGROUP_AT_MEMORY, "sys/fs/cgroup/init.scope", "/init.scope", false},
        {"5.15-x86_64-wsl2", 9, CGROUP_AT_MEMORY, "sys/fs/cgroup", "/", true},
    };
    struct cgroup_hierarchies p;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int fd = machine(rows[i].machine);
        assert_int_equal(cgroup_find(fd, rows[i].pid, &p), 0);
        expect_place(&p, rows[i].controller, rows[i].dir, rows[i].path, rows[i].root);
        close(fd);
    }
    int fd = machine(DOCKER_V1);
    assert_int_equal(cgroup_find(fd, 17, &p), 0);
    assert_ptr_equal(cgroup_location_of(&p, CGROUP_AT_CPU), cgroup_location_of(&p, CGROUP_AT_CPUACCT));
    assert_null(cgroup_location_of(&p, CGROUP_AT_UNIFIED));
    close(fd);
    fd = machine("6.8-x86_64-lxcfs");
    assert_int_equal(cgroup_find(fd, 301, &p), 0); /* outside of the visible part: no numbers of other groups instead */
    assert_int_equal(p.n, 0);
    close(fd);
    fd = machine("4.4-x86_64-gvisor");
    assert_true(cgroup_find(fd, 5, &p) < 0);
    assert_int_equal(p.n, 0);
    close(fd);
}

/* The golden files of test_machines.c have all values; here is what they have to be. */
TEST(limits_of_machines)
{
    static const struct {
        const char *machine;
        int32_t pid;
        uint32_t cpus;
        uint64_t memory, cores_ppm, pids;
        const char *memory_source, *cores_source; /* NULL: any */
    } rows[] = {
        {HYBRID, 4000, 2, 209715200, 0, 0, "cgroup /batch/job7 memory.limit_in_bytes", ""},
        {SYSTEMD, 4000, 8, 4294967296, 4000000, 10813, USER " memory.high",
         USER "/session-3.scope cpuset.cpus.effective"},
        {SYSTEMD, 4000, 4, 4294967296, 0, 10813, NULL, NULL}, /* all CPUs that exist */
        {DOCKER_V1, 17, 16, 536870912, 1500000, 0, NULL, "cgroup /docker/" ID " cpu.cfs_quota_us"},
        {DOCKER_V1 "-elsewhere", 17, 16, 536870912, 1500000, 0, NULL, NULL},
        {"4.19-x86_64-kubernetes-v1", 17, 16, 134217728, 1500000, 0,
         "cgroup /kubepods/burstable/pod1/" ID " hierarchical_memory_limit", NULL},
        {"5.15-x86_64-docker-v2", 17, 8, 268435456, 500000, 100, "cgroup / memory.max", "cgroup / cpu.max"},
        {"5.15-x86_64-kubernetes-v2", 4000, 8, 1073741824, 2000000, 0, PODS " memory.max", NULL},
        {"6.8-x86_64-lxcfs", 300, 8, 2 * GIB, 2000000, 0, "cgroup / memory.max", NULL},
        {"4.4-x86_64-gvisor", 5, 8, 0, 0, 0, NULL, NULL},
        {"5.15-x86_64-wsl2", 9, 8, 0, 0, 0, NULL, NULL},
    };
    struct baro_limits l;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        limits_of(rows[i].machine, rows[i].pid, rows[i].cpus, &l);
        if (l.memory_bytes != rows[i].memory || l.cores_ppm != rows[i].cores_ppm || l.pids != rows[i].pids)
            fail_msg("%s: %llu bytes, %llu ppm, %llu pids", rows[i].machine, (unsigned long long)l.memory_bytes,
                     (unsigned long long)l.cores_ppm, (unsigned long long)l.pids);
        assert_string_equal(rows[i].memory_source ? rows[i].memory_source : l.memory_source, l.memory_source);
        assert_string_equal(rows[i].cores_source ? rows[i].cores_source : l.cores_source, l.cores_source);
    }
    limits_of(HYBRID, 4000, 2, &l);
    expect_known(&l, 0, 0, 0);
    limits_of(SYSTEMD, 4000, 8, &l);
    expect_known(&l, 0, 0, 0); /* all groups up to the root are visible */
    assert_string_equal(l.pids_source, USER " pids.max");
    limits_of(DOCKER_V1, 17, 16, &l);
    expect_known(&l, 0, 0, BARO_ABSENT_UNKNOWN); /* no limit on threads here; there may be one above */
    limits_of("4.4-x86_64-gvisor", 5, 8, &l);
    expect_known(&l, BARO_ABSENT_UNKNOWN, BARO_ABSENT_UNKNOWN, BARO_ABSENT_UNKNOWN);
    limits_of("5.15-x86_64-wsl2", 9, 8, &l);
    expect_known(&l, 0, 0, 0); /* the root of all: there is no limit */
}

/* While a command is waiting memory.stat is not read: the group's own limit is reported, and that there may be a
 * tighter one. */
TEST(kubernetes_v1_quickly)
{
    struct cgroup_hierarchies p;
    struct cgroup_bounds b, all;
    int fd = machine("4.19-x86_64-kubernetes-v1");
    assert_int_equal(cgroup_find(fd, 17, &p), 0);
    cgroup_bounds_read_quickly(fd, &p, &b);
    cgroup_bounds_read(fd, &p, &all);
    assert_int_equal(all.memory.value, 134217728);
    assert_int_equal(all.memory.unseen, 0);
    assert_int_equal(b.memory.value, 536870912);
    assert_int_equal(b.memory.unseen, -ENOENT);
    assert_int_equal(b.quota.value, all.quota.value);
    close(fd);
}

/* ---- made here ---- */

static char made[sizeof(FILES_NAME)];

static void put(const char *path, const char *text)
{
    files_put(made, path, text);
}

#define MOUNTED_AT(root) "30 22 0:26 " root " /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
#define STATUS "Name:\tjob\nUid:\t1000\t1000\t1000\t1000\nCpus_allowed_list:\t0-1\n"
#define ULIMITS                                                                                                        \
    "Max processes             96365                96365                processes \nMax address space         "       \
    "unlimited            unlimited            bytes     \n"

static void make(const char *mountinfo, const char *membership, struct baro_limits *ret)
{
    put("proc/self/mountinfo", mountinfo);
    put("proc/7/cgroup", membership);
    put("proc/7/status", STATUS);
    put("proc/7/limits", ULIMITS);
    int fd = open(made, O_PATH | O_DIRECTORY | O_CLOEXEC);
    limits_at(fd, 7, 8, ret);
    close(fd);
}

/* The groups with the limits can't be seen; the values that the process itself shows are upper bounds. */
static void expect_bounded(const struct baro_limits *l)
{
    expect_known(l, BARO_ABSENT_UNKNOWN, BARO_ABSENT_UNKNOWN, BARO_ABSENT_UNKNOWN);
    assert_int_equal(l->memory_bytes, 0);
    assert_int_equal(l->cores_ppm, 2000000);
    assert_string_equal(l->cores_source, "affinity");
    assert_int_equal(l->pids, 96365);
    assert_string_equal(l->pids_source, "RLIMIT_NPROC");
}

TEST(hidden)
{
    static const char nothing[] = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
    struct baro_limits l;
    make(nothing, "0::/a/b\n", &l); /* not mounted */
    expect_bounded(&l);
    make(nothing, "4:memory:/a\n2:cpu,cpuacct:/a\n", &l); /* v1: a resource without hierarchy can't be limited */
    expect_known(&l, BARO_ABSENT_UNKNOWN, BARO_ABSENT_UNKNOWN, BARO_PRESENT);
    make(MOUNTED_AT("/../../.."), "0::/\n", &l); /* unshare -C: another namespace than that of the mount */
    expect_bounded(&l);
    make(MOUNTED_AT("/"), "0::/../outside\n", &l);
    expect_bounded(&l);
    put("sys/fs/cgroup/readme", "not a group\n"); /* a tmpfs was mounted over it */
    make(MOUNTED_AT("/"), "0::/\n", &l);
    expect_bounded(&l);
    make(MOUNTED_AT("/"), "0::/a\n", &l);
    expect_bounded(&l);
}

/* A namespace of its own, in which "/" has no limits; the groups above are not visible from here. */
TEST(partly_visible)
{
    struct baro_limits l;
    put("sys/fs/cgroup/cgroup.procs", "7\n");
    put("sys/fs/cgroup/cgroup.events", "populated 1\nfrozen 0\n");
    put("sys/fs/cgroup/memory.max", "max\n");
    put("sys/fs/cgroup/cpu.max", "50000 100000\n");
    make(MOUNTED_AT("/"), "0::/\n", &l);
    expect_known(&l, BARO_ABSENT_UNKNOWN, BARO_PRESENT, BARO_ABSENT_UNKNOWN);
    assert_int_equal(l.cores_ppm, 500000);
    assert_string_equal(l.cores_source, "cgroup / cpu.max");
}

/* proc(5): Groups precedes Cpus_allowed_list; a user can be in 65536 of them (NGROUPS_MAX). */
TEST(many_groups)
{
    static const size_t many[] = {0, 300, 390, 391, 392, 7000, 65536};
    char *text = malloc(65536 * 11 + 4096);
    struct baro_limits l;
    for (size_t i = 0; i < sizeof(many) / sizeof(*many); i++) {
        size_t n = (size_t)sprintf(text, "Name:\tjob\nUid:\t1000\t1000\t1000\t1000\nGroups:\t");
        for (size_t k = 0; k < many[i]; k++)
            n += (size_t)sprintf(text + n, "%lu ", 4294900000ul + k);
        sprintf(text + n, "\nCpus_allowed:\t7\nCpus_allowed_list:\t0-2\nMems_allowed_list:\t0\n");
        put("proc/7/status", text);
        put("proc/7/limits", ULIMITS);
        int fd = open(made, O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct limits_place p = {.root_fd = fd, .pid = 7, .cpus = 8, .memory_total = 64 * GIB};
        limits_read(&p, &l);
        close(fd);
        assert_int_equal(l.cores_ppm, 3000000);
        assert_int_equal(l.pids, 96365);
    }
    free(text);
}

static int make_room(void **state)
{
    files_make(made);
    return 0;
}

static int remove_room(void **state)
{
    files_remove(made);
    return 0;
}

TEST(by_path)
{
    struct cgroup_hierarchies p;
    int fd = machine("6.18-x86_64-hybrid-cgroups");
    assert_int_equal(cgroup_find_path(fd, "/sys/fs/cgroup/memory/batch/job7/", &p), 1);
    expect_place(&p, CGROUP_AT_MEMORY, "sys/fs/cgroup/memory/batch/job7", "/batch/job7", false);
    assert_null(cgroup_location_of(&p, CGROUP_AT_CPU));
    assert_int_equal(cgroup_find_path(fd, "/batch/job7", &p), 1);
    expect_place(&p, CGROUP_AT_MEMORY, "sys/fs/cgroup/memory/batch/job7", "/batch/job7", false);
    assert_int_equal(cgroup_find_path(fd, "/batch/none", &p), 0);
    assert_int_equal(cgroup_find_path(fd, "/batch/job7/../job7", &p), 0);
    assert_int_equal(cgroup_find_path(fd, "batch/job7", &p), 0);
    close(fd);
    fd = machine("6.1-x86_64-v2-systemd");
    assert_int_equal(cgroup_find_path(fd, "/user.slice", &p), 1);
    expect_place(&p, CGROUP_AT_PIDS, "sys/fs/cgroup/user.slice", "/user.slice", false);
    close(fd);
}

/* ---- the environment ---- */

static const char *env_of(void *context, const char *name)
{
    for (const char *const *e = context; *e; e += 2) {
        if (strcmp(e[0], name) == 0)
            return e[1];
    }
    return NULL;
}

static void with_env(const char *const *env, uint32_t affinity, struct baro_limits *ret)
{
    int fd = machine("4.4-x86_64-gvisor");
    struct limits_place p = {.root_fd = fd,
                             .pid = 5,
                             .cpus = 32,
                             .affinity = affinity,
                             .memory_total = 64 * GIB,
                             .env = env_of,
                             .context = (void *)env};
    limits_read(&p, ret);
    close(fd);
}

TEST(slurm)
{
    static const char *const node[] = {"SLURM_CPUS_ON_NODE", "16", "SLURM_MEM_PER_NODE", "4096", NULL};
    static const char *const per_cpu[] = {
        "SLURM_JOB_CPUS_PER_NODE", "16(x2),8", "SLURM_NODEID", "2", "SLURM_MEM_PER_CPU", "1024", NULL};
    static const char *const task[] = {
        "SLURM_CPUS_ON_NODE", "16", "SLURM_STEP_ID", "0", "SLURM_CPUS_PER_TASK", "4", NULL};
    static const char *const script[] = {
        "SLURM_CPUS_ON_NODE", "16", "SLURM_CPUS_PER_TASK", "4", "SLURM_MEM_PER_NODE", "0", NULL};
    static const char *const junk[] = {"SLURM_CPUS_ON_NODE",
                                       "-1",
                                       "SLURM_JOB_CPUS_PER_NODE",
                                       "8(x",
                                       "SLURM_MEM_PER_NODE",
                                       "99999999999999999999",
                                       "SLURM_MEM_PER_CPU",
                                       "1",
                                       NULL};
    struct baro_limits l;
    with_env(node, 0, &l);
    assert_int_equal(l.memory_bytes, 4 * GIB);
    assert_string_equal(l.memory_source, "SLURM_MEM_PER_NODE");
    assert_int_equal(l.cores_ppm, 16000000);
    assert_string_equal(l.cores_source, "SLURM_CPUS_ON_NODE");
    expect_known(&l, 0, 0, BARO_ABSENT_UNKNOWN); /* no group is visible, and Slurm's variables have what it allocated */
    with_env(per_cpu, 0, &l);
    assert_int_equal(l.memory_bytes, 8 * GIB);
    assert_string_equal(l.memory_source, "SLURM_MEM_PER_CPU");
    assert_int_equal(l.cores_ppm, 8000000);
    with_env(task, 0, &l);
    assert_int_equal(l.cores_ppm, 4000000);
    assert_string_equal(l.cores_source, "SLURM_CPUS_PER_TASK");
    with_env(script, 2, &l);
    assert_int_equal(l.cores_ppm, 2000000);
    assert_string_equal(l.cores_source, "affinity");
    assert_int_equal(l.memory_bytes, 0);
    with_env(junk, 0, &l);
    assert_int_equal(l.cores_ppm, 0);
    assert_int_equal(l.memory_bytes, 0);
    expect_known(&l, BARO_ABSENT_UNKNOWN, BARO_ABSENT_UNKNOWN, BARO_ABSENT_UNKNOWN);
}

TEST(kubernetes_env)
{
    static const char *const pod[] = {
        "KUBERNETES_SERVICE_HOST", "10.0.0.1", "MEM_LIMIT", "2147483648", "CPU_LIMIT", "1.5", NULL};
    static const char *const elsewhere[] = {"MEM_LIMIT", "2147483648", "CPU_LIMIT", "1.5", NULL};
    struct baro_limits l;
    with_env(pod, 0, &l);
    assert_int_equal(l.memory_bytes, 2 * GIB);
    assert_int_equal(l.cores_ppm, 1500000);
    assert_string_equal(l.cores_source, "CPU_LIMIT");
    with_env(elsewhere, 0, &l);
    assert_int_equal(l.memory_bytes, 0);
    assert_int_equal(l.cores_ppm, 0);
}

int main(void)
{
    return cmocka_run_group_tests(unit_tests, make_room, remove_room);
}
