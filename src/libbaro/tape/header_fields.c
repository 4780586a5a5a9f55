/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/tape/header_fields.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

/* Numbers never change; fields may be in any order. */
/* clang-format off */
enum field {
    FIELD_MODE = 1, FIELD_VERSION, FIELD_HOST, FIELD_KERNEL, FIELD_MACHINE, FIELD_BOOT_ID, FIELD_REALTIME,
    FIELD_MONOTONIC, FIELD_BOOTTIME, FIELD_INTERVAL, FIELD_OVERHEAD, FIELD_WANTED, FIELD_CLK_TCK, FIELD_CPUS,
    FIELD_PAGE_SIZE, FIELD_MEMORY_TOTAL, FIELD_UID, FIELD_ARG, FIELD_CWD, FIELD_EVENT_SOURCE, FIELD_EXIT_SOURCE,
    FIELD_TARGET, FIELD_JOB_ID, FIELD_STEP_ID, FIELD_RANK, FIELD_MEMORY_LIMIT, FIELD_MEMORY_SOURCE, FIELD_CORES_LIMIT,
    FIELD_CORES_SOURCE, FIELD_PIDS_LIMIT, FIELD_PIDS_SOURCE, FIELD_CPU_MODEL, FIELD_NUMA_NODES, FIELD_CGROUP_MODE,
    FIELD_MEMORY_ABSENT, FIELD_CORES_ABSENT, FIELD_PIDS_ABSENT,
    FIELD_RECORDER_PID, FIELD_RECORDER_START, FIELD_PID_NAMESPACE, FIELD_SEGMENT, FIELD_KEEP_NS,
    FIELD_KEEP_BYTES, FIELD_GROUP_USER, FIELD_GROUP_SYSTEM, FIELD_TASK_GROUP /* not used any more */, FIELD_NAME,
    FIELD_ID, FIELD_CONTAINER, FIELD_IMAGE, FIELD_POD, FIELD_POD_NAMESPACE, FIELD_UNIT, FIELD_TASK_RULES,
    FIELD_TAG, FIELD_RANKS, FIELD_LOCAL_RANK, FIELD_LOCAL_RANKS, FIELD_NODE,
    FIELD_RSS_PEAK = 60, FIELD_RSS_PEAK_AT, FIELD_RSS_PEAK_MEMBERS, FIELD_ATTEMPT, FIELD_STRETCH = 70,
    FIELD_THINNED,
};
/* clang-format on */

#define CLK_TCK_MOST 1000000u /* times are computed with it; Linux has 100, and 1024 on Alpha */

static void write_bytes(struct buf *out, enum field field, const char *at, size_t len)
{
    buf_varint(out, field);
    buf_varint(out, len);
    buf_add(out, at, len);
}

static void write_text(struct buf *out, enum field field, const char *text)
{
    if (text && text[0])
        write_bytes(out, field, text, strlen(text));
}

static void write_number(struct buf *out, enum field field, uint64_t v)
{
    char le[8];
    size_t len = 0;
    for (; v; v >>= 8)
        le[len++] = (char)(v & 0xff);
    write_bytes(out, field, le, len);
}

static void write_numbers(struct buf *out, const struct baro_header *h)
{
    write_number(out, FIELD_MODE, h->mode);
    write_number(out, FIELD_REALTIME, (uint64_t)h->start_realtime_ns);
    write_number(out, FIELD_MONOTONIC, h->start_monotonic_ns);
    write_number(out, FIELD_BOOTTIME, h->start_boottime_ns);
    write_number(out, FIELD_INTERVAL, h->interval_ns);
    write_number(out, FIELD_OVERHEAD, h->overhead_ppm);
    write_number(out, FIELD_WANTED, h->wanted); /* a bit set; a later version may have more than 64 bits */
    write_number(out, FIELD_CLK_TCK, h->clk_tck);
    write_number(out, FIELD_CPUS, h->cpus);
    write_number(out, FIELD_PAGE_SIZE, h->page_size);
    write_number(out, FIELD_MEMORY_TOTAL, h->memory_total);
    write_number(out, FIELD_UID, h->uid);
}

