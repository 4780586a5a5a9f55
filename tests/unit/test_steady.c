/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A steady tick allocates nothing: the sampler, the collector of the machine, the ledger and the tape's writer on real
 * processes, some asleep and some busy, with an allocator that counts its calls.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"
#include "allocations.h"
#include "base/clock.h"
#include "recorder/collectors/sampler.h"
#include "libbaro/writer/writer.h"
#include "sink.h"

enum { SLEEPERS = 24, BUSY = 4, WARM = 60, WARM_MOST = 4000, STEADY = 400 };

static pid_t child(bool busy)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (unsigned k = 0;; k++) {
        char *at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(at, 1, 4096 * (1 + k % 200));
        nanosleep(&(struct timespec){.tv_sec = busy ? 0 : 1000, .tv_nsec = 3000000}, NULL);
        munmap(at, 1 << 20);
    }
}

static void turn(struct tape_writer *w, struct sampler *s)
{
    assert_int_equal(tape_writer_commit(w, sampler_tick(s), NULL), 0);
    usleep(4000);
}

TEST(steady_tick)
{
    static struct sampler s;
    static struct job job;
    struct tape_writer *w;
    if (!COUNTS_ALLOCATIONS)
        skip(); /* the allocator is the sanitizer's */
    pid_t root = fork();
    if (root == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int i = 0; i < SLEEPERS + BUSY; i++)
            child(i < BUSY);
        for (;;)
            pause();
    }
    usleep(200000);
    uint64_t now = clock_monotonic_ns();
    struct baro_header h = {
        .clk_tck = 100, .cpus = 2, .page_size = 4096, .start_monotonic_ns = now, .argv = (char *[]){NULL}};
    struct sampler_options o = {
        .proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
        .wanted = UINT64_MAX >> (64 - PROCESS_MAX),
        .cmdline = true,
        .children = true,
        .helper = true,
        .start_monotonic_ns = now,
        .page_size = 4096,
        .self = {getpid()},
        .wake_fd = -1,
        .host = true,
        .host_at_once = true,
        .sys_fd = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC),
        .clk_tck = 100,
    };
    assert_int_equal(job_init(&job, &sink_drops, true, (uint64_t)clock_boottime_ns(), 100), 0);
    assert_int_equal(sampler_init(&s, &job, &o, NULL), 0);
    int code = tape_writer_new(&w, memfd_create("tape", MFD_CLOEXEC), &h, NULL, NULL);
    assert_int_equal(code, 0);
    assert_int_equal(tape_writer_start(w, NULL), 0);
    assert_non_null(sampler_add_target(&s, root, NULL));
    sampler_discover(&s);
    sampler_scan_always(&s, true); /* the more expensive way */
    unsigned long before = 0;
    /* Warm-up ends when all members exist and so many ticks in a row allocated nothing. */
    for (int i = 0, quiet = 0; quiet < WARM && i < WARM_MOST; i++) {
        before = allocations;
        turn(w, &s);
        quiet = allocations == before && tree_count(&job.tree) == SLEEPERS + BUSY + 1 ? quiet + 1 : 0;
    }
    assert_true(allocations > 0);
    /* A helper may be started late, once: on an emulated processor after seconds. */
    for (int tries = 0; tries < 3; tries++) {
        before = allocations;
        for (int i = 0; i < STEADY; i++)
            turn(w, &s);
        if (allocations == before)
            break;
    }
    assert_int_equal(tree_count(&job.tree), SLEEPERS + BUSY + 1);
    assert_int_equal(allocations - before, 0);
    kill(root, SIGKILL);
    waitpid(root, NULL, 0);
    tape_writer_free(w);
    sampler_done(&s);
    job_done(&job);
    assert_true(s.sampling.sample.has_host && s.sampling.sample.host_ns > s.sampling.sample.t_ns / 2);
    close(o.proc_fd);
    close(o.sys_fd);
}
