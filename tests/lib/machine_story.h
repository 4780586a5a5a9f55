/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job in a container on a machine with four CPUs, with values typed by hand: a quota of half a core, 500 MB that it
 * shares with a neighbour, and other jobs that keep the machine busy. Its figures can be computed by hand. Include
 * after story.h.
 */
#ifndef TESTS_MACHINE_STORY_H
#define TESTS_MACHINE_STORY_H

#include "story.h"

#define GB 1000000000ull
#define SECOND 1000000000ull

struct machine_story {
    struct story y;
    struct baro_entity disk[2], fs[3], net[2], group[2];
    struct baro_entity *disks[2], *mounts[3], *nets[2], *groups[2];
    uint64_t value[9][64];
    uint8_t absent[9][64];
    char names[10][24];
    int n;
    const char *inner; /* the path of the job's group; NULL: "/pod/job" */
};

static inline void machine_story_header(struct baro_header *h)
{
    story_header(h);
    h->cpus = 4;
    h->memory_total = 8 * GB;
    h->limits = (struct baro_limits){.memory_bytes = 500 * MB,
                                     .memory_source = "cgroup /pod memory.max",
                                     .cores_ppm = 500000,
                                     .cores_source = "cgroup /pod/job cpu.max",
                                     .pids = 100,
                                     .pids_source = "cgroup /pod/job pids.max"};
}

static inline void machine_entity(struct machine_story *m, struct baro_entity *e, enum baro_kind kind, const char *name)
{
    int i = m->n++;
    memset(m->absent[i], BARO_ABSENT_UNSUPPORTED, sizeof(m->absent[i]));
    strcpy(m->names[i], name);
    *e = (struct baro_entity){.id = 100 + (uint32_t)i,
                              .kind = kind,
                              .name = m->names[i],
                              .label = m->names[9],
                              .info_version = 1,
                              .value = m->value[i],
                              .absent = m->absent[i]};
}

/* Pairs of a metric and its value. */
static inline void machine_set_pairs(uint64_t *value, uint8_t *absent, const uint64_t *pair, size_t n)
{
    for (size_t i = 0; i + 1 < n; i += 2) {
        value[pair[i]] = pair[i + 1];
        absent[pair[i]] = BARO_PRESENT;
    }
}

#define MACHINE_SET(value, absent, ...)                                                                                \
    machine_set_pairs(value, absent, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8)
#define machine_entity_set(e, ...) MACHINE_SET((e)->value, (e)->absent, __VA_ARGS__)
#define machine_host_set(s, ...) MACHINE_SET((s)->host, (s)->host_absent, __VA_ARGS__)

static inline void machine_begin(struct machine_story *m)
{
    struct baro_sample *s = &m->y.s;
    const char *inner = m->inner;
    memset(m, 0, sizeof(*m));
    memset(s->job_absent, BARO_ABSENT_NOT_YET, sizeof(s->job_absent));
    memset(s->host_absent, BARO_ABSENT_UNSUPPORTED, sizeof(s->host_absent));
    /* clang-format off */
    const enum job_metric have[] = {JOB_cpu, JOB_cpu_user, JOB_cpu_system, JOB_cpu_counted, JOB_io_read, JOB_io_write,
                                    JOB_process_rss_peak, JOB_processes, JOB_processes_peak, JOB_processes_started,
                                    JOB_processes_ended, JOB_processes_unsampled};
    /* clang-format on */
    for (size_t i = 0; i < sizeof(have) / sizeof(*have); i++)
        s->job_absent[have[i]] = BARO_PRESENT;
    machine_entity(m, m->disks[0] = &m->disk[0], BARO_KIND_DISK, "nvme0n1");
    machine_entity(m, m->disks[1] = &m->disk[1], BARO_KIND_DISK, "dm-0");
    machine_entity(m, m->mounts[0] = &m->fs[0], BARO_KIND_FS, "/");
    machine_entity(m, m->mounts[1] = &m->fs[1], BARO_KIND_FS, "/data");
    machine_entity(m, m->mounts[2] = &m->fs[2], BARO_KIND_FS, "/dev/shm");
    machine_entity(m, m->nets[0] = &m->net[0], BARO_KIND_NET, "lo");
    machine_entity(m, m->nets[1] = &m->net[1], BARO_KIND_NET, "eth0");
    machine_entity(m, m->groups[0] = &m->group[0], BARO_KIND_CGROUP, inner ? inner : "/pod/job");
    machine_entity(m, m->groups[1] = &m->group[1], BARO_KIND_CGROUP, "/pod");
    m->group[0].label = m->group[1].label = "v2";
    s->entities[BARO_KIND_DISK] = (struct baro_entities){.n = 2, .at = m->disks};
    s->entities[BARO_KIND_FS] = (struct baro_entities){.n = 3, .at = m->mounts};
    s->entities[BARO_KIND_NET] = (struct baro_entities){.n = 2, .at = m->nets};
    s->entities[BARO_KIND_CGROUP] = (struct baro_entities){.n = 2, .at = m->groups};
}

