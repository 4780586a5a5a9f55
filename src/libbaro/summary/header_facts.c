/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a tape as facts. include/baro/summary.h has the rules. */
#include <string.h>

#include "libbaro/sample/sample.h"
#include "libbaro/summary/facts.h"

enum { LIST_NONE, LIST_ARGUMENTS, LIST_TARGETS };

static const char *id_of(const struct baro_header *h)
{
    return h->id;
}

#define PLACE(member)                                                                                                  \
    static const char *member##_of(const struct baro_header *h)                                                        \
    {                                                                                                                  \
        return h->place.member;                                                                                        \
    }
PLACE(container)
PLACE(image)
PLACE(pod)
PLACE(pod_namespace)
PLACE(unit)

static const char *mode_of(const struct baro_header *h)
{
    return h->mode == BARO_MODE_ATTACH ? "attach" : "run";
}

/* absent: 0 and "" stand for what was not known. */
#define OF_HEADER(name, type, unit, semantics, help) FACT_ROW(-1, name, type, unit, semantics, NONE, true, help)
#define TEXT(name, get, help)                                                                                          \
    {                                                                                                                  \
        OF_HEADER(name, TEXT, NONE, PROPERTY, help), LIST_NONE, true, .text = get                                      \
    }
#define LIST(name, type, list, help)                                                                                   \
    {                                                                                                                  \
        OF_HEADER(name, type, NONE, PROPERTY, help), list, false, .text = NULL                                         \
    }
#define NUMBER(name, unit, semantics, absent, get, help)                                                               \
    {                                                                                                                  \
        OF_HEADER(name, UNSIGNED, unit, semantics, help), LIST_NONE, absent, .u64 = get                                \
    }
#define SMALL(name, absent, get, help)                                                                                 \
    {                                                                                                                  \
        OF_HEADER(name, UNSIGNED, NONE, PROPERTY, help), LIST_NONE, absent, .u32 = get                                 \
    }

static const struct {
    struct baro_fact fact;
    int list;
    bool absent;
    const char *(*text)(const struct baro_header *h);
    uint64_t (*u64)(const struct baro_header *h);
    uint32_t (*u32)(const struct baro_header *h);
} facts[] = {
    TEXT("id", id_of, "what tells the recording from all others"),
    TEXT("mode", mode_of, "run, or attach: what was recorded ran already"),
    LIST("argument", TEXT, LIST_ARGUMENTS, "an argument of the command, secrets redacted"),
    TEXT("name", baro_header_name, "what the recording is called, if it has a name"),
    TEXT("cwd", baro_header_cwd, "working directory of the command"),
    SMALL("uid", false, baro_header_uid, "real user id of the recorder"),
    LIST("target", SIGNED, LIST_TARGETS, "a pid that was attached to"),
    TEXT("cgroup_mode", baro_header_cgroup_mode, "own, none, target or members"),
    TEXT("version", baro_header_version, "of barograph that wrote the tape"),
    NUMBER("interval_ns", NS, PROPERTY, false, baro_header_interval_ns, "between two samples; 0: chosen as it went"),
    NUMBER("overhead_ppm", NONE, PROPERTY, false, baro_header_overhead_ppm, "budget in millionths of a core; 0: none"),
    SMALL("segment", false, baro_header_segment, "number of the first segment; 0: the tape is one file"),
    NUMBER("keep_ns", NS, PROPERTY, true, baro_header_keep_ns, "how long records are kept"),
    NUMBER("keep_bytes", BYTES, PROPERTY, true, baro_header_keep_bytes, "how much is kept"),
    TEXT("event_source", baro_header_event_source, "connector, perf or scan"),
    TEXT("exit_source", baro_header_exit_source, "taskstats, perf, wait4 or none"),
    {OF_HEADER("start", TIME, NONE, INSTANT, "when the tape begins"), LIST_NONE, false, .text = NULL},
    NUMBER("start_monotonic_ns", NS, INSTANT, false, baro_header_start_monotonic_ns,
           "CLOCK_MONOTONIC at the beginning"),
    NUMBER("start_boottime_ns", NS, INSTANT, false, baro_header_start_boottime_ns, "CLOCK_BOOTTIME at the beginning"),
    TEXT("boot_id", baro_header_boot_id, "/proc/sys/kernel/random/boot_id"),
    SMALL("clock_ticks", true, baro_header_clock_ticks, "clock ticks per second, the unit of start times"),
    TEXT("host", baro_header_host, "name of the machine"),
    TEXT("kernel", baro_header_kernel, "release of the kernel"),
    TEXT("machine", baro_header_machine, "x86_64, aarch64, ..."),
    TEXT("cpu_model", baro_header_cpu_model, "model of the CPU"),
    SMALL("cpus", true, baro_header_cpus, "CPUs online"),
    SMALL("numa_nodes", true, baro_header_numa_nodes, "NUMA nodes"),
    NUMBER("page_bytes", BYTES, PROPERTY, true, baro_header_page_bytes, "size of a page"),
    NUMBER("memory_bytes", BYTES, PROPERTY, true, baro_header_memory_bytes, "memory of the machine"),
    TEXT("job_id", baro_header_job_id, "of a batch system"),
    TEXT("step_id", baro_header_step_id, "of a batch system"),
    TEXT("rank", baro_header_rank, "of a batch system"),
    TEXT("container", container_of, "name of the container whose control group was recorded, or its short id"),
    TEXT("image", image_of, "image of that container"),
    TEXT("pod", pod_of, "pod of that container, or the pod's uid"),
    TEXT("pod_namespace", pod_namespace_of, "namespace of that pod"),
    TEXT("unit", unit_of, "unit of systemd whose control group was recorded"),
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
    if (facts[fact].list == LIST_TARGETS)
        return baro_header_target_count(h);
    for (const char *const *arg = baro_header_argv(h); facts[fact].list == LIST_ARGUMENTS && arg[n]; n++)
        ;
    return facts[fact].list == LIST_NONE ? 1 : n;
}

static void take_text(struct baro_value *ret, const char *text)
{
    ret->text = text;
}

enum baro_absent baro_header_value(const struct baro_header *h, int fact, size_t row, struct baro_value *ret)
{
    *ret = (struct baro_value){.absent = BARO_ABSENT_UNSUPPORTED};
    if (row >= baro_header_rows(h, fact))
        return ret->absent;
    ret->absent = BARO_PRESENT;
    if (facts[fact].list == LIST_ARGUMENTS)
        take_text(ret, baro_header_argv(h)[row]);
    else if (facts[fact].list == LIST_TARGETS)
        ret->i64 = baro_header_target(h, row);
    else if (facts[fact].text)
        take_text(ret, facts[fact].text(h));
    else if (facts[fact].u64)
        ret->u64 = facts[fact].u64(h);
    else if (facts[fact].u32)
        ret->u64 = facts[fact].u32(h);
    else
        ret->i64 = baro_header_start_realtime_ns(h);
    if (facts[fact].absent && !ret->u64 && (!ret->text || !*ret->text))
        *ret = (struct baro_value){.absent = BARO_ABSENT_UNKNOWN};
    return ret->absent;
}
