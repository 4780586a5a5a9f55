/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files whose reads hang in uninterruptible sleep until their file system is unmounted: a FUSE that takes the request
 * and never answers. One is a mount among the machine's filesystems, whose size can't be read; one is a control group's
 * memory.stat. (test_helper.c has a file of a process.) (Command lines can't be simulated this way any more: since 4.17
 * the kernel reads them from anonymous memory only.) Needs root, for /dev/fuse and a mount namespace of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"
#include "base/clock.h"
#include "recorder/collectors/cgroups/cgroup.h"
#include "recorder/collectors/host/host.h"
#include "recorder/helper/helper.h"
#include "sleeper.h"

#define SKIPPED 77

static _Noreturn void give_up(const char *why)
{
    fprintf(stderr, "skipped: %s: %s\n", why, strerror(errno));
    _exit(SKIPPED);
}

/* ---- a file system with one file, which can be opened and not be read ---- */

static void answer(int fd, uint64_t unique, int error, const void *body, size_t len)
{
    unsigned char out[512];
    struct fuse_out_header h = {.len = (uint32_t)(sizeof(h) + len), .error = error, .unique = unique};
    memcpy(out, &h, sizeof(h));
    if (len)
        memcpy(out + sizeof(h), body, len);
    CHECK(write(fd, out, h.len) == (ssize_t)h.len);
}

static struct fuse_attr attributes(uint64_t node)
{
    struct fuse_attr a = {.ino = node, .nlink = 1, .size = 4096, .mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0644};
    return a;
}

static void serve(int fd)
{
    static unsigned char in[1 << 17];
    for (;;) {
        struct fuse_in_header h;
        ssize_t n = read(fd, in, sizeof(in));
        if (n < (ssize_t)sizeof(h))
            _exit(0);
        memcpy(&h, in, sizeof(h));
        if (h.opcode == FUSE_INIT) {
            struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096};
            answer(fd, h.unique, 0, &out, sizeof(out));
        } else if (h.opcode == FUSE_LOOKUP) {
            struct fuse_entry_out out = {.nodeid = 2, .entry_valid = 1000, .attr_valid = 1000, .attr = attributes(2)};
            answer(fd, h.unique, 0, &out, sizeof(out));
        } else if (h.opcode == FUSE_GETATTR) {
            struct fuse_attr_out out = {.attr_valid = 1000, .attr = attributes(h.nodeid)};
            answer(fd, h.unique, 0, &out, sizeof(out));
        } else if (h.opcode == FUSE_OPEN) {
            struct fuse_open_out out = {.fh = 1};
            answer(fd, h.unique, 0, &out, sizeof(out));
        } else if (h.opcode != FUSE_READ && h.opcode != FUSE_STATFS && h.opcode != FUSE_FORGET &&
                   h.opcode != FUSE_INTERRUPT) {
            answer(fd, h.unique, -ENOSYS, NULL, 0);
        }
    }
}

static void own_mounts(void)
{
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        give_up("no mount namespace");
}

/* Returns the process that serves it: when it ends, the file system is gone and all waiting reads fail. */
static pid_t mount_silent(const char *dir)
{
    char options[128];
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        give_up("/dev/fuse");
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
    if (mount("silent", dir, "fuse", 0, options) < 0)
        give_up("mounting a FUSE");
    pid_t server = fork();
    CHECK(server >= 0);
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(fd);
    }
    close(fd);
    return server;
}

/* ---- a mount of the machine that does not answer ---- */

static const struct baro_entity *mounted(const struct baro_sample *s, const char *point)
{
    for (size_t i = 0; i < s->entities[BARO_KIND_FS].n; i++) {
        if (strcmp(s->entities[BARO_KIND_FS].at[i]->name, point) == 0)
            return s->entities[BARO_KIND_FS].at[i];
    }
    return NULL;
}

static void read_host(struct host *h, uint64_t now_ns, struct baro_sample *s)
{
    host_read(h, now_ns, BUDGET_ALL);
    host_fill(h, s);
}

