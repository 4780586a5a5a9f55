/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of a phase: their names, and how they are computed. include/baro/timeline.h has the rules. */
#include <string.h>

#include "base/fmt.h"
#include "libbaro/summary/facts.h"
#include "libbaro/timeline/timeline.h"

enum getter {
    GET_WALL,
    GET_SAMPLES,
    GET_COUNTER,
    GET_DELAY,
    GET_SWITCHES,
    GET_CORES_MEAN,
    GET_CORES_PEAK,
    GET_PEAK,
    GET_RSS
};

#define OF_PHASE(name, type, unit, semantics, trend, help) FACT_ROW(-1, name, type, unit, semantics, trend, true, help)
#define COUNTER(name, unit, trend, of, help)                                                                           \
    {                                                                                                                  \
        OF_PHASE(name, UNSIGNED, unit, SUM, trend, help), GET_COUNTER, of                                              \
    }
#define PEAK(name, unit, trend, of, help)                                                                              \
    {                                                                                                                  \
        OF_PHASE(name, UNSIGNED, unit, PEAK, trend, help), GET_PEAK, of                                                \
    }

static const struct {
    struct baro_fact fact;
    enum getter get;
    int of;
} facts[] = {
    {OF_PHASE("wall_ns", UNSIGNED, NS, SUM, WORSE, "from its begin to its end; of an open one so far"), GET_WALL, 0},
    {OF_PHASE("samples", UNSIGNED, NONE, SUM, NONE, "samples during the phase"), GET_SAMPLES, 0},
    COUNTER("cpu_ns", NS, WORSE, FOLD_CPU, "CPU time of the job"),
    COUNTER("cpu_user_ns", NS, WORSE, FOLD_CPU_USER, "the part of cpu_ns in user mode"),
    COUNTER("cpu_system_ns", NS, WORSE, FOLD_CPU_SYSTEM, "the part of cpu_ns in the kernel"),
    {OF_PHASE("cores_mean", REAL, NONE, MEAN, NONE, "cpu_ns / wall_ns"), GET_CORES_MEAN, FOLD_CPU},
    {OF_PHASE("cores_peak", REAL, NONE, PEAK, NONE,
              "largest growth of cpu_ns per second between two samples of the phase at least 100 ms apart; at least "
              "cores_mean"),
     GET_CORES_PEAK, FOLD_CPU},
    {OF_PHASE("run_delay_ns", UNSIGNED, NS, SUM, WORSE,
              "time in which threads could run and waited for a CPU; absent where it was not read for half of cpu_ns "
              "or more"),
     GET_DELAY, FOLD_RUN_DELAY},
    {OF_PHASE("switches_voluntary", UNSIGNED, NONE, SUM, WORSE,
              "context switches of threads that waited; an estimate: they are read once in one to ten seconds"),
     GET_SWITCHES, FOLD_SWITCHES},
    {OF_PHASE("switches_involuntary", UNSIGNED, NONE, SUM, WORSE,
              "context switches of threads that had to leave a CPU; an estimate as well"),
     GET_SWITCHES, FOLD_SWITCHES_INVOLUNTARY},
    {OF_PHASE(
         "rss_peak_bytes", UNSIGNED, BYTES, PEAK, WORSE,
         "largest sum of rss at one sample; or the high-water mark of a process that began and ended in the phase, if "
         "that is more"),
     GET_RSS, FOLD_RSS},
    PEAK("pss_peak_bytes", BYTES, WORSE, FOLD_PSS, "largest sum of pss at one sample; shared pages count once"),
    PEAK("uss_peak_bytes", BYTES, WORSE, FOLD_USS, "largest sum of uss at one sample"),
    PEAK("swap_peak_bytes", BYTES, WORSE, FOLD_SWAP, "largest sum of swapped memory at one sample"),
    COUNTER("io_read_bytes", BYTES, WORSE, FOLD_READ, "bytes fetched from storage, by the kernel's count"),
    COUNTER("io_write_bytes", BYTES, WORSE, FOLD_WRITTEN, "bytes sent to storage, by the kernel's count"),
    COUNTER("io_rchar_bytes", BYTES, WORSE, FOLD_RCHAR, "bytes returned by read(2) and the like"),
    COUNTER("io_wchar_bytes", BYTES, WORSE, FOLD_WCHAR, "bytes passed to write(2) and the like"),
    COUNTER("faults_minor", NONE, WORSE, FOLD_FAULTS_MINOR, "page faults without I/O"),
    COUNTER("faults_major", NONE, WORSE, FOLD_FAULTS, "page faults with I/O"),
    PEAK("threads_peak", NONE, NONE, FOLD_THREADS, "most threads at one sample"),
    PEAK("fds_peak", NONE, NONE, FOLD_FDS, "most open file descriptors at one sample"),
    PEAK("processes_peak", NONE, NONE, FOLD_PROCESSES, "most processes at one sample"),
    COUNTER("processes_started", NONE, NONE, FOLD_STARTED, "processes that began"),
    COUNTER("processes_ended", NONE, NONE, FOLD_ENDED, "processes that ended"),
    COUNTER("throttled_ns", NS, WORSE, FOLD_THROTTLED,
            "for how long a CPU quota held back the control group of the job that it held back most"),
    COUNTER("host_cpu_busy_ns", NS, NONE, FOLD_HOST_BUSY, "CPU time in which the machine's CPUs ran something"),
    COUNTER("host_pressure_cpu_some_ns", NS, WORSE, FOLD_HOST_CPU_SOME,
            "time in which some thread of the machine waited for a CPU"),
    COUNTER("host_pressure_memory_some_ns", NS, WORSE, FOLD_HOST_MEMORY,
            "time in which some thread of the machine waited for memory"),
    COUNTER("host_pressure_io_some_ns", NS, WORSE, FOLD_HOST_IO,
            "time in which some thread of the machine waited for I/O"),
    COUNTER("host_swap_in_bytes", BYTES, WORSE, FOLD_SWAP_IN, "bytes that the machine read from swap"),
    COUNTER("host_swap_out_bytes", BYTES, WORSE, FOLD_SWAP_OUT, "bytes that the machine wrote to swap"),
};
#define FACTS ((int)(sizeof(facts) / sizeof(*facts)))

