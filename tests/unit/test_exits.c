/* SPDX-License-Identifier: Apache-2.0 */
/* The parsers of event sources, over bytes made by hand from the kernel's headers, whole and cut at every byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"
#include "kernel/events/connector_parse.h"
#include "kernel/events/thread_groups.h"
#include "kernel/events/netlink.h"
#include "kernel/events/perf_parse.h"
#include "kernel/events/perf_ring.h"
#include "kernel/events/policy.h"
#include "kernel/events/taskstats_parse.h"

static void le16(struct buf *b, uint16_t v)
{
    buf_add(b, &v, sizeof(v));
}

static void le32(struct buf *b, uint32_t v)
{
    buf_add(b, &v, sizeof(v));
}

static void le64(struct buf *b, uint64_t v)
{
    buf_add(b, &v, sizeof(v));
}

static void set(struct buf *b, size_t at, const void *v, size_t len)
{
    assert_true(at + len <= b->len);
    memcpy(b->at + at, v, len);
}

/* A copy that ends where the bytes end, so that a sanitizer sees every read behind them. */
static struct span cut(const struct buf *b, size_t len, void **ret_owner)
{
    *ret_owner = malloc(len ? len : 1);
    memcpy(*ret_owner, b->at, len);
    return span_of(*ret_owner, len);
}

/* ---- netlink ---- */

static void messages_and_attributes(void **state)
{
    (void)state;
    struct buf b = {0};
    /* a message of 21 bytes, padded to 24, then one of 16 */
    le32(&b, 21), le16(&b, 7), le16(&b, 0), le32(&b, 1), le32(&b, 0), buf_add(&b, "abcde\0\0\0", 8);
    le32(&b, 16), le16(&b, 8), le16(&b, 0), le32(&b, 2), le32(&b, 0);
    for (size_t len = 0; len <= b.len; len++) {
        void *owner;
        struct span s = cut(&b, len, &owner);
        struct netlink_message m;
        int n = 0;
        while (netlink_next(&s, &m)) {
            assert_int_equal(m.type, n ? 8 : 7);
            assert_int_equal(m.payload.len, n ? 0 : 5);
            n++;
        }
        assert_int_equal(n, len >= 40 ? 2 : len >= 21 ? 1 : 0);
        free(owner);
    }
    buf_clear(&b);
    le16(&b, 7), le16(&b, 0x8003), buf_add(&b, "xyz\0", 4); /* NLA_F_NESTED is no part of the type */
    le16(&b, 3), le16(&b, 1);                               /* shorter than its own head */
    struct span s = span_of(b.at, b.len), value;
    uint16_t type;
    assert_true(netlink_attribute(&s, &type, &value));
    assert_int_equal(type, 3);
    assert_int_equal(value.len, 3);
    assert_false(netlink_attribute(&s, &type, &value));
    buf_done(&b);
}

/* ---- connector ---- */

static void connector_head(struct buf *b, uint32_t body, uint32_t what)
{
    buf_clear(b);
    le32(b, 1), le32(b, 1), le32(b, 5), le32(b, 78), le16(b, (uint16_t)(16 + body)), le16(b, 0);
    le32(b, what), le32(b, 3), le64(b, 123456789);
}

static void connector_cut(const struct buf *b)
{
    for (size_t len = 0; len < b->len; len++) {
        void *owner;
        struct span s = cut(b, len, &owner);
        struct connector_event e = {.cpu = 99};
        assert_int_equal(connector_parse(s, &e), BARO_E_SYNTAX);
        assert_int_equal(e.cpu, 99); /* untouched */
        free(owner);
    }
}

static void connector_fork(void **state)
{
    (void)state;
    struct buf b = {0};
    struct connector_event e;
    connector_head(&b, 24, 1);
    le32(&b, 11), le32(&b, 10), le32(&b, 21), le32(&b, 20), le32(&b, 0), le32(&b, 0);
    assert_int_equal(connector_parse(span_of(b.at, b.len), &e), 0);
    assert_int_equal(e.what, CONNECTOR_FORK);
    assert_int_equal(e.parent_tgid, 10);
    assert_int_equal(e.tid, 21);
    assert_int_equal(e.tgid, 20);
    assert_int_equal(e.cpu, 3);
    assert_int_equal(e.seq, 5);
    assert_int_equal(e.t_ns, 123456789);
    connector_cut(&b);
    buf_done(&b);
}

