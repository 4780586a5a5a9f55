/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a tape as facts. include/baro/summary.h has the rules. */
#include <stddef.h>
#include <string.h>

#include "libbaro/sample/sample.h"
#include "libbaro/summary/facts.h"

/* How a header has a fact: in the member at an offset, or in another way. */
enum has { HAS_CHARS, HAS_POINTER, HAS_U64, HAS_U32, HAS_MODE, HAS_START, HAS_ARGUMENTS, HAS_TAGS, HAS_TARGETS };

/* absent: 0 and "" stand for what was not known. */
#define OF_HEADER(name, type, unit, semantics, has, member, absent, help)                                              \
    {                                                                                                                  \
        FACT_ROW(-1, name, type, unit, semantics, NONE, true, help), has, absent, offsetof(struct baro_header, member) \
    }
#define TEXT(name, member, help) OF_HEADER(name, TEXT, NONE, PROPERTY, HAS_CHARS, member, true, help)
#define U64(name, unit, absent, member, help) OF_HEADER(name, UNSIGNED, unit, PROPERTY, HAS_U64, member, absent, help)
#define U32(name, absent, member, help) OF_HEADER(name, UNSIGNED, NONE, PROPERTY, HAS_U32, member, absent, help)
#define CLOCK(name, member, help) OF_HEADER(name, UNSIGNED, NS, INSTANT, HAS_U64, member, false, help)

static const struct {
    struct baro_fact fact;
    enum has has;
    bool absent;
    size_t at;
} facts[] = {
    TEXT("id", id, "what tells the recording from all others"),
    OF_HEADER("mode", TEXT, NONE, PROPERTY, HAS_MODE, mode, false, "run, or attach: what was recorded ran already"),
    OF_HEADER("argument", TEXT, NONE, PROPERTY, HAS_ARGUMENTS, argv, false,
              "an argument of the command, secrets redacted"),
    TEXT("name", name, "what the recording is called, if it has a name"),
    OF_HEADER("tag", TEXT, NONE, PROPERTY, HAS_TAGS, tags, false, "a tag that the user gave: KEY=VALUE"),
    OF_HEADER("cwd", TEXT, NONE, PROPERTY, HAS_POINTER, cwd, true, "working directory of the command"),
    U32("uid", false, uid, "real user id of the recorder"),
    OF_HEADER("target", SIGNED, NONE, PROPERTY, HAS_TARGETS, targets, false, "a pid that was attached to"),
    TEXT("cgroup_mode", cgroup_mode,
         "the control group that the job had: own (made for the command) or none; target or members (--cgroup); "
         "machine or visible (record --all)"),
    TEXT("version", version, "of barograph that wrote the tape"),
    U64("interval_ns", NS, false, interval_ns, "between two samples; 0: chosen as it went"),
    U64("overhead_ppm", NONE, false, overhead_ppm, "budget in millionths of a core; 0: none"),
    U32("recorder_pid", true, recorder.pid, "pid of the recorder in its own PID namespace"),
    U64("recorder_start_ticks", NONE, true, recorder.start, "its start time in clock ticks since boot"),
    U32("segment", false, segment, "number of the first segment; 0: the tape is one file"),
    U64("keep_ns", NS, true, keep_ns, "how long records are kept"),
    U64("keep_bytes", BYTES, true, keep_bytes, "how much is kept"),
    TEXT("event_source", event_source, "connector, perf or scan"),
    TEXT("exit_source", exit_source, "taskstats, perf, wait4 or none"),
    OF_HEADER("start", TIME, NONE, INSTANT, HAS_START, start_realtime_ns, false, "when the tape begins"),
    CLOCK("start_monotonic_ns", start_monotonic_ns, "CLOCK_MONOTONIC at the beginning"),
    CLOCK("start_boottime_ns", start_boottime_ns, "CLOCK_BOOTTIME at the beginning"),
    TEXT("boot_id", boot_id, "/proc/sys/kernel/random/boot_id"),
    U32("clock_ticks", true, clk_tck, "clock ticks per second, the unit of start times"),
    TEXT("host", host, "name of the machine"),
    TEXT("kernel", kernel, "release of the kernel"),
    TEXT("machine", machine, "x86_64, aarch64, ..."),
    TEXT("cpu_model", cpu_model, "model of the CPU"),
    U32("cpus", true, cpus, "CPUs online"),
    U32("numa_nodes", true, numa_nodes, "NUMA nodes"),
    U64("page_bytes", BYTES, true, page_size, "size of a page"),
    U64("memory_bytes", BYTES, true, memory_total, "memory of the machine"),
    TEXT("job_id", job_id, "of a batch system"),
    TEXT("step_id", step_id, "of a batch system"),
    TEXT("rank", rank,
         "which of the job's ranks was recorded, from 0 on, as its launcher (srun, mpirun, torchrun) says"),
    U32("ranks", true, ranks, "how many ranks the job has"),
    TEXT("local_rank", local_rank, "which of the ranks of its machine, from 0 on"),
    U32("local_ranks", true, local_ranks, "how many ranks the job has on this machine"),
    TEXT("node", node, "what the batch system calls the machine"),
    U32("attempt", true, attempt,
        "how often the batch system or launcher had started the job before; absent: never, or "
        "it does not say"),
    TEXT("container", place.container, "name of the container whose control group was recorded, or its short id"),
    TEXT("image", place.image, "image of that container"),
    TEXT("pod", place.pod, "pod of that container, or the pod's uid"),
    TEXT("pod_namespace", place.pod_namespace, "namespace of that pod"),
    TEXT("unit", place.unit, "unit of systemd whose control group was recorded"),
};

