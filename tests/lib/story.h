/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A short job with values typed by hand, whose figures can be computed by hand: make starts two cc1; one ends, the
 * other executes ld; a process with a hostile name holds shared memory; one process is in no sample. Include after
 * cmocka.h.
 */
#ifndef TESTS_STORY_H
#define TESTS_STORY_H

#include <string.h>

#include "libbaro/sample/sample.h"

#define MS 1000000ull
#define MB 1000000ull
/* Ends a comm field, breaks a line, colours a terminal, breaks CSV and JSON, is no valid UTF-8, and starts a
 * formula. */
#define STORY_HOSTILE "=) S 1 1\n\x1b[31m,\"'\\\xff"

struct story_sink {
    void (*sample)(void *context, const struct baro_sample *s);
    void (*exit)(void *context, const struct baro_exit *e);
    void (*event)(void *context, const struct baro_event *e);
    void *context;
};

struct story {
    struct baro_process p[4];
    struct baro_process *rows[4];
    struct baro_sample s;
    char names[4][32], lines[4][64];
};

static inline void story_header(struct baro_header *h)
{
    static char *argv[] = {"make", "-j2", "all targets", NULL};
    *h = (struct baro_header){.mode = BARO_MODE_RUN,
                              .version = "0.1.0",
                              .host = "h",
                              .kernel = "6.18.0",
                              .machine = "x86_64",
                              .start_realtime_ns = 1795235690123000000,
                              .clk_tck = 100,
                              .cpus = 2,
                              .page_size = 4096,
                              .memory_total = 16000 * MB,
                              .wanted = (1ull << PROCESS_MAX) - 1,
                              .argv = argv,
                              .event_source = "connector",
                              .exit_source = "taskstats"};
}

static inline void story_set(struct baro_process *p, enum process_metric m, uint64_t v)
{
    p->value[m] = v;
    p->absent[m] = BARO_PRESENT;
}

static inline struct baro_process *story_process(struct story *y, int i, uint32_t id, int32_t pid, int32_t ppid,
                                                 const char *name, const char *line)
{
    struct baro_process *p = &y->p[i];
    *p = (struct baro_process){.id = id,
                               .key = {pid, 1000 + (uint64_t)pid},
                               .parent = {ppid, 1000 + (uint64_t)ppid},
                               .uid = 1000,
                               .origin = BARO_ORIGIN_EVENT,
                               .info_version = 1,
                               .name = y->names[i],
                               .cmdline = line ? y->lines[i] : NULL,
                               .cmdline_absent = line ? BARO_PRESENT : BARO_ABSENT_DENIED};
    strcpy(y->names[i], name);
    strcpy(y->lines[i], line ? line : "");
    memset(p->absent, BARO_ABSENT_NOT_YET, sizeof(p->absent));
    return p;
}

static inline void story_values(struct baro_process *p, uint64_t t_ns, uint64_t cpu, uint64_t rss, uint64_t threads)
{
    p->read_ns = t_ns;
    story_set(p, PROCESS_cpu, cpu);
    story_set(p, PROCESS_cpu_user, cpu - cpu / 4);
    story_set(p, PROCESS_cpu_system, cpu / 4);
    story_set(p, PROCESS_rss, rss);
    story_set(p, PROCESS_rss_peak, rss + MB);
    story_set(p, PROCESS_threads, threads);
    story_set(p, PROCESS_fds, 3);
    story_set(p, PROCESS_state, 'S');
    story_set(p, PROCESS_nice, (uint64_t)-5);
}

static inline void story_memory(struct baro_process *p, uint64_t t_ns, uint64_t pss, uint64_t uss)
{
    story_set(p, PROCESS_pss, pss);
    story_set(p, PROCESS_uss, uss);
    story_set(p, PROCESS_smaps_at, t_ns);
}