static void connector_exit_exec_comm_ack(void **state)
{
    (void)state;
    struct buf b = {0};
    struct connector_event e;
    connector_head(&b, 24, 0x80000000u);
    le32(&b, 21), le32(&b, 20), le32(&b, 0x8b), le32(&b, 17), le32(&b, 1), le32(&b, 1);
    assert_int_equal(connector_parse(span_of(b.at, b.len), &e), 0);
    assert_int_equal(e.what, CONNECTOR_EXIT);
    assert_int_equal(e.tid, 21);
    assert_int_equal(e.tgid, 20);
    assert_int_equal(e.status, 0x8b);
    connector_cut(&b);
    connector_head(&b, 24, 2);
    le32(&b, 20), le32(&b, 20), le64(&b, 0), le64(&b, 0);
    assert_int_equal(connector_parse(span_of(b.at, b.len), &e), 0);
    assert_int_equal(e.what, CONNECTOR_EXEC);
    connector_head(&b, 24, 0x200);
    le32(&b, 20), le32(&b, 20), buf_add(&b, ") S 1 1\n0123456\xff", 16);
    assert_int_equal(connector_parse(span_of(b.at, b.len), &e), 0);
    assert_int_equal(e.what, CONNECTOR_COMM);
    assert_memory_equal(e.comm, ") S 1 1\n0123456\xff", 16);
    connector_cut(&b);
    connector_head(&b, 24, 0);
    le32(&b, 1), le32(&b, 0), le64(&b, 0), le64(&b, 0);
    assert_int_equal(connector_parse(span_of(b.at, b.len), &e), 0);
    assert_int_equal(e.what, CONNECTOR_ACK);
    assert_int_equal(e.status, 1);
    assert_int_equal(e.ack, 78);
    connector_head(&b, 24, 0x40); /* PROC_EVENT_GID */
    le64(&b, 0), le64(&b, 0), le64(&b, 0);
    assert_int_equal(connector_parse(span_of(b.at, b.len), &e), 0);
    assert_int_equal(e.what, CONNECTOR_OTHER);
    buf_done(&b);
}

static void connector_with_wrong_lengths(void **state)
{
    (void)state;
    struct buf b = {0};
    struct connector_event e;
    connector_head(&b, 8, 1); /* a fork with half a body */
    le64(&b, 1);
    assert_int_equal(connector_parse(span_of(b.at, b.len), &e), BARO_E_SYNTAX);
    connector_head(&b, 4, 0x200); /* a name without one */
    le32(&b, 20);
    assert_int_equal(connector_parse(span_of(b.at, b.len), &e), BARO_E_SYNTAX);
    uint32_t other = 2;
    connector_head(&b, 24, 2);
    le64(&b, 0), le64(&b, 0), le64(&b, 0);
    set(&b, 0, &other, 4); /* of another subsystem */
    assert_int_equal(connector_parse(span_of(b.at, b.len), &e), BARO_E_SYNTAX);
    buf_done(&b);
}

/* ---- groups ---- */

static void groups_end_with_their_last_thread(void **state)
{
    (void)state;
    struct groups g = {0};
    bool known;
    uint32_t status;
    assert_true(groups_end(&g, 10, true, 256, &known, &status)); /* no threads */
    assert_true(known);
    assert_int_equal(status, 256);
    groups_thread(&g, 20);
    groups_thread(&g, 20);
    assert_false(groups_end(&g, 20, false, 0, &known, &status));
    assert_false(groups_end(&g, 20, true, 0, &known, &status)); /* the first thread, and one is still alive */
    assert_true(groups_end(&g, 20, false, 0, &known, &status));
    assert_true(known);
    assert_int_equal(g.n, 0);
    groups_thread(&g, 30);
    assert_false(groups_end(&g, 30, true, 0, &known, &status));
    assert_true(groups_end(&g, 30, false, 768, &known, &status));
    assert_false(known); /* exit_group(3), or the end of one thread: the event does not say */
    groups_thread(&g, 40);
    assert_false(groups_end(&g, 40, true, 9, &known, &status)); /* another thread executes a program ... */
    groups_process(&g, 40);                                     /* ... and is the process now */
    assert_true(groups_end(&g, 40, true, 0, &known, &status));
    assert_false(groups_end(&g, 50, false, 0, &known, &status)); /* a thread from before the connector was opened */
    groups_done(&g);
}

