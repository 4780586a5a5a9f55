/* SPDX-License-Identifier: Apache-2.0 */
/* What control groups on a tape say about the job: which of them are the job's, what was refused in them, and how close
 * to the limit they were. Typed and computed by hand. */
#include <signal.h>

#include "unit.h"
#include "base/json.h"
#include "libbaro/summary/groups.h"
#include "libbaro/summary/limits.h"
#include "output/text/summary_text.h"
#include "story.h"

#define NEAR(a, b) assert_true((a) - (b) < 1e-9 && (b) - (a) < 1e-9)
#define MOST 4

struct world {
    struct baro_summary *s;
    struct baro_sample sample;
    struct baro_process p, *rows[1];
    struct baro_entity group[MOST], *groups[MOST];
    uint64_t value[MOST][CGROUP_MAX];
    uint8_t absent[MOST][CGROUP_MAX];
};

static struct world w;

static void hold(uint64_t bytes)
{
    static const enum process_metric ids[] = {PROCESS_rss, PROCESS_pss, PROCESS_uss, PROCESS_rss_anon,
                                              PROCESS_pss_anon};
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
        w.p.value[ids[i]] = bytes;
}

static void begin(const char *mode, const struct baro_limits *l)
{
    struct baro_header h;
    summary_free(w.s);
    w = (struct world){.p = {.id = 7, .key = {50, 5}, .name = "p"}, .sample = {.n = 1}};
    w.rows[0] = &w.p;
    w.sample.processes = w.rows;
    memset(w.sample.host_absent, BARO_ABSENT_NOT_ASKED, sizeof(w.sample.host_absent));
    story_header(&h);
    strcpy(h.cgroup_mode, mode);
    h.mode = strcmp(mode, "target") == 0 || strcmp(mode, "members") == 0 ? BARO_MODE_ATTACH : BARO_MODE_RUN;
    h.limits = l ? *l : (struct baro_limits){0};
    w.s = summary_new(&h);
    assert_non_null(w.s);
    hold(10 * MB);
}

static struct baro_entity *group(char *name, char *label)
{
    size_t i = w.sample.entities[BARO_KIND_CGROUP].n++;
    w.group[i] = (struct baro_entity){.id = 100 + (uint32_t)i,
                                      .kind = BARO_KIND_CGROUP,
                                      .name = name,
                                      .label = label,
                                      .value = w.value[i],
                                      .absent = w.absent[i]};
    w.groups[i] = &w.group[i];
    w.sample.entities[BARO_KIND_CGROUP].at = w.groups;
    memset(w.absent[i], BARO_ABSENT_UNSUPPORTED, CGROUP_MAX);
    return w.groups[i];
}

/* Pairs of a metric and its value. */
static void set_pairs(struct baro_entity *e, const uint64_t *pair, size_t n)
{
    for (size_t i = 0; i + 1 < n; i += 2) {
        e->value[pair[i]] = pair[i + 1];
        e->absent[pair[i]] = BARO_PRESENT;
    }
}

#define set(e, ...) set_pairs(e, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

static void take_sample(void)
{
    w.sample.t_ns = w.sample.host_ns += 1000 * MS;
    w.sample.has_host = true;
    summary_add_sample(w.s, &w.sample);
}

static void holds(enum memory_measure measure, uint64_t mb)
{
    struct summary_memory m;
    summary_memory(w.s, &m);
    assert_int_equal(m.absent, 0);
    assert_int_equal(m.measure, measure);
    assert_int_equal(m.bytes / MB, mb); /* and some kB of the kernel */
}

static void refused(int absent, uint64_t kills, uint64_t forks)
{
    uint64_t v;
    assert_int_equal(summary_group_oom_kills(w.s, &v), absent);
    assert_int_equal(v, kills);
    assert_gives(summary_fork_refusals(w.s, &v), v, forks);
}

static void full(double ratio)
{
    double d;
    assert_int_equal(summary_memory_group_ratio(w.s, &d), 0);
    NEAR(d, ratio);
}

static void killed(uint64_t t_ns, int status, bool known)
{
    struct baro_exit e = {.t_ns = t_ns, .id = 77, .status = status, .status_known = known, .name = "p"};
    memset(e.absent, BARO_ABSENT_UNKNOWN, sizeof(e.absent));
    summary_add_exit(w.s, &e);
}