/* A small tmpfs must still be read while two other mounts hang. Returns after how many readings both were given up. */
static int watch_until_given_up(struct host *h, const char *dir, char silent[2][128], uint64_t *now,
                                struct baro_sample *s)
{
    for (int readings = 1; readings < 2000; readings++) {
        read_host(h, *now += 10 * NS_PER_MS, s);
        const struct baro_entity *good = mounted(s, dir), *a = mounted(s, silent[0]), *b = mounted(s, silent[1]);
        CHECK(good && a && b);
        CHECK(!s->host_absent[HOST_memory_total]);
        if (a->absent[FS_total] == BARO_ABSENT_TIMEOUT && b->absent[FS_total] == BARO_ABSENT_TIMEOUT) {
            CHECK(!good->absent[FS_total] && good->value[FS_total] == 1 << 20);
            return readings;
        }
        usleep(10000);
    }
    return 0;
}

static void machine_body(const char *dir)
{
    char silent[2][128];
    pid_t server[2];
    uint32_t ids = 0;
    uint64_t now = 0;
    struct host *h;
    struct baro_sample s = {0};
    struct host_options o = {.proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
                             .sys_fd = -1,
                             .clk_tck = 100,
                             .page_size = 4096,
                             .helper = true,
                             .entity_ids = &ids};
    own_mounts();
    CHECK(mount("good", dir, "tmpfs", 0, "size=1m") == 0);
    for (int i = 0; i < 2; i++) {
        snprintf(silent[i], sizeof(silent[i]), "%s/silent%d", dir, i);
        CHECK(mkdir(silent[i], 0700) == 0);
        server[i] = mount_silent(silent[i]);
    }
    CHECK(host_new(&h, &o, NULL) == 0);
    CHECK(watch_until_given_up(h, dir, silent, &now, &s) > 10); /* it went on reading meanwhile */
    CHECK(mounted(&s, silent[0])->absent[FS_read_at] == BARO_ABSENT_TIMEOUT);
    /* It is read again only when a helper is free. The working one is read every time. */
    now += 3600 * NS_PER_SEC;
    for (int i = 0; i < 100 && mounted(&s, dir)->value[FS_read_at] < 3600 * NS_PER_SEC; i++, usleep(10000))
        read_host(h, now += NS_PER_MS, &s);
    CHECK(mounted(&s, dir)->value[FS_read_at] >= 3600 * NS_PER_SEC &&
          mounted(&s, silent[1])->absent[FS_total] == BARO_ABSENT_TIMEOUT);
    kill(server[0], SIGKILL);
    umount2(silent[0], MNT_DETACH);
    now += 3600 * NS_PER_SEC;
    for (int i = 0; i < 1000 && mounted(&s, silent[0]); i++, usleep(10000))
        read_host(h, now += NS_PER_MS, &s);
    CHECK(!mounted(&s, silent[0]) && mounted(&s, dir) &&
          mounted(&s, silent[1])); /* the mount table changed, and the kernel reported it */
    host_free(h);
    kill(server[1], SIGKILL);
    while (wait(NULL) > 0)
        continue;
    umount2(silent[1], MNT_DETACH);
    umount2(dir, MNT_DETACH);
}

/* ---- memory.stat whose sum takes the kernel very long ---- */

/* Two groups of a machine that is a folder: one memory.stat is on the hanging mount. */
static void make_groups(const char *dir, const char *silent)
{
    char path[256];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, i ? "outer/inner" : "outer");
        CHECK(mkdir(path, 0700) == 0);
        static const char *const files[][2] = {
            {"memory.current", "8192\n"}, {"memory.max", "1048576\n"}, {"cgroup.events", "populated 1\n"}};
        for (size_t k = 0; k < 3; k++) {
            snprintf(path, sizeof(path), "%s/%s/%s", dir, i ? "outer/inner" : "outer", files[k][0]);
            FILE *f = fopen(path, "w");
            CHECK(f && fputs(files[k][1], f) >= 0 && fclose(f) == 0);
        }
    }
    snprintf(path, sizeof(path), "%s/outer/inner/memory.stat", dir);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs("anon 4096\nfile 1024\ninactive_file 512\n", f) >= 0 && fclose(f) == 0);
    char file[256];
    snprintf(path, sizeof(path), "%s/memory.stat", silent);
    snprintf(file, sizeof(file), "%s/outer/memory.stat", dir);
    CHECK(symlink(path, file) == 0);
}