static inline void story_sample(struct story *y, const struct story_sink *t, uint64_t t_ns, size_t n, uint64_t cpu,
                                uint64_t counted)
{
    struct baro_sample *s = &y->s;
    s->t_ns = t_ns;
    s->n = n;
    s->processes = y->rows;
    s->job[JOB_cpu] = cpu;
    s->job[JOB_cpu_user] = cpu - cpu / 4;
    s->job[JOB_cpu_system] = cpu / 4;
    s->job[JOB_cpu_counted] = counted;
    s->job[JOB_processes] = n;
    s->self[RECORDER_samples]++;
    s->self[RECORDER_process_samples] += n;
    s->self[RECORDER_sample_time] += 200000;
    s->self[RECORDER_sample_cpu] += 30000;
    s->self[RECORDER_cpu] += 3 * MS;
    s->self[RECORDER_rss_peak] = 2100000;
    t->sample(t->context, s);
}

static inline void story_exit(const struct story_sink *t, uint64_t t_ns, uint32_t id, int32_t pid, const char *name,
                              uint64_t cpu, uint64_t rss_peak, int status, bool sampled)
{
    struct baro_exit e = {.t_ns = t_ns,
                          .id = id,
                          .key = {pid, sampled ? 1000 + (uint64_t)pid : 0},
                          .parent = {100, 1100},
                          .uid = 1000,
                          .origin = BARO_ORIGIN_EVENT,
                          .source = BARO_EXIT_TASKSTATS,
                          .sampled = sampled,
                          .status_known = true,
                          .status = status,
                          .name = name};
    memset(e.absent, BARO_ABSENT_GONE, sizeof(e.absent));
    const struct {
        enum exit_metric metric;
        uint64_t value;
    } have[] = {{EXIT_cpu, cpu}, {EXIT_cpu_user, cpu - cpu / 4}, {EXIT_cpu_system, cpu / 4}, {EXIT_rss_peak, rss_peak}};
    for (size_t i = 0; i < 4; i++) {
        e.value[have[i].metric] = have[i].value;
        e.absent[have[i].metric] = BARO_PRESENT;
    }
    t->exit(t->context, &e);
}

static inline void story_event(const struct story_sink *t, uint64_t t_ns, enum baro_event_kind kind, int32_t pid,
                               uint64_t number, const char *text)
{
    struct baro_event e = {
        .t_ns = t_ns, .kind = kind, .key = {pid, pid ? 1000 + (uint64_t)pid : 0}, .number = number, .text = text};
    t->event(t->context, &e);
}

/*
 *   t       make  cc1 a     cc1 b    hostile    rss         pss          cpu of the job
 *   1 ms     2 MB                                 2 MB      not yet         1 ms
 *   1001 ms  2 MB  400 MB    100 MB              502 MB      490 MB      1801 ms    1.8 cores
 *   2001 ms  2 MB  ended     600 MB   50 MB      652 MB   1 of 3 only    2301 ms    0.5 cores
 *   2901 ms  all ended                             0            0        2400 ms    0.11 cores
 */
