/* SPDX-License-Identifier: Apache-2.0 */
/* Where the groups of a process are, and what it may have, on machines of many kinds (tests/fixtures/machines). Expected values are typed by hand. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/limits.h"

#define ID "3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a3f2a"
#define GIB (UINT64_C(1) << 30)

static int machine(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/machines/%s", getenv("BARO_FIXTURES"), name);
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        fail_msg("%s is not there", path);
    return fd;
}

static void expect_place(const struct cgroup_places *p, enum cgroup_controller c, const char *dir, const char *path, bool root)
{
    const struct cgroup_place *at = cgroup_place_of(p, c);
    assert_non_null(at);
    assert_string_equal(at->dir, dir);
    assert_string_equal(at->path, path);
    assert_int_equal(at->root, root);
}

static void limits_of(const char *name, int32_t pid, uint32_t cpus, struct baro_limits *ret)
{
    struct cgroup_places places;
    int fd = machine(name);
    int code = cgroup_find(fd, pid, &places);
    struct limits_place p = {.root_fd = fd, .pid = pid, .cpus = cpus, .memory_total = 64 * GIB, .groups = code == 0 ? &places : NULL};
    limits_read(&p, ret);
    close(fd);
}

static void hybrid(void **state)
{
    struct cgroup_places p;
    struct baro_limits l;
    int fd = machine("6.18-x86_64-hybrid-cgroups");
    (void)state;
    assert_int_equal(cgroup_find(fd, 4000, &p), 0);
    expect_place(&p, CGROUP_AT_MEMORY, "sys/fs/cgroup/memory/batch/job7", "/batch/job7", false);
    expect_place(&p, CGROUP_AT_CPUACCT, "sys/fs/cgroup/cpuacct", "/", true);
    expect_place(&p, CGROUP_AT_UNIFIED, "sys/fs/cgroup/unified", "/", true);
    expect_place(&p, CGROUP_AT_IO, "sys/fs/cgroup/unified", "/", true); /* no v1 blkio here: v2's, whether it has it or not */
    close(fd);
    limits_of("6.18-x86_64-hybrid-cgroups", 4000, 2, &l);
    assert_int_equal(l.memory_bytes, 209715200);
    assert_string_equal(l.memory_source, "cgroup /batch/job7 memory.limit_in_bytes");
    assert_int_equal(l.cores_ppm, 0);
    assert_string_equal(l.cores_source, "");
    assert_int_equal(l.pids, 0);
}

static void systemd_v2(void **state)
{
    struct baro_limits l;
    (void)state;
    limits_of("6.1-x86_64-v2-systemd", 4000, 8, &l);
    assert_int_equal(l.memory_bytes, 4294967296);
    assert_string_equal(l.memory_source, "cgroup /user.slice/user-1000.slice memory.high");
    assert_int_equal(l.cores_ppm, 4000000);
    assert_string_equal(l.cores_source, "cgroup /user.slice/user-1000.slice/session-3.scope cpuset.cpus.effective");
    assert_int_equal(l.pids, 10813);
    assert_string_equal(l.pids_source, "cgroup /user.slice/user-1000.slice pids.max");
    limits_of("6.1-x86_64-v2-systemd", 4000, 4, &l); /* all the CPUs that there are */
    assert_int_equal(l.cores_ppm, 0);
}

static void docker_v1(void **state)
{
    struct cgroup_places p;
    struct baro_limits l;
    int fd = machine("4.19-x86_64-docker-v1");
    (void)state;
    assert_int_equal(cgroup_find(fd, 17, &p), 0);
    expect_place(&p, CGROUP_AT_CPU, "sys/fs/cgroup/cpu,cpuacct", "/docker/" ID, false);
    assert_ptr_equal(cgroup_place_of(&p, CGROUP_AT_CPU), cgroup_place_of(&p, CGROUP_AT_CPUACCT));
    assert_null(cgroup_place_of(&p, CGROUP_AT_UNIFIED));
    close(fd);
    limits_of("4.19-x86_64-docker-v1", 17, 16, &l);
    assert_int_equal(l.memory_bytes, 536870912);
    assert_int_equal(l.cores_ppm, 1500000);
    assert_string_equal(l.cores_source, "cgroup /docker/" ID " cpu.cfs_quota_us");
}

static void docker_v1_elsewhere(void **state)
{
    struct cgroup_places p;
    struct baro_limits l;
    int fd = machine("4.19-x86_64-docker-v1-elsewhere");
    (void)state;
    assert_int_equal(cgroup_find(fd, 17, &p), 0); /* cgroup.procs says that it is in there */
    expect_place(&p, CGROUP_AT_MEMORY, "sys/fs/cgroup/memory", "/kubepods/pod9/" ID, false);
    close(fd);
    limits_of("4.19-x86_64-docker-v1-elsewhere", 17, 16, &l);
    assert_int_equal(l.memory_bytes, 536870912);
}

static void kubernetes_v1(void **state)
{
    struct baro_limits l;
    (void)state;
    limits_of("4.19-x86_64-kubernetes-v1", 17, 16, &l);
    assert_int_equal(l.memory_bytes, 134217728);
    assert_string_equal(l.memory_source, "cgroup /kubepods/burstable/pod1/" ID " hierarchical_memory_limit");
}

