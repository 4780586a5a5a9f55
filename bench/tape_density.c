/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes and nanoseconds per process-sample of a tape that is flushed at every tick.
 *
 *   tape_density [PROCESSES [ACTIVE_PERCENT [SECONDS [FILE]]]]      default: 200 20 600, at 1 Hz
 *
 * The tape is kept if FILE is given: `readers` and `baro export` are measured with it.
 *
 * The job is made up but shaped like what was measured on real ones: one process in twenty computes when it is active
 * (CPU in tens of milliseconds, memory that grows and shrinks in pages, I/O), the others wake up for some microseconds
 * and change little more than their CPU time, their run delay and their count of switches. As the kernel does, user and
 * system time come from a precise run time split by ticks of 10 ms. Idle processes are refreshed in turn every 30 s.
 */
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "libbaro/tape/create.h"
#include "libbaro/writer/writer.h"

struct proc {
    struct baro_process row;
    double weight;         /* of its activity */
    uint64_t utime, stime; /* precise, ns */
    double share;          /* of user time */
};

static uint64_t state = 88172645463325252ull;

static uint64_t rnd(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double uniform(void)
{
    return (double)(rnd() >> 11) / 9007199254740992.0;
}

/* Spread over two decades below max, as real wake-ups are. */
static uint64_t spread(double max)
{
    double u = uniform();
    return (uint64_t)(max * u * u * u);
}

static void put_cpu(struct proc *p)
{
    uint64_t *v = p->row.value;
    uint64_t cpu = p->utime + p->stime, ut = p->utime / 10000000, ticks = ut + p->stime / 10000000;
    uint64_t user = ticks ? (uint64_t)((double)cpu * ((double)ut / (double)ticks)) : cpu;
    uint64_t most = v[PROCESS_cpu_user] + cpu - v[PROCESS_cpu];
    user = user < v[PROCESS_cpu_user] ? v[PROCESS_cpu_user] : user > most ? most : user;
    v[PROCESS_cpu] = cpu;
    v[PROCESS_cpu_user] = user;
    v[PROCESS_cpu_system] = cpu - user;
}

static void put_memory(struct proc *p, int64_t pages, uint64_t now)
{
    uint64_t *v = p->row.value;
    if (pages < 0 && (uint64_t)-pages * 4096 > v[PROCESS_rss_anon] / 2)
        pages = -pages;
    v[PROCESS_rss_anon] += (uint64_t)(pages * 4096);
    v[PROCESS_rss] = v[PROCESS_rss_anon] + v[PROCESS_rss_file] + v[PROCESS_rss_shmem];
    if (v[PROCESS_rss] > v[PROCESS_rss_peak]) {
        v[PROCESS_rss_peak] = v[PROCESS_rss];
        if (uniform() < 0.2) { /* smaps is read on a new peak, within its budget */
            v[PROCESS_uss] = v[PROCESS_rss_anon] + 4096 * (rnd() % 50);
            v[PROCESS_pss] = v[PROCESS_uss] + 1024 * (rnd() % 900);
            v[PROCESS_smaps_at] = now;
        }
    }
    if (pages > 0)
        v[PROCESS_faults_minor] += (uint64_t)pages + rnd() % 4;
}

static void born(struct proc *p, uint32_t id)
{
    char text[64];
    uint64_t *v = p->row.value;
    bool big = rnd() % 20 == 0;
    p->row.id = id;
    p->row.key = (struct baro_key){(int32_t)(1000 + id * 3), 5000 + id * 2 + rnd() % 2};
    p->row.parent = (struct baro_key){1000 + (int32_t)(id / 20) * 60, 5000};
    p->row.uid = 1000;
    p->row.info_version = 1;
    snprintf(text, sizeof text, "worker-%u", id % 7);
    baro_process_set_name(&p->row, text, strlen(text));
    snprintf(text, sizeof text, "/usr/bin/worker-%u --shard %u --of 200", id % 7, id);
    baro_process_set_cmdline(&p->row, text, strlen(text));
    p->weight = big ? 1.0 : 0.001;
    p->share = 0.5 + uniform() / 2;
    p->utime = spread(big ? 5e9 : 5e7);
    p->stime = spread(big ? 5e8 : 2e7);
    put_cpu(p);
    v[PROCESS_run_delay] = spread(1e8);
    v[PROCESS_switches_voluntary] = rnd() % 2000;
    v[PROCESS_switches_involuntary] = rnd() % 60;
    v[PROCESS_rss_file] = 4096 * (900 + rnd() % 300);
    v[PROCESS_rss_anon] = 4096 * (big ? 3000 + rnd() % 30000 : 100 + rnd() % 400);
    v[PROCESS_virtual] = 4096 * (60000 + rnd() % 3000);
    v[PROCESS_threads] = big ? 8 : 1;
    v[PROCESS_fds] = 4 + rnd() % 20;
    v[PROCESS_io_rchar] = rnd() % 5000000;
    v[PROCESS_io_wchar] = rnd() % 100000;
    v[PROCESS_io_read] = 4096 * (rnd() % 500);
    v[PROCESS_state] = 'S';
    put_memory(p, 1, 0);
}

static void work(struct proc *p, uint64_t now)
{
    uint64_t *v = p->row.value;
    bool big = p->weight > 0.5;
    uint64_t ns = 3000 + spread(1e9 * p->weight);
    uint64_t user = (uint64_t)((double)ns * p->share);
    p->utime += user;
    p->stime += ns - user;
    put_cpu(p);
    v[PROCESS_run_delay] += 500 + spread(big ? 1e7 : 2e5);
    v[PROCESS_switches_voluntary] += 1 + spread(big ? 500 : 10);
    if (big || rnd() % 20 == 0)
        v[PROCESS_switches_involuntary] += 1 + spread(big ? 60 : 2);
    if (big || rnd() % 30 == 0)
        put_memory(p, (int64_t)spread(big ? 3000 : 10) * (rnd() % 3 ? 1 : -1), now);
    if (big || rnd() % 6 == 0) {
        v[PROCESS_io_rchar] += spread(big ? 5e6 : 9000);
        v[PROCESS_io_wchar] += spread(big ? 1e6 : 900);
    }
    if (big && rnd() % 2) {
        v[PROCESS_io_write] += 4096 * spread(300);
        v[PROCESS_io_read] += 4096 * spread(100);
    }
    v[PROCESS_state] = big && rnd() % 3 == 0 ? 'R' : 'S';
}

static void put_job(struct baro_sample *s, const struct proc *procs, size_t n)
{
    static const int of[][2] = {
        {JOB_cpu, PROCESS_cpu},
        {JOB_cpu_user, PROCESS_cpu_user},
        {JOB_cpu_system, PROCESS_cpu_system},
        {JOB_run_delay, PROCESS_run_delay},
        {JOB_io_read, PROCESS_io_read},
        {JOB_io_write, PROCESS_io_write},
        {JOB_io_rchar, PROCESS_io_rchar},
        {JOB_io_wchar, PROCESS_io_wchar},
        {JOB_faults_minor, PROCESS_faults_minor},
        {JOB_cpu_counted, PROCESS_cpu},
        {JOB_switches_voluntary, PROCESS_switches_voluntary},
    };
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        s->job[of[k][0]] = 0;
        for (size_t i = 0; i < n; i++)
            s->job[of[k][0]] += procs[i].row.value[of[k][1]];
    }
    s->job[JOB_processes] = s->job[JOB_processes_peak] = s->job[JOB_processes_started] = n;
    s->self[RECORDER_cpu] += 300000 + spread(1e5);
    s->self[RECORDER_sample_cpu] += 250000 + spread(1e5);
    s->self[RECORDER_sample_time] += 260000 + spread(1e5);
    s->self[RECORDER_samples]++;
    s->self[RECORDER_process_samples] += n;
    s->self[RECORDER_rss] = 2 << 20;
}

