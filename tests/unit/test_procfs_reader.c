/* SPDX-License-Identifier: Apache-2.0 */
/* The reader: on a captured tree (tests/fixtures/machines) and on the live /proc. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "unit.h"
#include "baro/metric.h"
#include "base/fd.h"
#include "kernel/proc/procfs.h"

enum { PARENT = 5300, ZOMBIE = 5301, LEADERLESS = 5302, HOSTILE = 5303, KTHREADD = 2, NOBODY = 65534 };

static char text[65536];

static int machine_open(void)
{
    char path[512];
    const char *fixtures = getenv("BARO_FIXTURES");
    snprintf(path, sizeof(path), "%s/machines/6.18-x86_64-mixed/proc", fixtures ? fixtures : "tests/fixtures");
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static int proc_root(void)
{
    int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static struct span read_all(int root, int32_t pid, const char *what)
{
    ssize_t n = proc_read(root, pid, what, text, sizeof(text));
    assert_true(n >= 0);
    return span_of(text, (size_t)n);
}

static struct pid_stat stat_of(int root, int32_t pid)
{
    struct pid_stat st;
    assert_gives(pid_stat_parse(read_all(root, pid, "stat"), &st), st.pid, pid);
    return st;
}

struct ids {
    int n;
    int32_t id[1 << 16];
};

static bool add_id(void *context, int32_t id)
{
    struct ids *ids = context;
    assert_true(ids->n < 1 << 16);
    ids->id[ids->n++] = id;
    return true;
}

static bool has_id(const struct ids *ids, int32_t id)
{
    for (int i = 0; i < ids->n; i++)
        if (ids->id[i] == id)
            return true;
    return false;
}

TEST(captured_processes)
{
    int root = machine_open();
    static struct ids ids;
    ids.n = 0;
    assert_int_equal(proc_each_process(root, add_id, &ids), 5);
    assert_int_equal(ids.n, 5);
    assert_true(has_id(&ids, KTHREADD) && has_id(&ids, PARENT) && has_id(&ids, ZOMBIE) && has_id(&ids, LEADERLESS) &&
                has_id(&ids, HOSTILE));
    struct pid_stat st = stat_of(root, ZOMBIE);
    assert_true(st.state == 'Z' && st.num_threads == 1 && st.exit_code == 3 << 8 && st.ppid == PARENT && st.rss == 0);
    st = stat_of(root, LEADERLESS);
    assert_true(st.state == 'Z' && st.num_threads == 2 && st.utime == 20);
    st = stat_of(root, KTHREADD);
    assert_true((st.flags & PROC_PF_KTHREAD) && st.vsize == 0 && strcmp(st.comm, "kthreadd") == 0);
    st = stat_of(root, HOSTILE);
    assert_string_equal(st.comm, ") S 1 1\n\xff\xfe(x");
    assert_true(st.ppid == PARENT && st.rss == 2270 && st.starttime == 639384);
    close(root);
}

TEST(captured_files)
{
    int root = machine_open();
    struct pid_status status;
    struct pid_io io;
    struct pid_smaps sm;
    static struct ids ids;
    assert_int_equal(pid_status_parse(read_all(root, ZOMBIE, "status"), &status), 0);
    assert_false(status.valid & (1u << STATUS_VM_RSS | 1u << STATUS_RSS_ANON));
    assert_true(status.value[STATUS_PPID] == PARENT && status.value[STATUS_THREADS] == 1);
    assert_gives(pid_status_parse(read_all(root, HOSTILE, "status"), &status), status.valid, (1u << STATUS_MAX) - 1);
    assert_int_equal(status.value[STATUS_KTHREAD], 0);
    assert_gives(pid_status_parse(read_all(root, KTHREADD, "status"), &status), status.value[STATUS_KTHREAD], 1);
    assert_int_equal(pid_io_parse(read_all(root, PARENT, "io"), &io), 0);
    assert_true(io.valid == (1u << IO_MAX) - 1 && io.value[IO_RCHAR] == 771651);
    assert_gives(pid_smaps_parse(read_all(root, PARENT, "smaps_rollup"), &sm), sm.valid, (1u << SMAPS_MAX) - 1);
    assert_true(sm.value[SMAPS_USS] <= sm.value[SMAPS_PSS] && sm.value[SMAPS_PSS] <= sm.value[SMAPS_RSS]);
    assert_int_equal(proc_read(root, ZOMBIE, "smaps_rollup", text, sizeof(text)), -ENOENT);
    ids.n = 0;
    assert_true(pid_children_parse(read_all(root, PARENT, "task/5300/children"), add_id, &ids) >= 3);
    assert_true(has_id(&ids, ZOMBIE) && has_id(&ids, LEADERLESS) && has_id(&ids, HOSTILE));
    ids.n = 0;
    assert_int_equal(proc_each_task(root, LEADERLESS, add_id, &ids), 2);
    assert_true(has_id(&ids, LEADERLESS) && has_id(&ids, LEADERLESS + 2));
    /* Not procfs: entries are counted, whatever size the directory has. */
    assert_int_equal(proc_count_fds(root, PARENT), 5);
    assert_int_equal(proc_each_task(root, 99, add_id, &ids), -ENOENT);
    assert_int_equal(proc_count_fds(root, 99), -ENOENT);
    close(root);
}

TEST(reads_at_most_cap)
{
    int root = machine_open();
    char small[8] = "zzzzzzz";
    assert_int_equal(proc_read(root, PARENT, "stat", small, 4), 4);
    assert_memory_equal(small, "5300zzz", 7);
    char name[256];
    memset(name, 'x', sizeof(name));
    name[255] = 0;
    assert_int_equal(proc_read(root, PARENT, name, small, 4), -ENAMETOOLONG);
    assert_int_equal(proc_open(root, PARENT, "none", 0), -ENOENT);
    close(root);
}