static void docker_v2(void **state)
{
    struct cgroup_places p;
    struct baro_limits l;
    int fd = machine("5.15-x86_64-docker-v2");
    (void)state;
    assert_int_equal(cgroup_find(fd, 17, &p), 0);
    expect_place(&p, CGROUP_AT_MEMORY, "sys/fs/cgroup", "/", false);
    close(fd);
    limits_of("5.15-x86_64-docker-v2", 17, 8, &l);
    assert_int_equal(l.memory_bytes, 268435456);
    assert_string_equal(l.memory_source, "cgroup / memory.max");
    assert_int_equal(l.cores_ppm, 500000);
    assert_string_equal(l.cores_source, "cgroup / cpu.max");
    assert_int_equal(l.pids, 100);
}

static void kubernetes_v2(void **state)
{
    struct baro_limits l;
    (void)state;
    limits_of("5.15-x86_64-kubernetes-v2", 4000, 8, &l);
    assert_int_equal(l.memory_bytes, 1073741824);
    assert_string_equal(l.memory_source, "cgroup /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice memory.max");
    assert_int_equal(l.cores_ppm, 2000000);
}

static void lxcfs(void **state)
{
    struct cgroup_places p;
    struct baro_limits l;
    int fd = machine("6.8-x86_64-lxcfs");
    (void)state;
    assert_int_equal(cgroup_find(fd, 300, &p), 0);
    expect_place(&p, CGROUP_AT_MEMORY, "sys/fs/cgroup/init.scope", "/init.scope", false);
    assert_int_equal(cgroup_find(fd, 301, &p), 0); /* outside of what can be seen: nobody else's numbers instead */
    assert_int_equal(p.n, 0);
    close(fd);
    limits_of("6.8-x86_64-lxcfs", 300, 8, &l);
    assert_int_equal(l.memory_bytes, 2 * GIB);
    assert_string_equal(l.memory_source, "cgroup / memory.max");
}

static void nothing_to_see(void **state)
{
    struct cgroup_places p;
    struct baro_limits l, none = {0};
    int fd = machine("4.4-x86_64-gvisor");
    (void)state;
    assert_true(cgroup_find(fd, 5, &p) < 0);
    assert_int_equal(p.n, 0);
    close(fd);
    limits_of("4.4-x86_64-gvisor", 5, 8, &l);
    assert_memory_equal(&l, &none, sizeof(l));
    fd = machine("5.15-x86_64-wsl2");
    assert_int_equal(cgroup_find(fd, 9, &p), 0);
    expect_place(&p, CGROUP_AT_MEMORY, "sys/fs/cgroup", "/", true);
    close(fd);
    limits_of("5.15-x86_64-wsl2", 9, 8, &l);
    assert_int_equal(l.memory_bytes, 0);
}

static void by_path(void **state)
{
    struct cgroup_places p;
    int fd = machine("6.18-x86_64-hybrid-cgroups");
    (void)state;
    assert_int_equal(cgroup_find_path(fd, "/sys/fs/cgroup/memory/batch/job7/", &p), 1);
    expect_place(&p, CGROUP_AT_MEMORY, "sys/fs/cgroup/memory/batch/job7", "/batch/job7", false);
    assert_null(cgroup_place_of(&p, CGROUP_AT_CPU));
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
    struct limits_place p = {.root_fd = fd, .pid = 5, .cpus = 32, .affinity = affinity, .memory_total = 64 * GIB, .env = env_of, .context = (void *)env};
    limits_read(&p, ret);
    close(fd);
}

static void slurm(void **state)
{
    static const char *const node[] = {"SLURM_CPUS_ON_NODE", "16", "SLURM_MEM_PER_NODE", "4096", NULL};
    static const char *const per_cpu[] = {"SLURM_JOB_CPUS_PER_NODE", "16(x2),8", "SLURM_NODEID", "2", "SLURM_MEM_PER_CPU", "1024", NULL};
    static const char *const task[] = {"SLURM_CPUS_ON_NODE", "16", "SLURM_STEP_ID", "0", "SLURM_CPUS_PER_TASK", "4", NULL};
    static const char *const script[] = {"SLURM_CPUS_ON_NODE", "16", "SLURM_CPUS_PER_TASK", "4", "SLURM_MEM_PER_NODE", "0", NULL};
    static const char *const junk[] = {"SLURM_CPUS_ON_NODE", "-1", "SLURM_JOB_CPUS_PER_NODE", "8(x", "SLURM_MEM_PER_NODE", "99999999999999999999", "SLURM_MEM_PER_CPU", "1", NULL};
    struct baro_limits l;
    (void)state;
    with_env(node, 0, &l);
    assert_int_equal(l.memory_bytes, 4 * GIB);
    assert_string_equal(l.memory_source, "SLURM_MEM_PER_NODE");
    assert_int_equal(l.cores_ppm, 16000000);
    assert_string_equal(l.cores_source, "SLURM_CPUS_ON_NODE");
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
}

static void kubernetes_env(void **state)
{
    static const char *const pod[] = {"KUBERNETES_SERVICE_HOST", "10.0.0.1", "MEM_LIMIT", "2147483648", "CPU_LIMIT", "1.5", NULL};
    static const char *const elsewhere[] = {"MEM_LIMIT", "2147483648", "CPU_LIMIT", "1.5", NULL};
    struct baro_limits l;
    (void)state;
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hybrid),        cmocka_unit_test(systemd_v2), cmocka_unit_test(docker_v1), cmocka_unit_test(docker_v1_elsewhere),
        cmocka_unit_test(kubernetes_v1), cmocka_unit_test(docker_v2),  cmocka_unit_test(kubernetes_v2), cmocka_unit_test(lxcfs),
        cmocka_unit_test(nothing_to_see), cmocka_unit_test(by_path),   cmocka_unit_test(slurm),     cmocka_unit_test(kubernetes_env),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