static void told_kills(uint64_t likely, uint64_t least, uint64_t most)
{
    struct summary_oom_kills k;
    assert_gives(summary_oom_kills(w.s, &k), k.likely, likely);
    assert_int_equal(k.least, least);
    assert_int_equal(k.most, most);
}

/* In a group with other processes, too: samples at 1, 2, ... s. */
TEST(attribution_of_kills)
{
    begin("none", NULL);
    struct baro_entity *shared = group("/service/abc", "v1 memory");
    set(shared, CGROUP_oom_kills, 5);
    take_sample();
    told_kills(0, 0, 0); /* seen once, and SIGKILL ended no process */
    set(shared, CGROUP_oom_kills, 6);
    take_sample();
    told_kills(0, 0, 0); /* a neighbour's */
    killed(1500 * MS, 15, true);
    told_kills(0, 0, 0);
    killed(9000 * MS, SIGKILL, true);
    told_kills(0, 0, 1); /* long after the counter rose: not likely */
    set(shared, CGROUP_oom_kills, 8);
    take_sample();
    killed(3100 * MS, SIGKILL, true); /* just after the sample that saw the counter rise */
    told_kills(1, 0, 2);
    killed(2500 * MS, 0, false);
    told_kills(1, 0, 3); /* any of the three, if it is not known what ended it */
    const struct baro_event log = {.kind = BARO_EVENT_OOM, .number = 2, .text = "p, q"};
    summary_add_event(w.s, &log);
    told_kills(2, 2, 2);
}