static void write_some(struct buf *out, enum field field, uint64_t v)
{
    if (v)
        write_number(out, field, v);
}

void limits_write(struct buf *out, const struct baro_limits *l)
{
    write_some(out, FIELD_MEMORY_LIMIT, l->memory_bytes);
    write_text(out, FIELD_MEMORY_SOURCE, l->memory_source);
    write_some(out, FIELD_CORES_LIMIT, l->cores_ppm);
    write_text(out, FIELD_CORES_SOURCE, l->cores_source);
    write_some(out, FIELD_PIDS_LIMIT, l->pids);
    write_text(out, FIELD_PIDS_SOURCE, l->pids_source);
    write_some(out, FIELD_MEMORY_ABSENT, l->memory_absent);
    write_some(out, FIELD_CORES_ABSENT, l->cores_absent);
    write_some(out, FIELD_PIDS_ABSENT, l->pids_absent);
}

static void write_machine(struct buf *out, const struct baro_header *h)
{
    limits_write(out, &h->limits);
    write_text(out, FIELD_CPU_MODEL, h->cpu_model);
    write_some(out, FIELD_NUMA_NODES, h->numa_nodes);
    write_text(out, FIELD_CGROUP_MODE, h->cgroup_mode);
}

static void write_recorder(struct buf *out, const struct baro_header *h)
{
    write_some(out, FIELD_RECORDER_PID, (uint32_t)h->recorder.pid);
    write_some(out, FIELD_RECORDER_START, h->recorder.start);
    write_some(out, FIELD_PID_NAMESPACE, h->pid_namespace);
    write_some(out, FIELD_SEGMENT, h->segment);
    write_some(out, FIELD_KEEP_NS, h->keep_ns);
    write_some(out, FIELD_KEEP_BYTES, h->keep_bytes);
    write_some(out, FIELD_STRETCH, h->is_stretch);
    write_some(out, FIELD_GROUP_USER, h->group_user_ns);
    write_some(out, FIELD_GROUP_SYSTEM, h->group_system_ns);
    write_some(out, FIELD_THINNED, h->thinned);
    write_some(out, FIELD_RSS_PEAK, h->peak.rss);
    write_some(out, FIELD_RSS_PEAK_AT, h->peak.t_ns);
    write_some(out, FIELD_RSS_PEAK_MEMBERS, h->peak.members);
}

void head_write(struct buf *out, const struct baro_header *h)
{
    write_numbers(out, h);
    write_machine(out, h);
    write_recorder(out, h);
    write_text(out, FIELD_VERSION, h->version);
    write_text(out, FIELD_HOST, h->host);
    write_text(out, FIELD_KERNEL, h->kernel);
    write_text(out, FIELD_MACHINE, h->machine);
    write_text(out, FIELD_BOOT_ID, h->boot_id);
    write_text(out, FIELD_EVENT_SOURCE, h->event_source);
    write_text(out, FIELD_EXIT_SOURCE, h->exit_source);
    write_text(out, FIELD_NAME, h->name);
    write_text(out, FIELD_ID, h->id);
    write_text(out, FIELD_CONTAINER, h->place.container);
    write_text(out, FIELD_IMAGE, h->place.image);
    write_text(out, FIELD_POD, h->place.pod);
    write_text(out, FIELD_POD_NAMESPACE, h->place.pod_namespace);
    write_text(out, FIELD_UNIT, h->place.unit);
    write_text(out, FIELD_JOB_ID, h->job_id);
    write_text(out, FIELD_STEP_ID, h->step_id);
    write_text(out, FIELD_RANK, h->rank);
    write_text(out, FIELD_LOCAL_RANK, h->local_rank);
    write_text(out, FIELD_NODE, h->node);
    write_some(out, FIELD_RANKS, h->ranks);
    write_some(out, FIELD_LOCAL_RANKS, h->local_ranks);
    write_some(out, FIELD_ATTEMPT, h->attempt);
    if (h->cwd)
        write_bytes(out, FIELD_CWD, h->cwd, strlen(h->cwd));
    if (h->task_rules)
        write_bytes(out, FIELD_TASK_RULES, h->task_rules, strlen(h->task_rules));
    for (char *const *arg = h->argv; arg && *arg; arg++)
        write_bytes(out, FIELD_ARG, *arg, strlen(*arg));
    for (char *const *tag = h->tags; tag && *tag; tag++)
        write_bytes(out, FIELD_TAG, *tag, strlen(*tag));
    for (size_t i = 0; i < h->n_targets; i++)
        write_number(out, FIELD_TARGET, (uint32_t)h->targets[i]);
}