static uint64_t cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 200;
    double active = argc > 2 ? atof(argv[2]) / 100 : 0.2;
    uint64_t ticks = argc > 3 ? strtoul(argv[3], NULL, 10) : 600;
    const char *path = argc > 4 ? argv[4] : "/tmp/tape_density.baro";
    struct proc *procs = calloc(n, sizeof *procs);
    struct baro_process **rows = calloc(n, sizeof *rows);
    struct baro_header h = {.version = "bench", .clk_tck = 100, .wanted = UINT64_MAX};
    struct baro_sample s = {.n = n, .processes = rows};
    struct tape_writer *w;
    uint64_t cpu = 0, rows_read = 0;
    unlink(path);
    for (size_t i = 0; i < n; i++) {
        born(&procs[i], (uint32_t)i + 1);
        rows[i] = &procs[i].row;
    }
    struct mallinfo2 before = mallinfo2();
    int fd = tape_create(path, NULL);
    if (fd < 0 || tape_writer_new(&w, fd, &h, NULL, NULL) < 0)
        return 1;
    for (uint64_t k = 0; k < ticks; k++) {
        s.t_ns = k * NS_PER_SEC + 50000 + spread(1e5);
        for (size_t i = 0; i < n; i++) {
            bool works = uniform() < active;
            if (works)
                work(&procs[i], s.t_ns);
            if (works || k == 0 || (i + k) % 30 == 0) {
                procs[i].row.read_ns = s.t_ns;
                rows_read++;
            }
        }
        put_job(&s, procs, n);
        uint64_t from = cpu_now();
        if (tape_writer_commit(w, &s, NULL) < 0)
            return 1;
        cpu += cpu_now() - from;
    }
    struct mallinfo2 after = mallinfo2();
    tape_writer_finish(w, NULL);
    double total = (double)n * (double)ticks;
    printf("%zu processes, %.0f %% active, %llu ticks: %.2f bytes and %.0f ns per process-sample (%llu bytes in all, "
           "%.0f KB of memory, %.1f %% of rows read)\n",
           n, active * 100, (unsigned long long)ticks, (double)tape_writer_bytes(w) / total, (double)cpu / total,
           (unsigned long long)tape_writer_bytes(w),
           (double)(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd) / 1000,
           (double)rows_read * 100 / total);
    tape_writer_free(w);
    if (argc <= 4)
        unlink(path);
    for (size_t i = 0; i < n; i++)
        baro_process_done(&procs[i].row);
    free(procs);
    free(rows);
    return 0;
}