static void groups_are_bounded(void **state)
{
    (void)state;
    struct groups g = {0};
    bool known;
    uint32_t status;
    for (int32_t pid = 1; pid <= 2 * (int32_t)GROUPS_SLOTS; pid++)
        groups_thread(&g, pid);
    size_t n = g.n;
    assert_true(n < GROUPS_SLOTS);
    size_t deferred = 0;
    for (int32_t pid = 1; pid <= 2 * (int32_t)GROUPS_SLOTS; pid++)
        deferred += !groups_end(&g, pid, true, 0, &known, &status);
    assert_int_equal(deferred, n);
    for (int32_t pid = 1; pid <= 2 * (int32_t)GROUPS_SLOTS; pid++)
        deferred -= groups_end(&g, pid, false, 0, &known, &status);
    assert_int_equal(deferred, 0);
    assert_int_equal(g.n, 0);
    groups_thread(&g, 5);
    groups_clear(&g);
    assert_true(groups_end(&g, 5, true, 0, &known, &status));
    groups_done(&g);
}

/* ---- taskstats ---- */

/* struct taskstats with distinct values in the fields that are read. shift: as version 15 moved them. */
static void stats_make(struct buf *b, uint16_t version, size_t len, size_t shift, uint32_t pid, uint32_t tgid,
                       uint8_t flag)
{
    static const struct {
        size_t at;
        uint64_t value;
    } fields[] = {{72, 1000001}, {272, 1},   {144, 2000}, {152, 3000}, {160, 4000}, {168, 55},
                  {176, 6},      {200, 700}, {216, 1024}, {224, 2048}, {248, 4096}, {256, 8192}};
    uint64_t delays[] = {3, 333};
    uint32_t status = 256, uid = 1000;
    buf_clear(b);
    for (size_t i = 0; i < len; i++)
        buf_byte(b, 0);
    set(b, 0, &version, 2);
    set(b, 4, &status, 4);
    set(b, 8, &flag, 1);
    set(b, 16, delays, 16);
    set(b, 80 + shift, "cc1", 4);
    set(b, 120 + shift, &uid, 4);
    set(b, 128 + shift, &pid, 4);
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        set(b, fields[i].at + shift, &fields[i].value, 8);
    if (version < 12)
        return;
    uint64_t elapsed = 9000;
    set(b, 368 + 2 * shift, &tgid, 4);
    set(b, 376 + 2 * shift, &elapsed, 8);
}

static void aggregate(struct buf *b, uint16_t type, uint16_t id_type, uint32_t id, const struct buf *stats)
{
    size_t head = b->len;
    le16(b, 0), le16(b, type);
    le16(b, 8), le16(b, id_type), le32(b, id);
    le16(b, 4), le16(b, 0); /* padding, as the kernel puts it where 64-bit loads want it */
    le16(b, (uint16_t)(4 + stats->len)), le16(b, 3), buf_add(b, stats->at, stats->len);
    uint16_t len = (uint16_t)(b->len - head);
    set(b, head, &len, 2);
}

static void message(struct buf *b, uint32_t pid, const struct buf *stats)
{
    buf_clear(b);
    buf_byte(b, 2), buf_byte(b, 1), le16(b, 0);
    aggregate(b, 4, 1, pid, stats);
}

static void taskstats_check(const struct taskstats_record *r)
{
    assert_int_equal(r->pid, 21);
    assert_int_equal(r->uid, 1000);
    assert_int_equal(r->status, 256);
    assert_string_equal(r->comm, "cc1");
    assert_int_equal(r->usage.cpu_ns, 1000001);
    assert_int_equal(r->usage.user_ns, 3000000);
    assert_int_equal(r->usage.system_ns, 4000000);
    assert_int_equal(r->usage.faults_minor, 55);
    assert_int_equal(r->usage.faults_major, 6);
    assert_int_equal(r->usage.rss_peak_bytes, 700 * 1024);
    assert_int_equal(r->usage.io_rchar, 1024);
    assert_int_equal(r->usage.io_wchar, 2048);
    assert_int_equal(r->usage.io_read, 4096);
    assert_int_equal(r->usage.io_write, 8192);
    assert_int_equal(r->usage.run_delay_ns, 333);
    assert_int_equal(r->usage.delays, 3);
}