/* Sets the values that grow by the same amount each second, and those that do not change; step: seconds since the first
 * reading. */
static inline void machine_grow(struct machine_story *m, uint64_t t_ns, uint64_t step)
{
    struct baro_sample *s = &m->y.s;
    s->has_host = true;
    s->host_ns = t_ns;
    /* four seconds of CPU time: 1 user, 0.2 nice, 0.5 system, 0.01 irq, 0.04 softirq, 0.25 guests, 1.2 idle, 0.4
     * iowait, 0.4 stolen */
    machine_host_set(
        s, HOST_cpu_user, 100 * SECOND + 1000 * MS * step, HOST_cpu_nice, 7 * SECOND + 200 * MS * step, HOST_cpu_system,
        40 * SECOND + 500 * MS * step, HOST_cpu_irq, 1 * SECOND + 10 * MS * step, HOST_cpu_softirq,
        2 * SECOND + 40 * MS * step, HOST_cpu_guest, 250 * MS * step, HOST_cpu_guest_nice, 0, HOST_cpu_idle,
        900 * SECOND + 1200 * MS * step, HOST_cpu_iowait, 3 * SECOND + 400 * MS * step, HOST_cpu_steal,
        5 * SECOND + 400 * MS * step, HOST_cpus, 4, HOST_load_1m, 2500000 + 250000 * step, HOST_threads_running,
        3 + step, HOST_forks, 70000 + 11 * step, HOST_memory_total, 8192 * MB, HOST_memory_free,
        1024 * 1000000 - 102400000 * step, HOST_memory_buffers, 102400000, HOST_memory_cached, 2048 * MB,
        HOST_memory_available, 2560 * MB - 102400000 * step, HOST_memory_used, 8192 * MB - 2560 * MB + 102400000 * step,
        HOST_memory_active_anon, 3072 * MB, HOST_memory_inactive_anon, 512 * MB, HOST_swap_used, 20 * MB, HOST_swap_in,
        4 * MB * step, HOST_swap_out, 8 * MB * step, HOST_oom_kills, 5 + (step >= 2), HOST_pressure_cpu_some,
        77 * SECOND + 300 * MS * step, HOST_pressure_memory_some, SECOND + 50 * MS * step, HOST_pressure_memory_full,
        SECOND + 20 * MS * step, HOST_pressure_io_some, SECOND + 40 * MS * step, HOST_disk_read,
        10 * GB + 4096 * 1000 * step, HOST_disk_write, 20 * GB + 8192 * 1000 * step, HOST_net_receive,
        5 * GB + 1500 * 1000 * step, HOST_net_transmit, 6 * GB + 600 * 1000 * step);
    for (int i = 0; i < 2; i++) { /* dm-0 is on top of nvme0n1 */
        machine_entity_set(&m->disk[i], DISK_read, 10 * GB + 4096 * 1000 * step, DISK_write,
                           20 * GB + 8192 * 1000 * step, DISK_counted, i == 0);
        machine_entity_set(&m->net[i], NET_receive, 5 * GB + 1500 * 1000 * step, NET_transmit,
                           6 * GB + 600 * 1000 * step, NET_counted, i == 1);
    }
    /* 100 GiB of which 40 are used and 55 available to users, 10 GiB without files, and memory */
    machine_entity_set(&m->fs[2], FS_total, 3ull << 30, FS_used, 1ull << 30, FS_available, 2ull << 30);
    machine_entity_set(&m->fs[0], FS_total, 100ull << 30, FS_used, 40ull << 30, FS_available, 55ull << 30);
    machine_entity_set(&m->fs[1], FS_total, 10ull << 30, FS_used, 0, FS_available, 10ull << 30);
    machine_entity_set(&m->group[0], CGROUP_cpu_throttled, 9 * SECOND + 700 * MS * step, CGROUP_oom_kills,
                       2 + (step >= 2), CGROUP_pids_limit_hits, 0, CGROUP_memory, 200 * MB, CGROUP_memory_peak,
                       320 * MB, CGROUP_memory_anon, 110 * MB, CGROUP_memory_shmem, 40 * MB, CGROUP_memory_file,
                       85 * MB);
    machine_entity_set(&m->group[1], CGROUP_memory, 400 * MB + 30 * MB * step, CGROUP_memory_peak, 500 * MB,
                       CGROUP_cpu_throttled, 0);
}

