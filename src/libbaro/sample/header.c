/* SPDX-License-Identifier: Apache-2.0 */
/* How readers query a header. include/baro/header.h has the rules. */
#include "libbaro/sample/sample.h"

#define MEMBER(type, function, member)                                                                                 \
    type function(const struct baro_header *h)                                                                         \
    {                                                                                                                  \
        return h->member;                                                                                              \
    }
MEMBER(enum baro_mode, baro_header_mode, mode)
MEMBER(uint32_t, baro_header_uid, uid)
MEMBER(size_t, baro_header_target_count, n_targets)
MEMBER(const char *, baro_header_cgroup_mode, cgroup_mode)
MEMBER(const char *, baro_header_version, version)
MEMBER(uint64_t, baro_header_interval_ns, interval_ns)
MEMBER(uint64_t, baro_header_overhead_ppm, overhead_ppm)
MEMBER(int32_t, baro_header_recorder_pid, recorder.pid)
MEMBER(uint64_t, baro_header_recorder_start_ticks, recorder.start)
MEMBER(uint32_t, baro_header_segment, segment)
MEMBER(uint64_t, baro_header_keep_ns, keep_ns)
MEMBER(uint64_t, baro_header_keep_bytes, keep_bytes)
MEMBER(const char *, baro_header_event_source, event_source)
MEMBER(const char *, baro_header_exit_source, exit_source)
MEMBER(int64_t, baro_header_start_realtime_ns, start_realtime_ns)
MEMBER(uint64_t, baro_header_start_monotonic_ns, start_monotonic_ns)
MEMBER(uint64_t, baro_header_start_boottime_ns, start_boottime_ns)
MEMBER(const char *, baro_header_boot_id, boot_id)
MEMBER(uint32_t, baro_header_clock_ticks, clk_tck)
MEMBER(const char *, baro_header_host, host)
MEMBER(const char *, baro_header_kernel, kernel)
MEMBER(const char *, baro_header_machine, machine)
MEMBER(const char *, baro_header_cpu_model, cpu_model)
MEMBER(uint32_t, baro_header_cpus, cpus)
MEMBER(uint32_t, baro_header_numa_nodes, numa_nodes)
MEMBER(uint64_t, baro_header_page_bytes, page_size)
MEMBER(uint64_t, baro_header_memory_bytes, memory_total)
MEMBER(const char *, baro_header_name, name)
MEMBER(const char *, baro_header_job_id, job_id)
MEMBER(const char *, baro_header_step_id, step_id)
MEMBER(const char *, baro_header_rank, rank)

const char *const *baro_header_argv(const struct baro_header *h)
{
    static const char *const none[1];
    return h->argv ? (const char *const *)h->argv : none;
}

const char *baro_header_cwd(const struct baro_header *h)
{
    return h->cwd ? h->cwd : "";
}

int32_t baro_header_target(const struct baro_header *h, size_t i)
{
    return i < h->n_targets ? h->targets[i] : 0;
}

bool baro_header_wants(const struct baro_header *h, int metric)
{
    return metric >= 0 && metric < PROCESS_MAX && (h->wanted >> metric & 1);
}

bool baro_header_has_start(const struct baro_header *h)
{
    return h->mode == BARO_MODE_RUN && h->segment <= 1;
}

/* In unsigned arithmetic: the header of a damaged tape may hold any number. */
int64_t baro_header_realtime_ns(const struct baro_header *h, uint64_t t_ns)
{
    return (int64_t)((uint64_t)h->start_realtime_ns + t_ns);
}