/* For a thread that never slept the kernel's exact sum is better than what its scheduler has counted so far. */
static void cpu_of_one_that_never_slept(void **state)
{
    (void)state;
    struct buf b = {0}, stats = {0};
    struct taskstats_record r;
    uint64_t none = 0, counted = 5000000;
    stats_make(&stats, 14, 432, 0, 21, 20, 0x20);
    set(&stats, 272, &none, 8);
    message(&b, 21, &stats);
    assert_int_equal(taskstats_parse(span_of(b.at, b.len), &r), 0);
    assert_int_equal(r.usage.cpu_ns, 2000000 - 333);                  /* lifetime minus waiting time */
    assert_int_equal(r.usage.cpu_unsure_ns, 2000000 - 333 - 1000001); /* less what was counted */
    set(&stats, 72, &counted, 8);
    message(&b, 21, &stats);
    assert_int_equal(taskstats_parse(span_of(b.at, b.len), &r), 0);
    assert_int_equal(r.usage.cpu_ns, counted);
    uint64_t lived_us = 50000; /* most of which another virtual machine took */
    set(&stats, 144, &lived_us, 8);
    message(&b, 21, &stats);
    assert_int_equal(taskstats_parse(span_of(b.at, b.len), &r), 0);
    assert_int_equal(r.usage.cpu_ns, counted + 10000000);
    assert_int_equal(r.usage.cpu_unsure_ns, 10000000);
    lived_us = 400000;
    set(&stats, 144, &lived_us, 8);
    message(&b, 21, &stats);
    assert_int_equal(taskstats_parse(span_of(b.at, b.len), &r), 0);
    assert_int_equal(r.usage.cpu_ns, counted);
    assert_int_equal(r.usage.cpu_unsure_ns, 0);
    buf_done(&b);
    buf_done(&stats);
}

/* A process has the name of its first thread, whichever of its threads ended last. */
static void taskstats_name_of_the_process(void **state)
{
    (void)state;
    struct buf b = {0}, stats = {0};
    struct taskstats_record r;
    static const struct {
        uint32_t pid, tgid;
        uint16_t version;
        bool has_comm;
    } cases[] = {{21, 21, 16, true}, {21, 20, 16, false}, {21, 21, 12, true}, {21, 20, 12, false}, {21, 0, 8, true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        stats_make(&stats, cases[i].version, 560, 0, cases[i].pid, cases[i].tgid, 0x20);
        message(&b, cases[i].pid, &stats);
        assert_int_equal(taskstats_parse(span_of(b.at, b.len), &r), 0);
        assert_int_equal(r.has_comm, cases[i].has_comm);
    }
    buf_done(&b);
    buf_done(&stats);
}

static void taskstats_of_every_version(void **state)
{
    (void)state;
    static const struct {
        uint16_t version;
        size_t len, shift;
    } versions[] = {{8, 328, 0},  {9, 344, 0},   {10, 352, 0},  {11, 368, 0}, {12, 400, 0}, {13, 416, 0},
                    {14, 432, 0}, {15, 488, 24}, {15, 544, 48}, {16, 560, 0}, {17, 800, 0}};
    struct buf b = {0}, stats = {0};
    for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
        struct taskstats_record r;
        stats_make(&stats, versions[i].version, versions[i].len, versions[i].shift, 21, 20, 0x20);
        message(&b, 21, &stats);
        assert_int_equal(taskstats_parse(span_of(b.at, b.len), &r), 0);
        taskstats_check(&r);
        bool grouped = versions[i].version >= 12;
        assert_int_equal(r.has_group, grouped);
        assert_int_equal(r.last, grouped);
        assert_int_equal(r.tgid, grouped ? 20 : 0);
        assert_int_equal(r.elapsed_ns, grouped ? 9000000 : 2000000);
    }
    struct taskstats_record r;
    stats_make(&stats, 7, 328, 0, 21, 20, 0);
    message(&b, 21, &stats);
    assert_int_equal(taskstats_parse(span_of(b.at, b.len), &r), BARO_E_SYNTAX);
    buf_done(&b);
    buf_done(&stats);
}

static void taskstats_cut_anywhere(void **state)
{
    (void)state;
    struct buf b = {0}, stats = {0};
    stats_make(&stats, 16, 560, 0, 21, 20, 0);
    message(&b, 21, &stats);
    for (size_t len = 0; len < b.len; len++) {
        void *owner;
        struct taskstats_record r = {.pid = -5};
        assert_int_equal(taskstats_parse(cut(&b, len, &owner), &r), BARO_E_SYNTAX);
        assert_int_equal(r.pid, -5);
        free(owner);
    }
    for (size_t len = 0; len < 560; len++) { /* a short struct in whole attributes */
        struct taskstats_record r;
        stats.len = len;
        message(&b, 21, &stats);
        assert_int_equal(taskstats_parse(span_of(b.at, b.len), &r), len >= 400 ? 0 : BARO_E_SYNTAX);
    }
    stats_make(&stats, 16, 560, 0, 22, 20, 0); /* the struct is about another process than the message */
    struct taskstats_record r;
    message(&b, 21, &stats);
    assert_int_equal(taskstats_parse(span_of(b.at, b.len), &r), BARO_E_SYNTAX);
    buf_done(&b);
    buf_done(&stats);
}