/*
 *   t       reading  worker rss  pss      cpu of the job
 *   2 ms      1st      10 MB    not yet      2 ms
 *   1002 ms   2nd     150 MB    100 MB     502 ms
 *   1502 ms           160 MB    100 MB     700 ms
 *   2002 ms   3rd     200 MB    125 MB    1002 ms
 *   3002 ms   4th     ended               1402 ms
 */
static inline void machine_story_play(struct machine_story *m, const struct story_sink *t)
{
    struct story *y = &m->y;
    struct baro_sample *s = &y->s;
    machine_begin(m);
    story_event(t, 0, BARO_EVENT_START, 100, 0, "worker");
    s->job[JOB_processes_started] = s->job[JOB_processes_peak] = 1;
    struct baro_process *p = y->rows[0] = story_process(y, 0, 1, 100, 1, "worker", "worker --all");
    struct baro_process *q = y->rows[1] = story_process(y, 1, 2, 101, 100, "helper", "helper");
    story_values(p, 2 * MS, 2 * MS, 10 * MB, 1);
    machine_grow(m, 2 * MS, 0);
    story_sample(y, t, 2 * MS, 1, 2 * MS, 2 * MS);

    story_values(p, 1002 * MS, 500 * MS, 150 * MB, 3);
    story_memory(p, 1002 * MS, 100 * 1024000, 90 * MB);
    story_values(q, 1002 * MS, 2 * MS, 2 * MB, 1);
    story_memory(q, 1002 * MS, 1024000, MB);
    s->job[JOB_process_rss_peak] = 150 * MB;
    s->job[JOB_processes_started] = s->job[JOB_processes_peak] = 2;
    s->job[JOB_io_read] = 5 * MB;
    s->job[JOB_io_write] = MB;
    machine_grow(m, 1002 * MS, 1);
    story_sample(y, t, 1002 * MS, 2, 502 * MS, 502 * MS);

    story_values(p, 1502 * MS, 698 * MS, 160 * MB, 3);
    story_sample(y, t, 1502 * MS, 2, 700 * MS, 700 * MS);

    story_values(p, 2002 * MS, 1000 * MS, 200 * MB, 3);
    story_memory(p, 2002 * MS, 125 * 1024000, 120 * MB);
    s->job[JOB_process_rss_peak] = 200 * MB;
    s->job[JOB_io_write] = 3 * MB;
    machine_grow(m, 2002 * MS, 2);
    story_sample(y, t, 2002 * MS, 2, 1002 * MS, 1002 * MS);

    story_exit(t, 2900 * MS, 2, 101, "helper", 2 * MS, 2 * MB, 0, true);
    story_exit(t, 3000 * MS, 1, 100, "worker", 1400 * MS, 201 * MB, 0, true);
    story_event(t, 3000 * MS, BARO_EVENT_END, 100, 0, "");
    s->job[JOB_processes_ended] = 2;
    machine_grow(m, 3002 * MS, 3);
    story_sample(y, t, 3002 * MS, 0, 1402 * MS, 1402 * MS);
}

#endif
