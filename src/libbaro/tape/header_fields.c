/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/tape/header_fields.h"

#include <errno.h>
#include <stddef.h>
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

/* A number or a text of a header, or of its limits. */
struct member {
    enum field field;
    bool is_text, is_always; /* is_always: also written if it is 0 */
    size_t at, size;
    uint64_t most, other; /* of a number: a larger one is read as `other` */
};

#define IN(of, member) offsetof(struct of, member), sizeof(((struct of *)0)->member)
#define TEXT(field, member)                                                                                            \
    {                                                                                                                  \
        field, true, false, IN(baro_header, member), 0, 0                                                              \
    }
#define NUMBER(is_always, field, member, most)                                                                         \
    {                                                                                                                  \
        field, false, is_always, IN(baro_header, member), most, 0                                                      \
    }

/* clang-format off */
static const struct member members[] = {
    NUMBER(true, FIELD_MODE, mode, BARO_MODE_ATTACH),
    NUMBER(true, FIELD_REALTIME, start_realtime_ns, UINT64_MAX),
    NUMBER(true, FIELD_MONOTONIC, start_monotonic_ns, UINT64_MAX),
    NUMBER(true, FIELD_BOOTTIME, start_boottime_ns, UINT64_MAX),
    NUMBER(true, FIELD_INTERVAL, interval_ns, UINT64_MAX),
    NUMBER(true, FIELD_OVERHEAD, overhead_ppm, UINT64_MAX),
    NUMBER(true, FIELD_WANTED, wanted, UINT64_MAX), /* a bit set; a later version may have more than 64 bits */
    NUMBER(true, FIELD_CLK_TCK, clk_tck, CLK_TCK_MOST),
    NUMBER(true, FIELD_CPUS, cpus, UINT32_MAX),
    NUMBER(true, FIELD_PAGE_SIZE, page_size, UINT64_MAX),
    NUMBER(true, FIELD_MEMORY_TOTAL, memory_total, UINT64_MAX),
    NUMBER(true, FIELD_UID, uid, UINT32_MAX),
    TEXT(FIELD_CPU_MODEL, cpu_model),
    NUMBER(false, FIELD_NUMA_NODES, numa_nodes, UINT32_MAX),
    TEXT(FIELD_CGROUP_MODE, cgroup_mode),
    NUMBER(false, FIELD_RECORDER_PID, recorder.pid, INT32_MAX),
    NUMBER(false, FIELD_RECORDER_START, recorder.start, UINT64_MAX),
    NUMBER(false, FIELD_PID_NAMESPACE, pid_namespace, UINT64_MAX),
    NUMBER(false, FIELD_SEGMENT, segment, UINT32_MAX),
    NUMBER(false, FIELD_KEEP_NS, keep_ns, UINT64_MAX),
    NUMBER(false, FIELD_KEEP_BYTES, keep_bytes, UINT64_MAX),
    NUMBER(false, FIELD_STRETCH, is_stretch, 1),
    NUMBER(false, FIELD_GROUP_USER, group_user_ns, UINT64_MAX),
    NUMBER(false, FIELD_GROUP_SYSTEM, group_system_ns, UINT64_MAX),
    NUMBER(false, FIELD_THINNED, thinned, UINT32_MAX),
    NUMBER(false, FIELD_RSS_PEAK, peak.rss, UINT64_MAX),
    NUMBER(false, FIELD_RSS_PEAK_AT, peak.t_ns, UINT64_MAX),
    NUMBER(false, FIELD_RSS_PEAK_MEMBERS, peak.members, UINT64_MAX),
    TEXT(FIELD_VERSION, version),
    TEXT(FIELD_HOST, host),
    TEXT(FIELD_KERNEL, kernel),
    TEXT(FIELD_MACHINE, machine),
    TEXT(FIELD_BOOT_ID, boot_id),
    TEXT(FIELD_EVENT_SOURCE, event_source),
    TEXT(FIELD_EXIT_SOURCE, exit_source),
    TEXT(FIELD_NAME, name),
    TEXT(FIELD_ID, id),
    TEXT(FIELD_CONTAINER, place.container),
    TEXT(FIELD_IMAGE, place.image),
    TEXT(FIELD_POD, place.pod),
    TEXT(FIELD_POD_NAMESPACE, place.pod_namespace),
    TEXT(FIELD_UNIT, place.unit),
    TEXT(FIELD_JOB_ID, job_id),
    TEXT(FIELD_STEP_ID, step_id),
    TEXT(FIELD_RANK, rank),
    TEXT(FIELD_LOCAL_RANK, local_rank),
    TEXT(FIELD_NODE, node),
    NUMBER(false, FIELD_RANKS, ranks, UINT32_MAX),
    NUMBER(false, FIELD_LOCAL_RANKS, local_ranks, UINT32_MAX),
    NUMBER(false, FIELD_ATTEMPT, attempt, UINT32_MAX),
};
enum { MEMBERS = sizeof(members) / sizeof(*members) };

