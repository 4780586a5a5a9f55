/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of a shared event source, there and back, cut at every byte and with every byte changed; and the table
 * of who follows a process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exits/share_wire.h"
#include "record/share_table.h"

static struct exits_event full_exit(void)
{
    struct exits_event e = {.kind = EVENT_EXIT, .pid = 4711, .ppid = 1, .t_ns = 123456789012, .has_comm = true,
                            .has_status = true, .has_usage = true, .of_usage = true, .comm = "cc1", .status = 0x0100,
                            .uid = 1000, .elapsed_ns = 1, .cpu_ns = 2, .user_ns = 3, .system_ns = 4,
                            .rss_peak_bytes = 5, .io_read = 6, .io_write = 7, .io_rchar = 8, .io_wchar = 9,
                            .faults_minor = 10, .faults_major = 11, .run_delay_ns = 12, .cpu_unsure_ns = 13,
                            .has_io = true, .has_delay = true};
    return e;
}

/* A copy that ends where the bytes end, so that a sanitizer sees every read behind them. */
static bool decode_copy(const unsigned char *at, size_t len, struct exits_event *ret)
{
    unsigned char *copy = malloc(len ? len : 1);
    memcpy(copy, at, len);
    struct span s = span_of(copy, len);
    bool ok = share_event_decode(&s, ret);
    free(copy);
    return ok;
}

static void events_there_and_back(void **state)
{
    const struct exits_event list[] = {
        {.kind = EVENT_FORK, .pid = 2, .ppid = 1, .t_ns = 5, .uid = UINT32_MAX},
        {.kind = EVENT_EXEC, .pid = 3, .t_ns = 6, .uid = UINT32_MAX},
        {.kind = EVENT_COMM, .pid = 3, .t_ns = 7, .uid = 0, .has_comm = true, .comm = "a name of 15 by"},
        full_exit(),
        {.kind = EVENT_LOST, .count = 12345678901, .t_ns = 8, .uid = UINT32_MAX, .of_usage = true},
    };
    unsigned char text[5 * SHARE_EVENT_MOST];
    size_t len = 0, n = sizeof(list) / sizeof(*list);
    (void)state;
    for (size_t i = 0; i < n; i++) {
        size_t one = share_event_encode(&list[i], text + len);
        assert_true(one <= SHARE_EVENT_MOST);
        assert_int_equal(share_event_length(text + len), one);
        len += one;
    }
    struct span rest = span_of(text, len);
    for (size_t i = 0; i < n; i++) {
        struct exits_event e;
        memset(&e, 0, sizeof(e));
        assert_true(share_event_decode(&rest, &e));
        assert_int_equal(e.kind, list[i].kind);
        assert_int_equal(e.pid, list[i].pid);
        assert_int_equal(e.ppid, list[i].ppid);
        assert_int_equal(e.t_ns, list[i].t_ns);
        assert_int_equal(e.uid, list[i].uid);
        assert_int_equal(e.status, list[i].status);
        assert_int_equal(e.count, list[i].count);
        assert_int_equal(e.of_usage, list[i].of_usage);
        assert_int_equal(e.has_usage, list[i].has_usage);
        assert_int_equal(e.has_io, list[i].has_io);
        assert_int_equal(e.run_delay_ns, list[i].run_delay_ns);
        assert_int_equal(e.elapsed_ns, list[i].elapsed_ns);
        assert_string_equal(e.comm, list[i].comm);
    }
    assert_int_equal(rest.len, 0);
}

static void events_cut_and_changed(void **state)
{
    const struct exits_event whole = full_exit();
    unsigned char text[SHARE_EVENT_MOST];
    struct exits_event e;
    size_t len = share_event_encode(&whole, text);
    (void)state;
    for (size_t i = 0; i < len; i++)
        assert_false(decode_copy(text, i, &e));
    for (size_t i = 0; i < len; i++) {
        for (unsigned v = 0; v < 256; v++) {
            unsigned char was = text[i];
            text[i] = (unsigned char)v;
            if (decode_copy(text, len, &e))
                assert_true(e.kind <= EVENT_LOST && e.pid >= 0 && memchr(e.comm, 0, sizeof(e.comm)) != NULL);
            text[i] = was;
        }
    }
}

static void heads_and_pids(void **state)
{
    const struct share_head h = {SHARE_DONE, 3, UINT64_MAX, SHARE_HAS_USAGE};
    const struct exits_pid p = {INT32_MAX, 77};
    unsigned char text[SHARE_HEAD + SHARE_PID];
    struct share_head got;
    struct exits_pid pid;
    (void)state;
    share_head_encode(&h, text);
    share_pid_encode(&p, text + SHARE_HEAD);
    for (size_t i = 0; i < SHARE_HEAD; i++) {
        struct span s = span_of(text, i);
        assert_false(share_head_decode(&s, &got));
    }
    struct span s = span_of(text, sizeof(text));
    assert_true(share_head_decode(&s, &got));
    assert_int_equal(got.kind, SHARE_DONE);
    assert_int_equal(got.count, 3);
    assert_true(got.number == UINT64_MAX);
    assert_true(share_pid_decode(&s, &pid));
    assert_int_equal(pid.pid, INT32_MAX);
    assert_int_equal(pid.start, 77);
    assert_false(share_pid_decode(&s, &pid));
    text[0] ^= 1; /* another version */
    s = span_of(text, sizeof(text));
    assert_false(share_head_decode(&s, &got));
    text[0] ^= 1;
    text[2] = 9; /* no such kind */
    s = span_of(text, sizeof(text));
    assert_false(share_head_decode(&s, &got));
}

static void table(void **state)
{
    struct share_table t;
    struct share_client *a = (struct share_client *)&t, *b = (struct share_client *)state; /* only compared */
    struct share_entry *of_a = NULL, *of_b = NULL;
    assert_int_equal(share_table_init(&t), 0);
    for (int32_t pid = 1; pid <= 5000; pid++) {
        share_table_make_room(&t);
        assert_true(share_table_add(&t, pid, 1, a, &of_a));
        if (pid % 2)
            assert_true(share_table_add(&t, pid, 1, b, &of_b));
    }
    assert_int_equal(t.n, 7500);
    assert_true(t.size >= 4096);
    for (int32_t pid = 1; pid <= 5000; pid++) {
        assert_non_null(share_table_find(&t, pid, a));
        assert_int_equal(share_table_find(&t, pid, b) != NULL, pid % 2);
    }
    assert_null(share_table_first(&t, 5001));
    struct share_entry *e = share_table_first(&t, 7);
    assert_non_null(share_table_next(e));
    assert_null(share_table_next(share_table_next(e)));
    while (of_a)
        share_table_remove(&t, of_a, &of_a);
    assert_int_equal(t.n, 2500);
    assert_null(share_table_first(&t, 8));
    assert_ptr_equal(share_table_first(&t, 7)->client, b);
    share_table_remove(&t, share_table_first(&t, 7), &of_b);
    assert_null(share_table_first(&t, 7));
    share_table_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_there_and_back),
        cmocka_unit_test(events_cut_and_changed),
        cmocka_unit_test(heads_and_pids),
        cmocka_unit_test(table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
