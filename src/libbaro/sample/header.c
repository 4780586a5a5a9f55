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
MEMBER(const char *, baro_header_version, version)
MEMBER(uint32_t, baro_header_segment, segment)
MEMBER(uint32_t, baro_header_thinned, thinned)
MEMBER(int64_t, baro_header_start_realtime_ns, start_realtime_ns)
MEMBER(uint32_t, baro_header_clock_ticks, clk_tck)
MEMBER(const char *, baro_header_host, host)
MEMBER(uint32_t, baro_header_cpus, cpus)
MEMBER(uint64_t, baro_header_memory_bytes, memory_total)
MEMBER(const char *, baro_header_name, name)
MEMBER(const char *, baro_header_job_id, job_id)

const char *const *baro_header_argv(const struct baro_header *h)
{
    static const char *const none[1];
    return h->argv ? (const char *const *)h->argv : none;
}

const char *const *baro_header_tags(const struct baro_header *h)
{
    static const char *const none[1];
    return h->tags ? (const char *const *)h->tags : none;
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