#define LIMIT(what, bound)                                                                                             \
    {FIELD_##what##_LIMIT, false, false, IN(baro_limits, bound), UINT64_MAX, 0}
#define LIMIT_SOURCE(what, bound)                                                                                      \
    {FIELD_##what##_SOURCE, true, false, IN(baro_limits, bound##_source), 0, 0}
#define LIMIT_ABSENT(what, bound)                                                                                      \
    {FIELD_##what##_ABSENT, false, false, IN(baro_limits, bound##_absent), ABSENT_COUNT - 1, BARO_ABSENT_UNKNOWN}
static const struct member limit_members[] = {
    LIMIT(MEMORY, memory_bytes), LIMIT_SOURCE(MEMORY, memory),
    LIMIT(CORES, cores_ppm), LIMIT_SOURCE(CORES, cores),
    LIMIT(PIDS, pids), LIMIT_SOURCE(PIDS, pids),
    LIMIT_ABSENT(MEMORY, memory), LIMIT_ABSENT(CORES, cores), LIMIT_ABSENT(PIDS, pids),
};
enum { LIMIT_MEMBERS = sizeof(limit_members) / sizeof(*limit_members) };
/* clang-format on */

static uint64_t number_at(const void *at, size_t size)
{
    return size == 8 ? *(const uint64_t *)at : size == 4 ? *(const uint32_t *)at : *(const uint8_t *)at;
}

static void set_number(void *at, size_t size, uint64_t v)
{
    if (size == 8)
        *(uint64_t *)at = v;
    else if (size == 4)
        *(uint32_t *)at = (uint32_t)v;
    else
        *(uint8_t *)at = (uint8_t)v;
}

static void write_member(struct buf *out, const struct member *m, const void *of)
{
    const void *at = (const char *)of + m->at;
    uint64_t v = m->is_text ? 0 : number_at(at, m->size);
    if (m->is_text)
        write_text(out, m->field, at);
    else if (v || m->is_always)
        write_number(out, m->field, v);
}

void limits_write(struct buf *out, const struct baro_limits *l)
{
    for (size_t i = 0; i < LIMIT_MEMBERS; i++)
        write_member(out, &limit_members[i], l);
}

void head_write(struct buf *out, const struct baro_header *h)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        if (members[i].field == FIELD_CPU_MODEL)
            limits_write(out, &h->limits);
        write_member(out, &members[i], h);
    }
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

/* Returns false if none of the members has this number. */
static bool take_member(const struct member *all, size_t n, uint64_t field, struct span v, void *of)
{
    size_t i = 0;
    while (i < n && all[i].field != field)
        i++;
    if (i == n)
        return false;
    void *at = (char *)of + all[i].at;
    uint64_t number = number_of(v);
    if (all[i].is_text)
        text_of(v, at, all[i].size);
    else
        set_number(at, all[i].size, number <= all[i].most ? number : all[i].other);
    return true;
}

bool limits_scan(struct span in, struct baro_limits *ret)
{
    uint64_t field;
    struct span v;
    struct baro_limits l = {0};
    while (in.len > 0) {
        if (!scan_field(&in, &field, &v))
            return false;
        take_member(limit_members, LIMIT_MEMBERS, field, v, &l);
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
        else if (!take_member(members, MEMBERS, field, v, ret) &&
                 !take_member(limit_members, LIMIT_MEMBERS, field, v, &ret->limits))
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
