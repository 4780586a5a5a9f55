/* SPDX-License-Identifier: Apache-2.0 */
/* baro_tape_realtime_ns(): the wall clock after steps and sleep, also of a tape that grows. */
#include "unit.h"
#include "baro/arrow.h"
#include "tape_file.h"
#include "output/rows/row.h"

/* These are not in the library. */
#include "../../src/programs/common/moment.c"
#include "../../src/programs/common/zone.c"

#define SECOND 1000000000ull

static void put_event(struct tape_writer *w, uint64_t t_ns, enum baro_event_kind kind, int64_t number)
{
    struct baro_event e = {.t_ns = t_ns, .kind = kind, .number = (uint64_t)number, .text = "said"};
    tape_writer_event(w, &e);
}

static void put_sample(struct tape_writer *w, uint64_t t_ns)
{
    struct baro_sample s = {.t_ns = t_ns};
    tape_add(w, &s);
}

static int64_t ahead_at(struct baro_tape *t, uint64_t t_ns)
{
    int64_t ret;
    assert_int_equal(baro_tape_realtime_ns(t, t_ns, &ret, NULL), 0);
    return ret - baro_header_realtime_ns(baro_tape_header(t), t_ns);
}

/* The clock shows 0 to 2 s, then -3 to 1 s, then 61 s and on. */
static void check_found(struct baro_tape *t)
{
    static const struct {
        int shown, at; /* seconds since the clock of the beginning, since the tape began */
    } known[] = {{-7, -7}, {-2, 3}, {0, 0}, {1, 1}, {2, 6}, {3, 6}, {30, 6}, {60, 6}, {61, 6}, {62, 7}, {100, 45}};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        int64_t at_ns, begin = baro_header_realtime_ns(baro_tape_header(t), 0);
        assert_int_equal(baro_tape_find_realtime(t, begin + known[i].shown * (int64_t)SECOND, &at_ns, NULL), 0);
        print_message("%d\n", known[i].shown);
        assert_int_equal(at_ns, known[i].at * (int64_t)SECOND);
    }
}

/* The same, as a user writes it: the tape begins at midnight and has 7 s. */
static void check_moments(struct baro_tape *t)
{
    static const struct {
        const char *text;
        int at;
    } known[] = {{"+3s", 3},       {"00:00:01", 1}, {"00:01:02", 7},
                 {"23:59:58", 3},  {"00:00:30", 6}, {"1970-01-01T00:01:01Z", 6},
                 {"12:00", 43145}, {"-1s", 6},      {"1969-12-31 23:59:50", -10}};
    struct moment m;
    setenv("TZ", "UTC", 1);
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        assert_int_equal(moment_on_tape(known[i].text, t, 0, 7 * SECOND, &m, NULL), 0);
        print_message("%s\n", known[i].text);
        assert_int_equal(m.ns, known[i].at * (int64_t)SECOND);
    }
    assert_int_equal(moment_on_tape("00:01:02", t, 5 * SECOND, 2 * SECOND, &m, NULL), 0); /* counted from 5 s on */
    assert_int_equal(m.ns, 2 * (int64_t)SECOND);
    assert_int_equal(moment_on_tape("noon", t, 0, 7 * SECOND, &m, NULL), BARO_E_SYNTAX);
}

TEST(steps)
{
    struct baro_record r;
    struct tape_writer *w = new_tape(tape_path, &tape_io_real);
    put_sample(w, 1 * SECOND);
    struct baro_tape *t = tape_opened(tape_path);
    assert_int_equal(ahead_at(t, 0), 0);
    assert_int_equal(ahead_at(t, 100 * SECOND), 0);
    put_event(w, 2 * SECOND, BARO_EVENT_CLOCK_STEP, -5 * (int64_t)SECOND); /* set back by 5 s */
    put_event(w, 3 * SECOND, BARO_EVENT_WARNING, 7);                       /* says nothing of the clock */
    put_sample(w, 4 * SECOND);
    put_event(w, 6 * SECOND, BARO_EVENT_SUSPEND, 60 * (int64_t)SECOND); /* slept a minute */
    put_sample(w, 7 * SECOND);
    assert_int_equal(ahead_at(t, 100 * SECOND), 55 * (int64_t)SECOND);
    assert_int_equal(ahead_at(t, 6 * SECOND), 55 * (int64_t)SECOND);
    assert_int_equal(ahead_at(t, 6 * SECOND - 1), -5 * (int64_t)SECOND);
    assert_int_equal(ahead_at(t, 2 * SECOND), -5 * (int64_t)SECOND);
    assert_int_equal(ahead_at(t, 2 * SECOND - 1), 0);
    assert_int_equal(baro_tape_next(t, &r, NULL), 1); /* it has not moved */
    assert_true(r.kind == BARO_RECORD_SAMPLE && r.t_ns == SECOND);
    tape_ended(w);
    assert_int_equal(ahead_at(t, 6 * SECOND), 55 * (int64_t)SECOND);
    check_found(t);
    check_moments(t);
    baro_tape_close(t);
}

/* Columns and rows have those times. */
TEST(readers)
{
    struct ArrowArrayStream rows;
    struct ArrowArray array;
    struct tape_writer *w = new_tape(tape_path, &tape_io_real);
    put_sample(w, 1 * SECOND);
    put_event(w, 2 * SECOND, BARO_EVENT_CLOCK_STEP, 3600 * (int64_t)SECOND);
    put_sample(w, 2 * SECOND);
    put_sample(w, 3 * SECOND);
    put_event(w, 4 * SECOND, BARO_EVENT_SUSPEND, 60 * (int64_t)SECOND);
    put_sample(w, 4 * SECOND);
    tape_ended(w);
    struct baro_tape *t = tape_opened(tape_path);
    const int64_t begin = baro_header_realtime_ns(baro_tape_header(t), 0);
    const int64_t seconds[] = {1, 3602, 3603, 3664};
    assert_int_equal(baro_tape_arrow(t, BARO_KIND_JOB, "time", NULL, &rows, NULL), 0);
    assert_gives(rows.get_next(&rows, &array), array.length, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(((const int64_t *)array.children[0]->buffers[1])[i], begin + seconds[i] * (int64_t)SECOND);
    array.release(&array);
    rows.release(&rows);
    struct baro_record r;
    for (size_t i = 0; baro_tape_next(t, &r, NULL) == 1;)
        if (r.kind == BARO_RECORD_SAMPLE)
            assert_int_equal(row_realtime_ns(t, baro_tape_header(t), r.t_ns), begin + seconds[i++] * (int64_t)SECOND);
    assert_int_equal(row_realtime_ns(NULL, baro_tape_header(t), 4 * SECOND), begin + 4 * (int64_t)SECOND);
    baro_tape_close(t);
}