int baro_timeline_fact_count(void)
{
    return FACTS;
}

const struct baro_fact *baro_timeline_fact(int fact)
{
    return fact >= 0 && fact < FACTS ? &facts[fact].fact : NULL;
}

int baro_timeline_fact_find(const char *name)
{
    for (int i = 0; i < FACTS; i++) {
        if (strcmp(facts[i].fact.name, name) == 0)
            return i;
    }
    return -1;
}

/* Does more than a twentieth of the time lie in no interval between two samples? */
static bool is_partly(const struct fold_window *u, int counter, uint64_t wall_ns)
{
    uint64_t covered_ns = u->covered_ns[counter >= FOLD_OF_MACHINE];
    return covered_ns < wall_ns - wall_ns / 20;
}

static void get_counter(const struct fold_window *u, int counter, uint64_t wall_ns, struct baro_value *ret)
{
    int absent = u->counted[counter] ? BARO_PRESENT : u->missing[counter] ? u->missing[counter] : BARO_ABSENT_NOT_YET;
    value_u64(ret, absent, whole_of(u->grown[counter] + 0.5));
    value_flag(ret, BARO_VALUE_LOWER_BOUND, u->missing[counter] || is_partly(u, counter, wall_ns));
    value_flag(ret, BARO_VALUE_ESTIMATE, u->error[counter] > u->grown[counter] / 20);
}

/* Computes the run delay of a phase, and how exact it is. Example: the phase used 2 s of CPU time. If run delay was
 * read for 1.2 s of that, it is a lower bound; if for only 0.8 s, it is absent; if for 2.4 s, some of it belongs to
 * the time before. On a tape that does not say for how much it was read, it is a lower bound. */