static void groups_body(const char *dir)
{
    char silent[128];
    uint32_t ids = 0;
    uint64_t now = 0;
    struct cgroups *g = NULL;
    struct helper *h;
    struct baro_sample s = {0};
    own_mounts();
    snprintf(silent, sizeof(silent), "%s/silent", dir);
    CHECK(mkdir(silent, 0700) == 0);
    pid_t server = mount_silent(silent);
    make_groups(dir, silent);
    struct cgroup_hierarchies places = {
        .n = 1, .of = {-1, -1, -1, 0, -1, -1, 0}, .at = {{.v2 = true, .dir = "outer/inner", .path = "/outer/inner"}}};
    struct cgroups_options o = {
        .root_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), .helper = true, .patient = true, .ids = &ids};
    CHECK(cgroups_new(&g, &o, &places) == 0 && g);
    cgroups_tick(g, now, false, &s);
    const struct baro_entity *inner = s.entities[BARO_KIND_CGROUP].at[0], *outer = s.entities[BARO_KIND_CGROUP].at[1];
    CHECK(s.entities[BARO_KIND_CGROUP].n == 2);
    CHECK(inner->absent[CGROUP_memory_anon] == BARO_ABSENT_NOT_YET &&
          inner->value[CGROUP_memory] == 8192); /* no helper yet: the rest is read */
    CHECK(helper_new(&h, open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), false, NULL) == 0);
    cgroups_use(g, h);
    int readings = 0;
    for (; readings < 2000 && outer->absent[CGROUP_memory_anon] != BARO_ABSENT_TIMEOUT; readings++, usleep(10000)) {
        cgroups_collect(g);
        cgroups_tick(g, now += 10 * NS_PER_MS, false, &s);
        CHECK(outer->value[CGROUP_memory] == 8192);
    }
    CHECK(readings > 10 && readings < 2000); /* it went on reading meanwhile */
    CHECK(outer->absent[CGROUP_memory_working_set] == BARO_ABSENT_TIMEOUT &&
          outer->absent[CGROUP_memory] == BARO_PRESENT);
    CHECK(inner->absent[CGROUP_memory_anon] == BARO_PRESENT && inner->value[CGROUP_memory_anon] == 4096);
    CHECK(inner->value[CGROUP_memory_working_set] == 8192 - 512 &&
          inner->absent[CGROUP_faults_minor] == BARO_ABSENT_UNSUPPORTED);
    CHECK(worker_left_behind(helper_worker(h)) == 1); /* SIGKILL had no effect: it still sleeps */
    for (int i = 0; i < 100; i++)                     /* not read again for a minute, and the other one still is */
        cgroups_tick(g, now += 10 * NS_PER_MS, false, &s);
    CHECK(worker_left_behind(helper_worker(h)) == 1 && outer->absent[CGROUP_memory_anon] == BARO_ABSENT_TIMEOUT);
    helper_free(h);
    cgroups_free(g);
    kill(server, SIGKILL);
    while (wait(NULL) > 0)
        continue;
    umount2(silent, MNT_DETACH);
}

static void in_a_process(void (*run)(const char *dir))
{
    char dir[] = "/tmp/baro-test-XXXXXX", command[64];
    int status;
    if (geteuid() != 0) {
        print_message("skipped: needs root for a file system that does not answer\n");
        skip();
    }
    assert_non_null(mkdtemp(dir));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        run(dir);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    snprintf(command, sizeof(command), "rm -r %s", dir);
    assert_int_equal(system(command), 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        skip();
    assert_int_equal(status, 0);
}

TEST(hanging_mounts_delay_no_other_reads)
{
    in_a_process(machine_body);
}

TEST(hanging_groups_delay_no_other_reads)
{
    in_a_process(groups_body);
}