TEST(live_self)
{
    int root = proc_root();
    int32_t self = getpid();
    static struct ids ids;
    struct pid_status status;
    struct pid_schedstat ss;
    struct proc_stat machine;
    struct pid_stat st = stat_of(root, self);
    assert_true(st.ppid == getppid() && st.num_threads >= 1 && st.vsize > 0);
    assert_gives(pid_status_parse(read_all(root, self, "status"), &status), status.value[STATUS_TGID], self);
    assert_int_equal(status.value[STATUS_UID], getuid());
    assert_true(status.value[STATUS_VM_HWM] >= status.value[STATUS_VM_RSS]);
    assert_int_equal(pid_schedstat_parse(read_all(root, self, "schedstat"), &ss), 0);
    ids.n = 0;
    int tasks = proc_each_task(root, self, add_id, &ids);
    assert_int_equal(tasks, ids.n);
    assert_true(has_id(&ids, self));
    ids.n = 0;
    assert_true(proc_each_process(root, add_id, &ids) > 0);
    assert_true(has_id(&ids, self));
    ssize_t n = fd_read_file(root, "stat", text, sizeof(text));
    assert_true(n > 0 && proc_stat_parse(span_of(text, (size_t)n), &machine, NULL, NULL) == 0 &&
                machine.value[PROC_STAT_BTIME] && machine.value[PROC_STAT_FORKS] > 0);
    close(root);
}

TEST(live_descriptors)
{
    int root = proc_root();
    int32_t self = getpid();
    int64_t before = proc_count_fds(root, self);
    assert_true(before >= 1);
    int more[20];
    for (int i = 0; i < 20; i++)
        more[i] = dup(root);
    assert_int_equal(proc_count_fds(root, self), before + 20);
    for (int i = 0; i < 20; i++)
        close(more[i]);
    assert_int_equal(proc_count_fds(root, self), before);
    close(root);
}

/* A child that has ended and is not yet reaped; then it is, and its files are gone. */
TEST(live_zombie)
{
    int root = proc_root();
    pid_t child = fork();
    if (child == 0)
        _exit(7);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    struct pid_stat st = stat_of(root, child);
    assert_true(st.state == 'Z' && st.rss == 0 && st.vsize == 0 && st.ppid == getpid());
    assert_true(!st.has_exit_code || st.exit_code == 7 << 8);
    assert_int_equal(proc_read(root, child, "cmdline", text, sizeof(text)), 0);
    assert_int_equal(proc_count_fds(root, child), 0);
    ssize_t n = proc_read(root, child, "smaps_rollup", text, sizeof(text));
    assert_true(n < 0 && proc_absent((int)-n) == BARO_ABSENT_GONE);
    int held = proc_open(root, child, "stat", 0);
    assert_true(held >= 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(pread(held, text, sizeof(text), 0), -1);
    assert_int_equal(errno, ESRCH);
    close(held);
    assert_int_equal(proc_read(root, child, "stat", text, sizeof(text)), -ENOENT);
    assert_int_equal(proc_count_fds(root, child), -ENOENT);
    assert_int_equal(proc_each_task(root, child, add_id, NULL), -ENOENT);
    close(root);
}

/* As an ordinary user, on a process of root: run in a child, whose status says which read failed. */
static int read_as_nobody(int root, pid_t target)
{
    struct pid_stat st;
    if (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
        return 1;
    ssize_t n = proc_read(root, target, "stat", text, sizeof(text));
    if (n == -ENOENT && kill(target, 0) < 0 &&
        errno == EPERM) /* /proc is mounted with hidepid=2: as if it did not exist */
        return proc_read(root, target, "io", text, sizeof(text)) == -ENOENT &&
                       proc_open(root, target, "smaps_rollup", 0) == -ENOENT && proc_count_fds(root, target) == -ENOENT
                   ? 0
                   : 7;
    if (n <= 0 || pid_stat_parse(span_of(text, (size_t)n), &st) != 0 || st.pid != target)
        return 2;
    if (proc_read(root, target, "io", text, sizeof(text)) != -EACCES)
        return 3;
    if (proc_open(root, target, "smaps_rollup", 0) != -EACCES)
        return 4;
    int64_t fds = proc_count_fds(root, target); /* counted since 6.2, denied before */
    if (fds != -EACCES && fds < 1)
        return 5;
    return proc_absent(EACCES) == BARO_ABSENT_DENIED ? 0 : 6;
}

TEST(live_denied)
{
    if (geteuid() != 0)
        skip();
    int root = proc_root(), status = 0;
    pid_t target = getpid(), child = fork();
    if (child == 0)
        _exit(read_as_nobody(root, target));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    close(root);
}

TEST(live_hostile_name)
{
    static const char name[] = ") S 1 1\n\xff\xfe(x";
    char old[16];
    int root = proc_root();
    prctl(PR_GET_NAME, old);
    prctl(PR_SET_NAME, name);
    struct pid_stat st = stat_of(root, getpid());
    prctl(PR_SET_NAME, old);
    assert_string_equal(st.comm, name);
    assert_int_equal(st.ppid, getppid());
    close(root);
}

TEST(reasons)
{
    assert_int_equal(proc_absent(ENOENT), BARO_ABSENT_GONE);
    assert_int_equal(proc_absent(ESRCH), BARO_ABSENT_GONE);
    assert_int_equal(proc_absent(EACCES), BARO_ABSENT_DENIED);
    assert_int_equal(proc_absent(EPERM), BARO_ABSENT_DENIED);
    assert_int_equal(proc_absent(EINVAL), BARO_ABSENT_UNSUPPORTED);
}