/* In a container perf reports ends without statuses: only that of the shell, which passes on what ended its child. */
TEST(kill_that_a_shell_reports)
{
    static const struct {
        bool child_known;
        int shell;
        uint64_t likely, most;
    } cases[] = {{false, 128 + SIGKILL, 1, 1}, {false, 1, 0, 1}, {true, 128 + SIGKILL, 0, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        begin("none", NULL);
        struct baro_entity *shared = group("/service/abc", "v1 memory");
        set(shared, CGROUP_oom_kills, 5);
        take_sample();
        killed(1500 * MS, 0, cases[i].child_known);
        killed(1501 * MS, cases[i].shell << 8, true);
        set(shared, CGROUP_oom_kills, 6);
        take_sample();
        told_kills(cases[i].likely, 0, cases[i].most);
    }
}

/* Ended before the first sample, which may have counted it. */
TEST(kill_before_the_first_sample)
{
    struct summary_oom_kills k;
    begin("none", NULL);
    struct baro_entity *shared = group("/service/abc", "v1 memory");
    set(shared, CGROUP_oom_kills, 5);
    killed(500 * MS, SIGKILL, true);
    take_sample();
    assert_int_equal(summary_oom_kills(w.s, &k), BARO_ABSENT_UNKNOWN);
    take_sample();
    told_kills(0, 0, 1);
}

/* A container's group is removed before it is read after the kill. */
TEST(kill_after_the_last_reading)
{
    static const struct {
        int status;
        bool known, logged;
        uint64_t log, likely, least, most;
        int absent;
    } cases[] = {
        {SIGKILL, true, false, 0, 0, 0, 1, 0}, /* not denied: it may have been one */
        {SIGKILL, true, true, 1, 1, 1, 1, 0},  {SIGKILL, true, true, 0, 0, 0, 0, 0},
        {0, true, false, 0, 0, 0, 0, 0},       {0, false, false, 0, 0, 0, 0, BARO_ABSENT_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct summary_oom_kills k;
        const struct baro_event log = {.kind = BARO_EVENT_OOM, .number = cases[i].log, .text = "p"};
        begin("target", NULL);
        struct baro_entity *own = group("/pod/c1", "v1 memory");
        set(own, CGROUP_oom_kills, 0);
        take_sample();
        take_sample();
        own->absent[CGROUP_oom_kills] = BARO_ABSENT_GONE;
        killed(2300 * MS, cases[i].status, cases[i].known);
        take_sample();
        if (cases[i].logged)
            summary_add_event(w.s, &log);
        assert_int_equal(summary_oom_kills(w.s, &k), cases[i].absent);
        assert_int_equal(k.likely, cases[i].likely);
        assert_int_equal(k.least, cases[i].least);
        assert_int_equal(k.most, cases[i].most);
    }
}

/* v2 and threads have a group made for the job; the memory group is shared, is the first one, and belongs to another
 * job. */
TEST(own_groups_except_memory)
{
    begin("own", NULL);
    struct baro_entity *shared = group("/service/abc", "v1 memory"), *made = group("/baro-9-0000000a", "v2, v1 pids");
    set(shared, CGROUP_memory, 500 * MB, CGROUP_memory_peak, 602 * MB, CGROUP_oom_kills, 5);
    set(made, CGROUP_pids_limit_hits, 4); /* before the first sample */
    take_sample();
    set(shared, CGROUP_memory_peak, 700 * MB, CGROUP_oom_kills, 6);
    set(made, CGROUP_pids_limit_hits, 6);
    take_sample();
    holds(MEMORY_PROCESSES, 10);
    refused(0, 1, 6);
}

/* All three; the peaks and counters of the group made for the job are its own from the first sample on, those of groups
 * above it only as far as they grew. */
TEST(own_groups)
{
    static const struct baro_limits l = {.memory_bytes = 200 * MB,
                                         .memory_source = "cgroup /service memory.limit_in_bytes"};
    uint64_t v;
    begin("own", &l);
    struct baro_entity *above = group("/service", "v1 memory"),
                       *memory = group("/service/baro-9-0000000a", "v1 memory");
    struct baro_entity *cpu = group("/quota", "v1 cpu"),
                       *made = group("/baro-9-0000000b", "v1 cpuacct, pids"); /* there, the first name was taken */
    set(above, CGROUP_memory, 90 * MB, CGROUP_memory_peak, 200 * MB, CGROUP_oom_kills, 7);
    set(memory, CGROUP_memory, 30 * MB, CGROUP_memory_peak, 80 * MB, CGROUP_memory_anon, 12 * MB);
    set(memory, CGROUP_memory_shmem, 50 * MB); /* files in tmpfs */
    set(memory, CGROUP_memory_file, 60 * MB, CGROUP_oom_kills, 2);
    set(cpu, CGROUP_cpu_throttled, 900 * MS);
    set(made, CGROUP_pids_limit_hits, 1);
    take_sample();
    set(above, CGROUP_oom_kills, 9);
    set(memory, CGROUP_oom_kills, 3);
    set(cpu, CGROUP_cpu_throttled, 950 * MS);
    take_sample();
    holds(MEMORY_CGROUP, 62);
    refused(0, 3, 1);
    assert_gives(summary_throttled(w.s, &v), v, 50 * MS);
    full(90.0 / 200);
}

/* A recording in a recording: the outer one's groups have such names as well. */
TEST(own_groups_of_another_recording)
{
    begin("own", NULL);
    struct baro_entity *other = group("/service/baro-1-00000001", "v1 memory");
    group("/baro-1-00000001/baro-12-00000001", "v2");
    struct baro_entity *pids = group("/baro-1-00000001", "v1 pids");
    set(other, CGROUP_memory, 70 * MB, CGROUP_memory_peak, 90 * MB, CGROUP_oom_kills, 1);
    set(pids, CGROUP_pids_limit_hits, 3);
    take_sample();
    set(pids, CGROUP_pids_limit_hits, 4);
    take_sample();
    holds(MEMORY_PROCESSES, 10);
    refused(0, 0, 1);
}

/* Each value comes from the innermost group that has it, whichever is listed first. */
TEST(shared)
{
    begin("none", NULL);
    struct baro_entity *memory = group("/a", "v1 memory"), *outer = group("/x", "v1 pids"),
                       *inner = group("/x/y", "v1 pids");
    set(outer, CGROUP_pids_limit_hits, 100);
    set(inner, CGROUP_pids_limit_hits, 10);
    memory->absent[CGROUP_oom_kills] = BARO_ABSENT_DENIED;
    take_sample();
    set(outer, CGROUP_pids_limit_hits, 109);
    set(inner, CGROUP_pids_limit_hits, 16);
    take_sample();
    refused(BARO_ABSENT_DENIED, 0, 6);
}

/* The recorder's own forks are counted by the group that it is in, from the first sample on. */
TEST(own_helpers)
{
    begin("none", NULL);
    struct baro_entity *e = group("/x", "v2");
    set(e, CGROUP_pids_limit_hits, 0);
    w.sample.self[RECORDER_forks_refused] = 3; /* before the first sample: not in the growth either */
    take_sample();
    set(e, CGROUP_pids_limit_hits, 9);
    w.sample.self[RECORDER_forks_refused] = 5;
    take_sample();
    refused(BARO_ABSENT_UNSUPPORTED, 0, 7);
}

/* A job that was killed held more than any sample saw. The peak shows it, if it rose; if it had that value already, the
 * counter of allocations that reached the limit does. */
TEST(peak_at_the_limit)
{
    static const struct baro_limits l = {.memory_bytes = 64 * MB, .memory_source = "cgroup /a/b memory.max"};
    static const struct {
        char *label;
        uint64_t mark[2], hits[2];
        double ratio;
    } of[] = {
        {"v1 memory", {20, 64}, {3, 9}, 1},    {"v2", {20, 64}, {3, 9}, 1},
        {"v1 memory", {64, 64}, {3, 9}, 1},    {"v2", {64, 64}, {3, 9}, 0.5}, /* a group below reached its own */
        {"v1 memory", {64, 64}, {9, 9}, 0.5},  {"v1 memory", {60, 60}, {3, 9}, 60.0 / 64},
        {"v1 memory", {90, 90}, {3, 9}, 1}, /* from a time with another limit */
        {"v1 memory", {40, 48}, {0, 0}, 0.75},
    };
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        begin("none", &l);
        struct baro_entity *b = group("/a/b", of[i].label);
        set(b, CGROUP_memory, 8 * MB);
        for (size_t k = 0; k < 2; k++) {
            set(b, CGROUP_memory_peak, of[i].mark[k] * MB, CGROUP_memory_limit_hits, of[i].hits[k]);
            take_sample();
            set(b, CGROUP_memory, 32 * MB);
        }
        full(of[i].ratio);
    }
}

/* The limit of a group changes: what it held and how often it reached the limit before, up to the first sample after,
 * does not count for the new limit. */
TEST(limit_that_changes)
{
    static const struct baro_limits large = {.memory_bytes = 100 * MB, .memory_source = "cgroup /a memory.max"};
    static const struct baro_limits small = {.memory_bytes = 64 * MB,
                                             .memory_source = "cgroup /a memory.max",
                                             .cores_ppm = 1000000,
                                             .cores_source = "affinity"};
    struct baro_limits same = small;
    static const char *const modes[] = {"none", "target"};
    for (size_t i = 0; i < 2; i++) {
        double d;
        struct summary_memory m;
        begin(modes[i], NULL);
        summary_add_limits(w.s, &large, 0);
        struct baro_entity *a = group("/a", "v1 memory");
        set(a, CGROUP_memory, 80 * MB, CGROUP_memory_peak, 90 * MB, CGROUP_memory_limit_hits, 3);
        take_sample();
        set(a, CGROUP_memory_limit_hits, 4);
        take_sample();
        full(0.9);
        summary_add_limits(w.s, &small, w.sample.t_ns + 500 * MS);
        assert_int_equal(summary_memory_group_ratio(w.s, &d), BARO_ABSENT_NOT_YET);
        summary_memory(w.s, &m);
        assert_int_equal(m.absent, BARO_ABSENT_NOT_YET);
        set(a, CGROUP_memory, 32 * MB, CGROUP_memory_peak, 95 * MB, CGROUP_memory_limit_hits, 5);
        take_sample();
        full(0.5);
        same.cores_ppm = 2000000;
        summary_add_limits(w.s, &same, w.sample.t_ns + 500 * MS); /* not the memory group */
        full(0.5);
        set(a, CGROUP_memory_limit_hits, 6);
        take_sample();
        full(1);
    }
}

#define POD "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod01234567_89ab_cdef_0123_456789abcdef.slice"
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* A source has the end of a long path, 95 bytes of this one; a path that is not truncated is the whole path, not the
 * end of another one. */
TEST(long_path)
{
    static const struct baro_limits pod = {.memory_bytes = 64 * MB,
                                           .memory_source =
                                               "cgroup ...def.slice/cri-containerd-" ID ".scope memory.limit_in_bytes"};
    static const struct baro_limits above = {.memory_bytes = 64 * MB, .memory_source = "cgroup /b c memory.max"},
                                    other = {.memory_bytes = 64 * MB, .memory_source = "cgroup .../x memory.max"};
    static const struct {
        const struct baro_limits *l;
        char *path, *not ;
    } of[] = {{&pod, POD "/cri-containerd-" ID ".scope", POD},
              {&above, "/b c", "/b c/b c"},
              {&above, "/b c", "/b"},
              {&other, "/a/x", "/x"}};
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        begin("none", of[i].l);
        struct baro_entity *e = group(of[i].path, "v1 memory"), *not = group(of[i].not, "v1 memory");
        set(not, CGROUP_memory, 48 * MB);
        set(e, CGROUP_memory, 8 * MB, CGROUP_memory_peak, 64 * MB, CGROUP_memory_limit_hits, 3);
        take_sample();
        full(8.0 / 64);
        set(e, CGROUP_memory_limit_hits, 4);
        take_sample();
        full(1);
    }
}

