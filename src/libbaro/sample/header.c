/* SPDX-License-Identifier: Apache-2.0 */
/* How readers query a header. include/baro/header.h has the rules. */
#include "libbaro/sample/sample.h"

enum baro_mode baro_header_mode(const struct baro_header *h)
{
    return h->mode;
}

const char *const *baro_header_argv(const struct baro_header *h)
{
    static const char *const none[1];
    return h->argv ? (const char *const *)h->argv : none;
}

const char *baro_header_cwd(const struct baro_header *h)
{
    return h->cwd ? h->cwd : "";
}

uint32_t baro_header_uid(const struct baro_header *h)
{
    return h->uid;
}

size_t baro_header_target_count(const struct baro_header *h)
{
    return h->n_targets;
}

int32_t baro_header_target(const struct baro_header *h, size_t i)
{
    return i < h->n_targets ? h->targets[i] : 0;
}

const char *baro_header_cgroup_mode(const struct baro_header *h)
{
    return h->cgroup_mode;
}

const char *baro_header_version(const struct baro_header *h)
{
    return h->version;
}

uint64_t baro_header_interval_ns(const struct baro_header *h)
{
    return h->interval_ns;
}

uint64_t baro_header_overhead_ppm(const struct baro_header *h)
{
    return h->overhead_ppm;
}

bool baro_header_wants(const struct baro_header *h, int metric)
{
    return metric >= 0 && metric < PROCESS_MAX && (h->wanted >> metric & 1);
}

int32_t baro_header_recorder_pid(const struct baro_header *h)
{
    return h->recorder.pid;
}

uint64_t baro_header_recorder_start_ticks(const struct baro_header *h)
{
    return h->recorder.start;
}

uint32_t baro_header_segment(const struct baro_header *h)
{
    return h->segment;
}

bool baro_header_has_start(const struct baro_header *h)
{
    return h->mode == BARO_MODE_RUN && h->segment <= 1;
}

uint64_t baro_header_keep_ns(const struct baro_header *h)
{
    return h->keep_ns;
}

uint64_t baro_header_keep_bytes(const struct baro_header *h)
{
    return h->keep_bytes;
}

const char *baro_header_event_source(const struct baro_header *h)
{
    return h->event_source;
}

const char *baro_header_exit_source(const struct baro_header *h)
{
    return h->exit_source;
}

int64_t baro_header_start_realtime_ns(const struct baro_header *h)
{
    return h->start_realtime_ns;
}

/* In unsigned arithmetic: the header of a damaged tape may hold any number. */
int64_t baro_header_realtime_ns(const struct baro_header *h, uint64_t t_ns)
{
    return (int64_t)((uint64_t)h->start_realtime_ns + t_ns);
}

uint64_t baro_header_start_monotonic_ns(const struct baro_header *h)
{
    return h->start_monotonic_ns;
}

uint64_t baro_header_start_boottime_ns(const struct baro_header *h)
{
    return h->start_boottime_ns;
}

const char *baro_header_boot_id(const struct baro_header *h)
{
    return h->boot_id;
}

uint32_t baro_header_clock_ticks(const struct baro_header *h)
{
    return h->clk_tck;
}

const char *baro_header_host(const struct baro_header *h)
{
    return h->host;
}

const char *baro_header_kernel(const struct baro_header *h)
{
    return h->kernel;
}

const char *baro_header_machine(const struct baro_header *h)
{
    return h->machine;
}

const char *baro_header_cpu_model(const struct baro_header *h)
{
    return h->cpu_model;
}

uint32_t baro_header_cpus(const struct baro_header *h)
{
    return h->cpus;
}

uint32_t baro_header_numa_nodes(const struct baro_header *h)
{
    return h->numa_nodes;
}

uint64_t baro_header_page_bytes(const struct baro_header *h)
{
    return h->page_size;
}

uint64_t baro_header_memory_bytes(const struct baro_header *h)
{
    return h->memory_total;
}

const char *baro_header_name(const struct baro_header *h)
{
    return h->name;
}

const char *baro_header_job_id(const struct baro_header *h)
{
    return h->job_id;
}

const char *baro_header_step_id(const struct baro_header *h)
{
    return h->step_id;
}

const char *baro_header_rank(const struct baro_header *h)
{
    return h->rank;
}