/* Before version 12 only the last one of several threads sends the record of its group. */
static void taskstats_old_group(void **state)
{
    (void)state;
    struct buf b = {0}, stats = {0};
    struct taskstats_record r;
    stats_make(&stats, 8, 328, 0, 21, 0, 0);
    message(&b, 21, &stats);
    uint64_t total = 5000000;
    set(&stats, 72, &total, 8);
    aggregate(&b, 5, 2, 20, &stats);
    assert_int_equal(taskstats_parse(span_of(b.at, b.len), &r), 0);
    taskstats_check(&r);
    assert_false(r.has_group);
    assert_false(r.has_comm); /* thread 21 of process 20 */
    assert_int_equal(r.tgid, 20);
    assert_true(r.last);
    assert_true(r.has_total);
    assert_int_equal(r.total_cpu_ns, 5000000);
    buf_done(&b);
    buf_done(&stats);
}

static void taskstats_family(void **state)
{
    (void)state;
    struct buf b = {0};
    buf_byte(&b, 1), buf_byte(&b, 2), le16(&b, 0);
    le16(&b, 14), le16(&b, 2), buf_add(&b, "TASKSTATS\0\0\0", 12);
    le16(&b, 6), le16(&b, 1), le16(&b, 31), le16(&b, 0);
    assert_int_equal(taskstats_family_parse(span_of(b.at, b.len)), 31);
    for (size_t len = 0; len < b.len - 2; len++) {
        void *owner;
        assert_int_equal(taskstats_family_parse(cut(&b, len, &owner)), BARO_E_SYNTAX);
        free(owner);
    }
    buf_done(&b);
}

static void taskstats_sums(void **state)
{
    (void)state;
    struct taskstats_usage a = {.cpu_ns = 1, .user_ns = 2, .rss_peak_bytes = 30, .io_read = 4},
                           b = {.cpu_ns = 10, .user_ns = 20, .rss_peak_bytes = 7, .io_read = 40};
    taskstats_add(&a, &b);
    assert_int_equal(a.cpu_ns, 11);
    assert_int_equal(a.user_ns, 22);
    assert_int_equal(a.rss_peak_bytes, 30); /* of one address space: no sum */
    assert_int_equal(a.io_read, 44);
}

/* ---- perf ---- */

static void perf_head(struct buf *b, uint32_t type, uint16_t misc, uint16_t size)
{
    buf_clear(b);
    le32(b, type), le16(b, misc), le16(b, size);
}

static void perf_cut(struct buf *b)
{
    for (size_t len = 0; len < b->len; len++) {
        void *owner;
        struct perf_record r;
        assert_int_equal(perf_parse(cut(b, len, &owner), &r), BARO_E_SYNTAX); /* its size contradicts that */
        free(owner);
        if (len < 8)
            continue;
        uint16_t size = (uint16_t)len;
        struct span s = cut(b, len, &owner);
        memcpy((char *)owner + 6, &size, 2); /* and a correct size must not mislead either */
        perf_parse(s, &r);
        free(owner);
    }
}

