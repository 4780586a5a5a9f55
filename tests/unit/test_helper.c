/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper process, on real processes and on a made-up /proc. There a FIFO without a writer simulates a file whose
 * read never returns.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"
#include "base/clock.h"
#include "files.h"
#include "kernel/proc/procfs.h"
#include "recorder/helper/wire.h"
#include "sleeper.h"

#define MIB (1u << 20)
#define LONG (5 * NS_PER_SEC)

struct seen {
    size_t n;
    struct helper_reply at[512];
    char name[512][64], cmdline[512][512];
};

static void on_reply(void *context, const struct helper_reply *r)
{
    struct seen *s = context;
    assert_true(s->n < 512);
    s->at[s->n] = *r;
    snprintf(s->name[s->n], sizeof(s->name[0]), "%s", r->name ? r->name : "");
    snprintf(s->cmdline[s->n], sizeof(s->cmdline[0]), "%s", r->cmdline ? r->cmdline : "");
    s->n++;
}

static const struct helper_reply *reply_of(const struct seen *s, int32_t pid)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->at[i].key.pid == pid)
            return &s->at[i];
    }
    fail_msg("no reply for %d", pid);
    return NULL;
}

static int open_proc(void)
{
    int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static uint64_t start_of(int proc, pid_t pid)
{
    char text[2048];
    struct pid_stat st;
    ssize_t n = proc_read(proc, pid, "stat", text, sizeof(text));
    assert_true(n > 0);
    assert_int_equal(pid_stat_parse(span_of(text, (size_t)n), &st), 0);
    return st.starttime;
}

static struct helper *new_helper(int proc, bool want_cmdline)
{
    struct helper *h;
    assert_int_equal(helper_new(&h, proc, want_cmdline, NULL), 0);
    assert_int_equal(worker_pid(helper_worker(h)), 0);
    return h;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* ---- the packets ---- */

TEST(wire_is_cut_at_every_byte)
{
    unsigned char packet[256] = {0};
    struct helper_wire_reply w = {.serial = 7, .pss = 1, .uss = 2, .spent_ns = 3, .name_len = 4, .cmdline_len = 6};
    memcpy(packet, &w, sizeof(w));
    memcpy(packet + sizeof(w), "cc1\0cc1 x", 10);
    size_t whole = sizeof(w) + 10;
    for (size_t len = 0; len <= whole; len++) {
        unsigned char *copy = malloc(len ? len : 1);
        const unsigned char *at = copy;
        size_t rest = len;
        struct helper_reply r;
        uint64_t serial = 0;
        memcpy(copy, packet, len);
        assert_int_equal(helper_wire_next(&at, &rest, &serial, &r), len == whole);
        if (len == whole) {
            assert_int_equal(serial, 7);
            assert_int_equal(r.pss, 1);
            assert_string_equal(r.name, "cc1");
            assert_string_equal(r.cmdline, "cc1 x");
            assert_int_equal(rest, 0);
        }
        free(copy);
    }
}

TEST(wire_without_nul_is_refused)
{
    unsigned char packet[sizeof(struct helper_wire_reply) + 4];
    struct helper_wire_reply w = {.serial = 1, .name_len = 4};
    memcpy(packet, &w, sizeof(w));
    memcpy(packet + sizeof(w), "cc1x", 4);
    const unsigned char *at = packet;
    size_t rest = sizeof(packet);
    struct helper_reply r;
    uint64_t serial;
    assert_false(helper_wire_next(&at, &rest, &serial, &r));
}

/* ---- real processes ---- */

static void touch_shared(void *argument)
{
    memset(argument, 1, 16 * MIB);
}

static void touch_both(void *argument)
{
    touch_shared(argument);
    memset(mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 4 * MIB);
}

/* Two processes map 16 MiB together, and one of them has 4 MiB of its own; a third has neither, and shows their other
 * memory. */
TEST(shared_memory_is_halved)
{
    int proc = open_proc();
    struct helper *h = new_helper(proc, false);
    struct seen *s = calloc(1, sizeof(*s));
    void *shared = mmap(NULL, 16 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid[3] = {sleeper(touch_both, shared), sleeper(touch_shared, shared), sleeper(NULL, NULL)};
    struct helper_request r[3];
    for (int i = 0; i < 3; i++)
        r[i] = (struct helper_request){{pid[i], start_of(proc, pid[i])}, HELPER_SMAPS, NULL, NULL, NULL};
    assert_int_equal(helper_ask(h, r, 3, LONG, -1, on_reply, s), 3);
    int64_t uss[3], pss[3], slack = MIB / 2;
    for (int i = 0; i < 3; i++) {
        const struct helper_reply *one = reply_of(s, pid[i]);
        assert_int_equal(one->what, HELPER_SMAPS);
        assert_int_equal(one->smaps_absent, BARO_PRESENT);
        assert_int_equal(one->name_absent, BARO_ABSENT_NOT_ASKED);
        assert_true(one->spent_ns > 0);
        uss[i] = (int64_t)one->uss;
        pss[i] = (int64_t)one->pss;
    }
    assert_in_range(uss[0] - uss[2], 4 * MIB - slack, 4 * MIB + slack);
    assert_in_range(slack + uss[1] - uss[2], 0, 2 * slack);
    assert_in_range(pss[0] - pss[2], 12 * MIB - slack, 12 * MIB + slack);
    assert_in_range(pss[1] - pss[2], 8 * MIB - slack, 8 * MIB + slack);
    for (int i = 0; i < 3; i++)
        end(pid[i]);
    munmap(shared, 16 * MIB);
    helper_free(h);
    free(s);
    close(proc);
}

TEST(another_process_is_gone)
{
    int proc = open_proc();
    struct helper *h = new_helper(proc, true);
    struct seen *s = calloc(1, sizeof(*s));
    pid_t pid = sleeper(NULL, NULL);
    uint64_t start = start_of(proc, pid);
    struct helper_request r[] = {{{pid, start + 1}, HELPER_SMAPS | HELPER_INFO, NULL, NULL, NULL},
                                 {{pid, start}, HELPER_SMAPS | HELPER_INFO, NULL, NULL, NULL}};
    assert_int_equal(helper_ask(h, r, 2, LONG, -1, on_reply, s), 2);
    assert_int_equal(s->at[0].smaps_absent, BARO_ABSENT_GONE);
    assert_int_equal(s->at[0].name_absent, BARO_ABSENT_GONE);
    assert_int_equal(s->at[0].cmdline_absent, BARO_ABSENT_GONE);
    assert_null(s->at[0].name);
    assert_int_equal(s->at[1].smaps_absent, BARO_PRESENT);
    assert_int_equal(s->at[1].name_absent, BARO_PRESENT);
    end(pid);
    assert_int_equal(helper_ask(h, &r[1], 1, LONG, -1, on_reply, s), 1);
    assert_int_equal(s->at[2].smaps_absent, BARO_ABSENT_GONE);
    helper_free(h);
    free(s);
    close(proc);
}

TEST(zombie_has_a_name_and_no_memory)
{
    int proc = open_proc();
    struct helper *h = new_helper(proc, true);
    struct seen *s = calloc(1, sizeof(*s));
    siginfo_t info;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    struct helper_request r = {{pid, start_of(proc, pid)}, HELPER_SMAPS | HELPER_INFO, NULL, NULL, NULL};
    assert_int_equal(helper_ask(h, &r, 1, LONG, -1, on_reply, s), 1);
    assert_int_equal(s->at[0].smaps_absent, BARO_ABSENT_GONE);
    assert_int_equal(s->at[0].cmdline_absent, BARO_ABSENT_GONE);
    assert_int_equal(s->at[0].name_absent, BARO_PRESENT);
    waitpid(pid, NULL, 0);
    helper_free(h);
    free(s);
    close(proc);
}

TEST(command_line_is_reported_on_request)
{
    int proc = open_proc();
    for (int want = 0; want < 2; want++) {
        struct helper *h = new_helper(proc, want);
        struct seen *s = calloc(1, sizeof(*s));
        int ready[2];
        char byte;
        assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
        pid_t pid = fork();
        if (pid == 0) {
            execl("/bin/sleep", "sleep", "100", NULL);
            _exit(1);
        }
        close(ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 0); /* closed by the exec */
        close(ready[0]);
        struct helper_request r = {{pid, start_of(proc, pid)}, HELPER_INFO, NULL, NULL, NULL};
        assert_int_equal(helper_ask(h, &r, 1, LONG, -1, on_reply, s), 1);
        assert_string_equal(s->name[0], "sleep");
        assert_string_equal(s->cmdline[0], want ? "sleep 100" : "");
        assert_int_equal(s->at[0].cmdline_absent, want ? BARO_PRESENT : BARO_ABSENT_NOT_ASKED);
        assert_int_equal(s->at[0].smaps_absent, BARO_ABSENT_NOT_ASKED);
        end(pid);
        helper_free(h);
        free(s);
    }
    close(proc);
}

TEST(many_requests_in_order)
{
    int proc = open_proc();
    struct helper *h = new_helper(proc, true);
    struct seen *s = calloc(1, sizeof(*s));
    static struct helper_request r[500];
    struct baro_key self = {getpid(), start_of(proc, getpid())};
    for (size_t i = 0; i < 500; i++)
        r[i] = (struct helper_request){self, i % 2 ? HELPER_INFO : HELPER_SMAPS, NULL, NULL, NULL};
    assert_int_equal(helper_ask(h, r, 500, 10 * LONG, -1, on_reply, s), 500);
    for (size_t i = 0; i < 500; i++) {
        assert_int_equal(s->at[i].what, i % 2 ? HELPER_INFO : HELPER_SMAPS);
        assert_int_equal(i % 2 ? s->at[i].name_absent : s->at[i].smaps_absent, BARO_PRESENT);
    }
    assert_false(helper_busy(h));
    assert_true(worker_cpu_ns(helper_worker(h)) > 0);
    helper_free(h);
    free(s);
    close(proc);
}

/* ---- what the helper has open ---- */

TEST(helper_holds_nothing_of_ours)
{
    int proc = open_proc(), tape = open("/dev/null", O_WRONLY), other = open("/dev/null", O_RDONLY);
    struct helper *h = new_helper(proc, true);
    struct seen *s = calloc(1, sizeof(*s));
    struct helper_request r = {{getpid(), start_of(proc, getpid())}, HELPER_INFO, NULL, NULL, NULL};
    char path[64];
    int n = 0;
    assert_int_equal(helper_ask(h, &r, 1, LONG, -1, on_reply, s), 1);
    assert_true(worker_pid(helper_worker(h)) > 0);
    snprintf(path, sizeof(path), "/proc/%d/fd", worker_pid(helper_worker(h)));
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    assert_int_equal(n, 2); /* the socket, and the directory of /proc */
    pid_t pid = worker_pid(helper_worker(h));
    helper_free(h);
    assert_true(waitpid(pid, NULL, 0) == pid ||
                errno == ECHILD); /* on a busy machine it may end after helper_free() has returned */
    free(s);
    close(tape);
    close(other);
    close(proc);
}

TEST(killed_helper_is_replaced)
{
    int proc = open_proc();
    struct helper *h = new_helper(proc, true);
    struct seen *s = calloc(1, sizeof(*s));
    struct helper_request r[] = {{{getpid(), start_of(proc, getpid())}, HELPER_INFO, NULL, NULL, NULL},
                                 {{getpid(), start_of(proc, getpid())}, HELPER_INFO, NULL, NULL, NULL}};
    assert_int_equal(helper_ask(h, r, 1, LONG, -1, on_reply, s), 1);
    uint64_t before = worker_cpu_ns(helper_worker(h));
    kill(worker_pid(helper_worker(h)), SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)worker_pid(helper_worker(h)), &info, WEXITED | WNOWAIT);
    assert_int_equal(helper_ask(h, r, 2, LONG, -1, on_reply, s), 2);
    assert_int_equal(s->at[1].name_absent, BARO_ABSENT_UNKNOWN); /* it could be the process that killed it */
    assert_int_equal(s->at[2].name_absent, BARO_PRESENT);
    assert_true(worker_cpu_ns(helper_worker(h)) >
                before); /* which may be 0: the clock of one that runs on another CPU stands still between ticks */
    helper_free(h);
    free(s);
    close(proc);
}

/* ---- what hangs ---- */

static void make_process(const char *dir, int32_t pid, bool hangs)
{
    char path[64], text[256];
    snprintf(
        text, sizeof(text),
        "%d (x) S 1 1 1 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 77 1000 10 184467 1 1 1 1 1 0 0 0 0 0 0 0 17 0 0 0\n",
        pid);
    snprintf(path, sizeof(path), "%d/stat", pid);
    files_put(dir, path, text);
    snprintf(path, sizeof(path), hangs ? "%s/%d/smaps_rollup" : "%.0s%d/smaps_rollup", dir, pid);
    if (hangs)
        assert_int_equal(mkfifo(path, 0600), 0);
    else
        files_put(dir, path,
                  "0-1 ---p 00000000 00:00 0 [rollup]\nRss: 8 kB\nPss: 6 kB\nPrivate_Clean: 1 kB\n"
                  "Private_Dirty: 4 kB\nPrivate_Hugetlb: 0 kB\n");
}

TEST(hung_read_is_abandoned)
{
    char dir[sizeof(FILES_NAME)];
    files_make(dir);
    int root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int32_t pid = 10; pid < 15; pid++)
        make_process(dir, pid, pid == 12);
    struct helper *h = new_helper(root, true);
    struct seen *s = calloc(1, sizeof(*s));
    struct helper_request r[5];
    for (int32_t i = 0; i < 5; i++)
        r[i] = (struct helper_request){{10 + i, 77}, HELPER_SMAPS, NULL, NULL, NULL};
    int n = helper_ask(h, r, 5, 20 * NS_PER_MS, -1, on_reply, s);
    assert_in_range(n, 0, 2); /* the requests behind the hung one wait, and the caller does not */
    assert_true(helper_busy(h));
    pid_t first = worker_pid(helper_worker(h));
    while (helper_busy(h)) {
        usleep(10000);
        n += helper_collect(h, on_reply, s);
    }
    /* The new helper may have been started by the last collect, so its replies come with one more. */
    assert_int_equal(n, 5);
    assert_int_not_equal(worker_pid(helper_worker(h)), first);
    for (int32_t i = 0; i < 5; i++) {
        const struct helper_reply *one = reply_of(s, 10 + i);
        assert_int_equal(one->smaps_absent, i == 2 ? BARO_ABSENT_TIMEOUT : BARO_PRESENT);
        assert_int_equal(one->pss, i == 2 ? 0 : 6 * 1024);
        assert_int_equal(one->uss, i == 2 ? 0 : 5 * 1024);
    }
    /* It is not requested again: the answer is there at once, from the same helper. */
    pid_t second = worker_pid(helper_worker(h));
    assert_int_equal(helper_ask(h, r, 5, LONG, -1, on_reply, s), 5);
    assert_int_equal(s->at[7].smaps_absent, BARO_ABSENT_TIMEOUT);
    assert_int_equal(worker_pid(helper_worker(h)), second);
    helper_free(h);
    free(s);
    close(root);
    files_remove(dir);
}

static void fail_if_asked(void *context, const struct helper_reply *r)
{
    fail_msg("no reply is expected");
}

/* Entries are removed and their paths are freed, while the helper hangs in a read for one of them: no reply for them is
 * delivered, replies for all others are. */
TEST(replies_for_removed_processes_are_dropped)
{
    char dir[sizeof(FILES_NAME)], *path[2];
    files_make(dir);
    int root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    make_process(dir, 10, false);
    make_process(dir, 11, true);
    assert_true(asprintf(&path[0], "%s/10/stat", dir) > 0 && asprintf(&path[1], "%s/11/smaps_rollup", dir) > 0);
    struct helper *h = new_helper(root, true);
    struct seen *s = calloc(1, sizeof(*s));
    struct helper_request r[] = {{{1, 0}, HELPER_FILE, path[0], fail_if_asked, path},
                                 {{2, 0}, HELPER_FILE, path[1], fail_if_asked, path},
                                 {{10, 77}, HELPER_SMAPS, NULL, NULL, NULL},
                                 {{3, 0}, HELPER_FILE, path[0], fail_if_asked, path}};
    assert_int_equal(helper_ask(h, r, 4, 0, -1, on_reply, s), 0);
    helper_forget(h, path);
    free(path[0]);
    free(path[1]);
    while (helper_busy(h)) {
        usleep(10000);
        helper_collect(h, on_reply, s);
    }
    assert_int_equal(s->n, 1);
    assert_int_equal(s->at[0].key.pid, 10);
    assert_int_equal(s->at[0].smaps_absent, BARO_PRESENT);
    helper_free(h);
    free(s);
    close(root);
    files_remove(dir);
}

/* Two callers share a helper, and one of them requests while an answer for the other is on its way. */
TEST(each_reply_goes_to_its_own)
{
    int proc = open_proc();
    struct helper *h = new_helper(proc, true);
    struct seen *fs = calloc(1, sizeof(*fs)), *group = calloc(1, sizeof(*group));
    struct helper_request of_fs = {{7, 0}, HELPER_FS, "/", on_reply, fs},
                          of_group = {{7, 0}, HELPER_FILE, "/proc/self/stat", on_reply, group};
    helper_ask(h, &of_fs, 1, 0, -1, fail_if_asked, NULL);
    helper_ask(h, &of_group, 1, LONG, -1, fail_if_asked, NULL);
    assert_true(fs->n == 1 && group->n == 1);
    assert_true(fs->at[0].what == HELPER_FS && fs->at[0].host[HELPER_FS_TOTAL] > 0);
    assert_true(group->at[0].what == HELPER_FILE && group->at[0].data_len > 0);
    helper_free(h);
    free(fs);
    free(group);
    close(proc);
}

TEST(reply_read_by_another_reader_ends_the_wait)
{
    char dir[sizeof(FILES_NAME)];
    int wake[2];
    files_make(dir);
    assert_int_equal(pipe(wake), 0);
    assert_int_equal(write(wake[1], "x", 1), 1);
    int root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    make_process(dir, 10, true);
    struct helper *h = new_helper(root, true);
    struct seen *s = calloc(1, sizeof(*s));
    struct helper_request r = {{10, 77}, HELPER_SMAPS, NULL, NULL, NULL};
    /* The helper hangs, and would be given up after a second. */
    assert_int_equal(helper_ask(h, &r, 1, LONG, wake[0], on_reply, s), 0);
    assert_true(helper_busy(h));
    helper_free(h);
    free(s);
    close(root);
    close(wake[0]);
    close(wake[1]);
    files_remove(dir);
}