static inline void story_play(struct story *y, const struct story_sink *t)
{
    memset(y, 0, sizeof(*y));
    memset(y->s.job_absent, BARO_ABSENT_NOT_YET, sizeof(y->s.job_absent));
    const enum job_metric have[] = {JOB_cpu,
                                    JOB_cpu_user,
                                    JOB_cpu_system,
                                    JOB_cpu_bound,
                                    JOB_cpu_counted,
                                    JOB_run_delay,
                                    JOB_io_rchar,
                                    JOB_io_wchar,
                                    JOB_io_read,
                                    JOB_io_write,
                                    JOB_process_rss_peak,
                                    JOB_processes,
                                    JOB_processes_peak,
                                    JOB_processes_started,
                                    JOB_processes_ended,
                                    JOB_processes_unsampled};
    for (size_t i = 0; i < sizeof(have) / sizeof(*have); i++)
        y->s.job_absent[have[i]] = BARO_PRESENT;
    y->s.job[JOB_io_rchar] = 1200 * MB;
    y->s.job[JOB_io_wchar] = 310 * MB;
    y->s.job[JOB_io_read] = 96 * MB;
    y->s.job[JOB_io_write] = UINT64_MAX - 1; /* the exact value that the kernel reports */
    story_event(t, 0, BARO_EVENT_START, 100, 0, "make");
    struct baro_process *make = y->rows[0] = story_process(y, 0, 1, 100, 1, "make", "make -j2 'all targets'");
    story_values(make, MS, MS, 2 * MB, 1);
    y->s.job[JOB_processes_started] = y->s.job[JOB_processes_peak] = 1;
    story_sample(y, t, MS, 1, MS, MS);

    struct baro_process *a = y->rows[1] = story_process(y, 1, 2, 101, 100, "cc1", "cc1 a.c");
    struct baro_process *b = y->rows[2] = story_process(y, 2, 3, 102, 100, "cc1", NULL);
    uint64_t at = 1001 * MS;
    story_values(make, at, MS, 2 * MB, 1);
    story_values(a, at, 1000 * MS, 400 * MB, 2);
    story_values(b, at, 800 * MS, 100 * MB, 1);
    story_memory(make, at, MB, MB / 2);
    story_memory(a, at, 390 * MB, 380 * MB);
    story_memory(b, at, 99 * MB, 98 * MB);
    y->s.job[JOB_processes_started] = 3;
    y->s.job[JOB_processes_peak] = 3;
    y->s.job[JOB_process_rss_peak] = 401 * MB;
    story_sample(y, t, at, 3, 1801 * MS, 1801 * MS);

    story_exit(t, 1500 * MS, 2, 101, "cc1", 1010 * MS, 412 * MB, 0, true);
    story_exit(t, 1600 * MS, 5, 103, "as", 20 * MS, 9 * MB, 256, false);
    story_event(t, 1700 * MS, BARO_EVENT_EXEC, 102, 0, "ld");
    y->p[1] = y->p[2];
    y->rows[1] = &y->p[1]; /* b, now called ld */
    memcpy(y->names[1], "ld", 3);
    y->p[1].name = y->names[1];
    y->p[1].info_version++;
    struct baro_process *evil = y->rows[2] = story_process(y, 2, 4, 104, 102, STORY_HOSTILE, STORY_HOSTILE " --x");
    at = 2001 * MS;
    story_values(make, at, 2 * MS, 2 * MB, 1);
    story_values(y->rows[1], at, 1200 * MS, 600 * MB, 1);
    story_values(evil, at, 0, 50 * MB, 1);
    y->rows[1]->absent[PROCESS_pss] = y->rows[1]->absent[PROCESS_uss] = BARO_ABSENT_THINNED;
    y->rows[1]->value[PROCESS_pss] = y->rows[1]->value[PROCESS_uss] = 0;
    evil->absent[PROCESS_pss] = evil->absent[PROCESS_uss] = BARO_ABSENT_DENIED;
    y->s.job[JOB_processes_started] = 5;
    y->s.job[JOB_processes_ended] = 2;
    y->s.job[JOB_processes_unsampled] = 1;
    y->s.job[JOB_process_rss_peak] = 601 * MB;
    story_sample(y, t, at, 3, 2301 * MS, 2232 * MS);

    story_exit(t, 2800 * MS, 3, 102, "ld", 1250 * MS, 612 * MB, 9, true);
    story_exit(t, 2850 * MS, 4, 104, STORY_HOSTILE, MS, 51 * MB, 0, true);
    story_exit(t, 2900 * MS, 1, 100, "make", 5 * MS, 3 * MB, 512, true);
    story_event(t, 2900 * MS, BARO_EVENT_END, 100, 512, "");
    y->s.job[JOB_processes_ended] = 5;
    y->s.job[JOB_process_rss_peak] = 612 * MB;
    y->s.job[JOB_run_delay] = 310 * MS;
    y->s.lossy = true;
    y->s.self[RECORDER_lossy_intervals] = 1;
    story_sample(y, t, 2901 * MS, 0, 2400 * MS, 2286 * MS);
}

#endif