static bool scan_field(struct span *in, uint64_t *ret_field, struct span *ret)
{
    uint64_t len;
    if (!scan_varint(in, ret_field) || !scan_varint(in, &len) || len > in->len)
        return false;
    *ret = span_of(in->at, (size_t)len);
    in->at += len;
    in->len -= (size_t)len;
    return true;
}

static uint64_t number_of(struct span v)
{
    uint64_t n = 0;
    for (size_t i = v.len < 8 ? v.len : 8; i > 0; i--)
        n = n << 8 | (unsigned char)v.at[i - 1];
    return n;
}

/* Copies a text; one that is too long for this struct (from a newer writer) is truncated. */
static void text_of(struct span v, char *ret, size_t size)
{
    size_t len = v.len < size - 1 ? v.len : size - 1;
    memcpy(ret, v.at, len);
    memset(ret + len, 0, size - len);
}

static bool take_number(uint64_t field, struct span v, struct baro_header *h)
{
    uint64_t n = number_of(v);
    switch (field) {
    case FIELD_MODE: h->mode = n == BARO_MODE_ATTACH ? BARO_MODE_ATTACH : BARO_MODE_RUN; return true;
    case FIELD_REALTIME: h->start_realtime_ns = (int64_t)n; return true;
    case FIELD_MONOTONIC: h->start_monotonic_ns = n; return true;
    case FIELD_BOOTTIME: h->start_boottime_ns = n; return true;
    case FIELD_INTERVAL: h->interval_ns = n; return true;
    case FIELD_OVERHEAD: h->overhead_ppm = n; return true;
    case FIELD_CLK_TCK: h->clk_tck = n <= CLK_TCK_MOST ? (uint32_t)n : 0; return true; /* 0: not known */
    case FIELD_CPUS: h->cpus = (uint32_t)n; return true;
    case FIELD_PAGE_SIZE: h->page_size = n; return true;
    case FIELD_MEMORY_TOTAL: h->memory_total = n; return true;
    case FIELD_NUMA_NODES: h->numa_nodes = (uint32_t)n; return true;
    case FIELD_UID: h->uid = (uint32_t)n; return true;
    case FIELD_RECORDER_PID: h->recorder.pid = n <= INT32_MAX ? (int32_t)n : 0; return true;
    case FIELD_RECORDER_START: h->recorder.start = n; return true;
    case FIELD_PID_NAMESPACE: h->pid_namespace = n; return true;
    case FIELD_SEGMENT: h->segment = (uint32_t)n; return true;
    case FIELD_KEEP_NS: h->keep_ns = n; return true;
    case FIELD_KEEP_BYTES: h->keep_bytes = n; return true;
    case FIELD_GROUP_USER: h->group_user_ns = n; return true;
    case FIELD_GROUP_SYSTEM: h->group_system_ns = n; return true;
    case FIELD_STRETCH: h->is_stretch = n; return true;
    case FIELD_RSS_PEAK: h->peak.rss = n; return true;
    case FIELD_RSS_PEAK_AT: h->peak.t_ns = n; return true;
    case FIELD_RSS_PEAK_MEMBERS: h->peak.members = n; return true;
    case FIELD_THINNED: h->thinned = n <= UINT32_MAX ? (uint32_t)n : UINT32_MAX; return true;
    case FIELD_RANKS: h->ranks = n <= UINT32_MAX ? (uint32_t)n : 0; return true;
    case FIELD_LOCAL_RANKS: h->local_ranks = n <= UINT32_MAX ? (uint32_t)n : 0; return true;
    case FIELD_ATTEMPT: h->attempt = n <= UINT32_MAX ? (uint32_t)n : 0; return true;
    default: return false;
    }
}