/* A job holds no more than its group ever held: memory above that is charged to another group. */
TEST(charged_elsewhere)
{
    static const struct baro_limits l = {.memory_bytes = 64 * MB, .memory_source = "cgroup /a memory.max"};
    double d;
    begin("none", &l);
    struct baro_entity *a = group("/a", "v2");
    set(a, CGROUP_memory, 8 * MB, CGROUP_memory_peak, 64 * MB);
    hold(60 * MB);
    take_sample();
    holds(MEMORY_PROCESSES, 60);
    hold(70 * MB);
    take_sample();
    holds(MEMORY_PROCESSES, 64);
    assert_int_equal(summary_memory_peak_ratio(w.s, &d), 0);
    NEAR(d, 1.0);
}

/* The job is a group that existed before: its peak is older, except for the part by which it rose. A group that does
 * not count CPU time is a job all the same. */
TEST(target)
{
    static const struct baro_limits l = {.memory_bytes = 100 * MB, .memory_source = "cgroup /a memory.limit_in_bytes"};
    static const char *const modes[] = {"target", "members"};
    for (size_t i = 0; i < 2; i++) {
        struct buf text = {0};
        uint64_t kills;
        begin(modes[i], &l);
        struct baro_entity *above = group("/a", "v1 memory"), *e = group("/a/b", "v1 memory");
        set(above, CGROUP_memory, 90 * MB, CGROUP_memory_peak, 99 * MB);
        set(e, CGROUP_memory, 20 * MB, CGROUP_memory_peak, 70 * MB, CGROUP_memory_anon, 20 * MB, CGROUP_memory_shmem, 0,
            CGROUP_oom_kills, 2, CGROUP_pids_limit_hits, 0);
        take_sample();
        holds(MEMORY_CGROUP, 20);
        assert_int_equal(summary_group_oom_kills(w.s, &kills),
                         BARO_ABSENT_UNKNOWN); /* seen once: there is nothing to compare with */
        set(e, CGROUP_memory_peak, 75 * MB, CGROUP_memory_anon, 30 * MB, CGROUP_memory_shmem, 41 * MB, CGROUP_oom_kills,
            3);
        take_sample();
        summary_finish(w.s);
        holds(MEMORY_CGROUP, 71);
        refused(0, 1, 0);
        assert_string_equal(summary_kernel_source(w.s), i ? "ledger" : "cgroup");
        summary_json(w.s, "t", &(struct json){.out = &text, .pretty = true});
        buf_byte(&text, 0);
        assert_non_null(strstr((char *)text.at, "\"cgroup\": \"target\""));
        buf_done(&text);
    }
}