static void perf_records(void **state)
{
    (void)state;
    struct buf b = {0};
    struct perf_record r;
    perf_head(&b, 7, 0, 56); /* FORK */
    le32(&b, 20), le32(&b, 10), le32(&b, 21), le32(&b, 11), le64(&b, 777), le32(&b, 10), le32(&b, 11), le64(&b, 778),
        le64(&b, 7);
    assert_int_equal(perf_parse(span_of(b.at, b.len), &r), 0);
    assert_int_equal(r.what, PERF_FORKED);
    assert_int_equal(r.pid, 20);
    assert_int_equal(r.ppid, 10);
    assert_int_equal(r.tid, 21);
    assert_int_equal(r.t_ns, 777);
    assert_int_equal(r.id, 7);
    perf_cut(&b);
    perf_head(&b, 3, 1 << 13, 48); /* COMM by exec */
    le32(&b, 20), le32(&b, 20), buf_add(&b, "true\0\0\0\0", 8), le32(&b, 20), le32(&b, 20), le64(&b, 779), le64(&b, 7);
    assert_int_equal(perf_parse(span_of(b.at, b.len), &r), 0);
    assert_int_equal(r.what, PERF_EXECUTED);
    assert_true(span_equal(r.comm, "true"));
    assert_int_equal(r.t_ns, 779);
    perf_cut(&b);
    perf_head(&b, 8, 0, 48); /* READ */
    le32(&b, 20), le32(&b, 21), le64(&b, 5555), le32(&b, 20), le32(&b, 21), le64(&b, 780), le64(&b, 7);
    assert_int_equal(perf_parse(span_of(b.at, b.len), &r), 0);
    assert_int_equal(r.what, PERF_USED);
    assert_int_equal(r.value, 5555);
    assert_int_equal(r.tid, 21);
    perf_cut(&b);
    perf_head(&b, 2, 0, 48); /* LOST */
    le64(&b, 1), le64(&b, 12), le32(&b, 20), le32(&b, 21), le64(&b, 781), le64(&b, 7);
    assert_int_equal(perf_parse(span_of(b.at, b.len), &r), 0);
    assert_int_equal(r.what, PERF_MISSED);
    assert_int_equal(r.value, 12);
    perf_cut(&b);
    perf_head(&b, 99, 0, 8);
    assert_int_equal(perf_parse(span_of(b.at, b.len), &r), 0);
    assert_int_equal(r.what, PERF_OTHER);
    buf_done(&b);
}

/* Two events of a thread write one record each; the next record of the thread is another one. */
static void perf_repeats(void **state)
{
    (void)state;
    struct perf_ring ring = {.fd = -1};
    struct perf_record fork = {.what = PERF_FORKED, .tid = 21, .id = 7, .t_ns = 1000};
    assert_false(ring_is_repeated(&ring, &fork));
    assert_false(ring_is_repeated(&ring, &fork)); /* of the same event: its own next record */
    fork.id = 8;
    fork.t_ns += 500;
    assert_true(ring_is_repeated(&ring, &fork));
    struct perf_record exit = {.what = PERF_EXITED, .tid = 21, .id = 8, .t_ns = 2000};
    assert_false(ring_is_repeated(&ring, &exit));
    exit.id = 7;
    assert_true(ring_is_repeated(&ring, &exit));
    fork.t_ns += 1000000000; /* another thread with that number by then */
    assert_false(ring_is_repeated(&ring, &fork));
}

static void cpu_lists(void **state)
{
    (void)state;
    int cpus[8];
    assert_int_equal(cpu_list_parse(span_str("0-3,8\n"), cpus, 8), 5);
    assert_int_equal(cpus[3], 3);
    assert_int_equal(cpus[4], 8);
    assert_int_equal(cpu_list_parse(span_str("0"), cpus, 8), 1);
    assert_int_equal(cpu_list_parse(span_str("0-127\n"), cpus, 8), 128);
    static const char *const bad[] = {"", "\n", "0-", "3-1", "0,", "0-3 ", "x", "0-4294967296", "-1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(cpu_list_parse(span_str(bad[i]), cpus, 8), BARO_E_SYNTAX);
}

/* ---- policy ---- */

static void ranks(void **state)
{
    (void)state;
    for (unsigned works = 0; works < 8; works++) {
        struct exits_policy p = {0};
        p.probes[EXITS_CONNECTOR].works = works & 1;
        p.probes[EXITS_PERF].works = works & 2;
        p.probes[EXITS_TASKSTATS].works = works & 4;
        exits_rank(&p);
        assert_string_equal(exits_membership_name(p.membership), works & 1 ? "connector" : works & 2 ? "perf" : "scan");
        assert_string_equal(exits_usage_name(p.usage), works & 4 ? "taskstats" : works & 2 ? "perf" : "none");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_and_attributes),
        cmocka_unit_test(connector_fork),
        cmocka_unit_test(connector_exit_exec_comm_ack),
        cmocka_unit_test(connector_with_wrong_lengths),
        cmocka_unit_test(groups_end_with_their_last_thread),
        cmocka_unit_test(groups_are_bounded),
        cmocka_unit_test(taskstats_of_every_version),
        cmocka_unit_test(taskstats_name_of_the_process),
        cmocka_unit_test(cpu_of_one_that_never_slept),
        cmocka_unit_test(taskstats_cut_anywhere),
        cmocka_unit_test(taskstats_old_group),
        cmocka_unit_test(taskstats_family),
        cmocka_unit_test(taskstats_sums),
        cmocka_unit_test(perf_records),
        cmocka_unit_test(perf_repeats),
        cmocka_unit_test(cpu_lists),
        cmocka_unit_test(ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