static bool take_text(uint64_t field, struct span v, struct baro_header *h)
{
    switch (field) {
    case FIELD_VERSION: text_of(v, h->version, sizeof h->version); return true;
    case FIELD_HOST: text_of(v, h->host, sizeof h->host); return true;
    case FIELD_KERNEL: text_of(v, h->kernel, sizeof h->kernel); return true;
    case FIELD_MACHINE: text_of(v, h->machine, sizeof h->machine); return true;
    case FIELD_BOOT_ID: text_of(v, h->boot_id, sizeof h->boot_id); return true;
    case FIELD_EVENT_SOURCE: text_of(v, h->event_source, sizeof h->event_source); return true;
    case FIELD_EXIT_SOURCE: text_of(v, h->exit_source, sizeof h->exit_source); return true;
    case FIELD_NAME: text_of(v, h->name, sizeof h->name); return true;
    case FIELD_ID: text_of(v, h->id, sizeof h->id); return true;
    case FIELD_CONTAINER: text_of(v, h->place.container, sizeof h->place.container); return true;
    case FIELD_IMAGE: text_of(v, h->place.image, sizeof h->place.image); return true;
    case FIELD_POD: text_of(v, h->place.pod, sizeof h->place.pod); return true;
    case FIELD_POD_NAMESPACE: text_of(v, h->place.pod_namespace, sizeof h->place.pod_namespace); return true;
    case FIELD_UNIT: text_of(v, h->place.unit, sizeof h->place.unit); return true;
    case FIELD_JOB_ID: text_of(v, h->job_id, sizeof h->job_id); return true;
    case FIELD_STEP_ID: text_of(v, h->step_id, sizeof h->step_id); return true;
    case FIELD_CPU_MODEL: text_of(v, h->cpu_model, sizeof h->cpu_model); return true;
    case FIELD_CGROUP_MODE: text_of(v, h->cgroup_mode, sizeof h->cgroup_mode); return true;
    case FIELD_RANK: text_of(v, h->rank, sizeof h->rank); return true;
    case FIELD_LOCAL_RANK: text_of(v, h->local_rank, sizeof h->local_rank); return true;
    case FIELD_NODE: text_of(v, h->node, sizeof h->node); return true;
    default: return false;
    }
}

static uint8_t reason_of(struct span v)
{
    uint64_t n = number_of(v);
    return n < ABSENT_COUNT ? (uint8_t)n : BARO_ABSENT_UNKNOWN;
}

static bool take_limit(uint64_t field, struct span v, struct baro_limits *l)
{
    switch (field) {
    case FIELD_MEMORY_LIMIT: l->memory_bytes = number_of(v); return true;
    case FIELD_CORES_LIMIT: l->cores_ppm = number_of(v); return true;
    case FIELD_PIDS_LIMIT: l->pids = number_of(v); return true;
    case FIELD_MEMORY_SOURCE: text_of(v, l->memory_source, sizeof l->memory_source); return true;
    case FIELD_CORES_SOURCE: text_of(v, l->cores_source, sizeof l->cores_source); return true;
    case FIELD_PIDS_SOURCE: text_of(v, l->pids_source, sizeof l->pids_source); return true;
    case FIELD_MEMORY_ABSENT: l->memory_absent = reason_of(v); return true;
    case FIELD_CORES_ABSENT: l->cores_absent = reason_of(v); return true;
    case FIELD_PIDS_ABSENT: l->pids_absent = reason_of(v); return true;
    default: return false;
    }
}

bool limits_scan(struct span in, struct baro_limits *ret)
{
    uint64_t field;
    struct span v;
    struct baro_limits l = {0};
    while (in.len > 0) {
        if (!scan_field(&in, &field, &v))
            return false;
        take_limit(field, v, &l);
    }
    *ret = l;
    return true;
}

/* How many elements of the lists were taken. */
struct taken {
    size_t args, tags;
};