/* The first sample may have the groups alone; then the job's CPU time is not compared with a machine that was not
 * read. */
TEST(groups_first)
{
    double d;
    begin("none", NULL);
    struct baro_entity *e = group("/x", "v1 pids");
    memset(w.sample.host_absent, BARO_ABSENT_NOT_YET, sizeof(w.sample.host_absent));
    w.sample.job[JOB_cpu] = 500 * MS;
    set(e, CGROUP_pids_limit_hits, 1);
    take_sample();
    set(e, CGROUP_pids_limit_hits, 6);
    static const enum host_metric busy[] = {HOST_cpu_user,    HOST_cpu_nice,  HOST_cpu_system,    HOST_cpu_irq,
                                            HOST_cpu_softirq, HOST_cpu_guest, HOST_cpu_guest_nice};
    for (uint64_t i = 1; i <= 2; i++) {
        for (size_t k = 0; k < sizeof(busy) / sizeof(*busy); k++) {
            w.sample.host[busy[k]] = k ? 0 : 1500 * MS * i;
            w.sample.host_absent[busy[k]] = BARO_PRESENT;
        }
        w.sample.job[JOB_cpu] = 1000 * MS * i;
        take_sample();
    }
    refused(BARO_ABSENT_UNSUPPORTED, 0, 5);
    assert_int_equal(summary_machine_others(w.s, &d), 0);
    NEAR(d, 0.5);
}