enum { FACTS = sizeof(facts) / sizeof(*facts) };

int baro_header_fact_count(void)
{
    return FACTS;
}

const struct baro_fact *baro_header_fact(int fact)
{
    return fact >= 0 && fact < FACTS ? &facts[fact].fact : NULL;
}

int baro_header_fact_find(const char *name)
{
    for (int i = 0; i < FACTS; i++)
        if (strcmp(facts[i].fact.name, name) == 0)
            return i;
    return -1;
}

size_t baro_header_rows(const struct baro_header *h, int fact)
{
    size_t n = 0;
    if (fact < 0 || fact >= FACTS)
        return 0;
    if (facts[fact].has == HAS_TARGETS)
        return h->n_targets;
    if (facts[fact].has != HAS_ARGUMENTS && facts[fact].has != HAS_TAGS)
        return 1;
    const char *const *list = facts[fact].has == HAS_TAGS ? baro_header_tags(h) : baro_header_argv(h);
    while (list[n])
        n++;
    return n;
}

enum baro_absent baro_header_value(const struct baro_header *h, int fact, size_t row, struct baro_value *ret)
{
    *ret = (struct baro_value){.absent = BARO_ABSENT_UNSUPPORTED};
    if (row >= baro_header_rows(h, fact))
        return ret->absent;
    const void *at = (const char *)h + facts[fact].at;
    ret->absent = BARO_PRESENT;
    switch (facts[fact].has) {
    case HAS_CHARS: ret->text = at; break;
    case HAS_POINTER: ret->text = *(char *const *)at; break;
    case HAS_U64: ret->u64 = *(const uint64_t *)at; break;
    case HAS_U32: ret->u64 = *(const uint32_t *)at; break;
    case HAS_MODE: ret->text = h->mode == BARO_MODE_ATTACH ? "attach" : "run"; break;
    case HAS_START: ret->i64 = h->start_realtime_ns; break;
    case HAS_ARGUMENTS: ret->text = h->argv[row]; break;
    case HAS_TAGS: ret->text = h->tags[row]; break;
    case HAS_TARGETS: ret->i64 = h->targets[row]; break;
    }
    if (facts[fact].absent && !ret->u64 && (!ret->text || !*ret->text))
        *ret = (struct baro_value){.absent = BARO_ABSENT_UNKNOWN};
    return ret->absent;
}