static int take_list(uint64_t field, struct span v, struct baro_header *h, struct taken *taken)
{
    if (field == FIELD_TASK_RULES && !h->task_rules)
        return (h->task_rules = strndup(v.at, v.len)) ? 0 : -ENOMEM;
    if (field == FIELD_CWD && !h->cwd)
        return (h->cwd = strndup(v.at, v.len)) ? 0 : -ENOMEM;
    if (field == FIELD_ARG)
        return (h->argv[taken->args++] = strndup(v.at, v.len)) ? 0 : -ENOMEM;
    if (field == FIELD_TAG)
        return (h->tags[taken->tags++] = strndup(v.at, v.len)) ? 0 : -ENOMEM;
    if (field == FIELD_TARGET)
        h->targets[h->n_targets++] = (int32_t)number_of(v);
    return 0;
}

/* Counts the elements of lists and allocates the arrays. */
static int count_lists(struct span in, struct baro_header *h)
{
    uint64_t field;
    struct span v;
    size_t args = 0, targets = 0, tags = 0;
    while (in.len > 0) {
        if (!scan_field(&in, &field, &v))
            return BARO_E_CORRUPT;
        args += field == FIELD_ARG;
        tags += field == FIELD_TAG;
        targets += field == FIELD_TARGET;
    }
    h->argv = calloc(args + 1, sizeof *h->argv);
    h->tags = tags ? calloc(tags + 1, sizeof *h->tags) : NULL;
    h->targets = targets ? calloc(targets, sizeof *h->targets) : NULL;
    return h->argv && (h->targets || !targets) && (h->tags || !tags) ? 0 : -ENOMEM;
}

/* Computes an id for a tape before 0.1, which has none, from values that are the same in all segments and differ
 * between recordings. */
static void make_id(struct baro_header *h)
{
    struct buf b = {0};
    buf_str(&b, h->boot_id);
    buf_printf(&b, "|%llu|%llu|%lld", (unsigned long long)h->start_monotonic_ns,
               (unsigned long long)h->start_boottime_ns, (long long)h->start_realtime_ns);
    for (unsigned half = 0; half < 2 && !b.failed; half++) {
        uint64_t word = 0xcbf29ce484222325ull + half;
        for (size_t i = 0; i < b.len; i++)
            word = (word ^ b.at[i]) * 0x100000001b3ull;
        snprintf(h->id + 16 * half, 17, "%016llx", (unsigned long long)word);
    }
    buf_done(&b);
}

/* Is it an id? A malicious tape must not get another text into the name of a file. */
static bool is_id(const char *text)
{
    return strlen(text) == TAPE_ID_LEN && strspn(text, "0123456789abcdef") == TAPE_ID_LEN;
}

void head_new_id(struct baro_header *h)
{
    uint64_t word[2];
    random_fill(word, sizeof word);
    snprintf(h->id, sizeof h->id, "%016llx%016llx", (unsigned long long)word[0], (unsigned long long)word[1]);
}

int head_scan(struct span in, struct baro_header *ret, uint8_t ret_wanted[WANTED_SIZE])
{
    uint64_t field;
    struct span v;
    struct taken taken = {0};
    memset(ret, 0, sizeof *ret);
    memset(ret_wanted, 0, WANTED_SIZE);
    int r = count_lists(in, ret);
    while (r == 0 && scan_field(&in, &field, &v))
        if (field == FIELD_WANTED)
            memcpy(ret_wanted, v.at, v.len < WANTED_SIZE ? v.len : WANTED_SIZE);
        else if (!take_number(field, v, ret) && !take_text(field, v, ret) && !take_limit(field, v, &ret->limits))
            r = take_list(field, v, ret, &taken);
    if (!is_id(ret->id))
        make_id(ret);
    return r;
}

void head_done(struct baro_header *h)
{
    for (char **arg = h->argv; arg && *arg; arg++)
        free(*arg);
    for (char **tag = h->tags; tag && *tag; tag++)
        free(*tag);
    free(h->argv);
    free(h->tags);
    free(h->cwd);
    free(h->task_rules);
    free(h->targets);
    memset(h, 0, sizeof *h);
}