static void get_delay(const struct fold_window *u, uint64_t wall_ns, struct baro_value *ret)
{
    double cpu = u->grown[FOLD_CPU], read = u->grown[FOLD_DELAY_CPU];
    get_counter(u, FOLD_RUN_DELAY, wall_ns, ret);
    if (ret->absent)
        return;
    value_flag(ret, BARO_VALUE_LOWER_BOUND, true);
    value_flag(ret, BARO_VALUE_ESTIMATE, u->counted[FOLD_DELAY_CPU] && read > cpu + cpu / 20);
    if (u->counted[FOLD_DELAY_CPU] && cpu > 0 && read <= cpu / 2)
        *ret = (struct baro_value){.absent = BARO_ABSENT_UNKNOWN};
}

static void get_switches(const struct fold_window *u, int counter, uint64_t wall_ns, struct baro_value *ret)
{
    get_counter(u, counter, wall_ns, ret);
    value_flag(ret, BARO_VALUE_ESTIMATE, !ret->absent);
}

static void get_cores_mean(const struct fold_window *u, uint64_t wall_ns, struct baro_value *ret)
{
    struct baro_value cpu = {0};
    get_counter(u, FOLD_CPU, wall_ns, &cpu);
    value_real(ret, wall_ns || cpu.absent ? cpu.absent : BARO_ABSENT_UNKNOWN,
               wall_ns ? u->grown[FOLD_CPU] / (double)wall_ns : 0);
    ret->flags = ret->absent ? 0 : cpu.flags;
}

static void get_cores_peak(const struct fold_window *u, uint64_t wall_ns, struct baro_value *ret)
{
    get_cores_mean(u, wall_ns, ret);
    if (ret->absent || !u->cores.found || u->cores.rate / 1e9 <= ret->real)
        return;
    *ret = (struct baro_value){.real = u->cores.rate / 1e9};
}

static void get_peak(const struct fold_window *u, int gauge, struct baro_value *ret)
{
    const struct window_peak *p = &u->peak[gauge - FOLD_RSS], *edge = &u->edge[gauge - FOLD_RSS];
    bool by_edge = p->absent == BARO_ABSENT_NOT_YET && edge->absent == BARO_PRESENT;
    p = by_edge ? edge : p;
    value_u64(ret, p->absent, p->value);
    /* The peak may have been higher between two samples: the kernel has no high-water mark for a phase. */
    value_flag(ret, BARO_VALUE_LOWER_BOUND, !ret->absent);
    value_flag(ret, BARO_VALUE_ESTIMATE, p->is_stale || by_edge);
}

static void get_rss(const struct fold_window *u, struct baro_value *ret)
{
    get_peak(u, FOLD_RSS, ret);
    if (u->process_rss <= (ret->absent ? 0 : ret->u64))
        return;
    *ret = (struct baro_value){.u64 = u->process_rss, .flags = BARO_VALUE_LOWER_BOUND};
}

int phase_value(const struct fold_window *u, uint64_t wall_ns, int fact, struct baro_value *ret)
{
    switch (facts[fact].get) {
    case GET_WALL: value_u64(ret, BARO_PRESENT, wall_ns); break;
    case GET_SAMPLES: value_u64(ret, BARO_PRESENT, u->samples); break;
    case GET_COUNTER: get_counter(u, facts[fact].of, wall_ns, ret); break;
    case GET_DELAY: get_delay(u, wall_ns, ret); break;
    case GET_SWITCHES: get_switches(u, facts[fact].of, wall_ns, ret); break;
    case GET_CORES_MEAN: get_cores_mean(u, wall_ns, ret); break;
    case GET_CORES_PEAK: get_cores_peak(u, wall_ns, ret); break;
    case GET_PEAK: get_peak(u, facts[fact].of, ret); break;
    case GET_RSS: get_rss(u, ret); break;
    }
    return ret->absent;
}
