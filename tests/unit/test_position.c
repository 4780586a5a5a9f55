/* SPDX-License-Identifier: Apache-2.0 */
/* baro_tape_tell() and baro_tape_seek_to(): from each position the rest of the tape, nothing twice and nothing missed.
 */
#include "tapes.h"
#include "baro/tape.h"

enum { MOST = 20000 };

struct seen {
    enum baro_record_kind kind;
    uint64_t t_ns;
    size_t rows;
    char position[BARO_POSITION_SIZE]; /* behind it */
};

static struct seen seen[MOST];

static size_t rows_of(const struct baro_record *r)
{
    return r->kind == BARO_RECORD_SAMPLE ? baro_sample_rows(r->u.sample, BARO_KIND_PROCESS) : 0;
}

/* Limits that hold at a position may be delivered again. */
static int next_of(struct baro_tape *t, struct baro_record *r)
{
    int code;
    do
        code = baro_tape_next(t, r, NULL);
    while (code == 1 && r->kind == BARO_RECORD_LIMITS);
    return code;
}

static void check_tape(const char *name)
{
    struct baro_tape *t = kept_tape(name), *other;
    struct baro_record r;
    char begin[BARO_POSITION_SIZE], again[BARO_POSITION_SIZE];
    size_t n = 0;
    baro_tape_tell(t, begin);
    while (n < MOST && next_of(t, &r) == 1) {
        seen[n] = (struct seen){.kind = r.kind, .t_ns = r.t_ns, .rows = rows_of(&r)};
        baro_tape_tell(t, seen[n++].position);
    }
    assert_in_range(n, 5, MOST - 1);
    const size_t step = n / 50 + 1;
    for (size_t at = 0; at <= n; at += step) {
        const char *position = at ? seen[at - 1].position : begin;
        other = kept_tape(name); /* a program that was started anew */
        assert_int_equal(baro_tape_seek_to(other, position, NULL), 1);
        baro_tape_tell(other, again);
        assert_string_equal(again, position);
        for (size_t i = at; i < n; i++) {
            assert_one(next_of(other, &r), r.kind, seen[i].kind);
            assert_true(r.t_ns == seen[i].t_ns);
            assert_int_equal(rows_of(&r), seen[i].rows);
        }
        assert_int_equal(next_of(other, &r), 0);
        baro_tape_close(other);
    }
    /* A cursor that was moved by time has a position, too. */
    uint64_t t_ns = seen[n / 2].t_ns;
    assert_int_equal(baro_tape_seek(t, t_ns, &r, NULL), 1);
    uint64_t found_ns = r.t_ns;
    baro_tape_tell(t, again);
    int left = next_of(t, &r);
    const struct seen next = {.kind = r.kind, .t_ns = r.t_ns};
    assert_true(found_ns <= t_ns);
    assert_int_equal(baro_tape_seek_to(t, again, NULL), 1);
    assert_int_equal(next_of(t, &r), left);
    assert_int_equal(r.kind, next.kind);
    assert_true(r.t_ns == next.t_ns);
    baro_tape_close(t);
}

TEST(files)
{
    check_tape("v1-small.baro");
    check_tape("v1-machine.baro");
    check_tape("v1-limits.baro");
}

TEST(no_position)
{
    /* After the id of the tape. */
    static const char *const wrong[] = {"", "1", "0:1", "0:1:", "0:1:2:3", "x", "-1:0:0", "4294967296:0:0", "0: 1:2"};
    static const char *const nowhere[] = {"7:100:0" /* it has no segments */, "0:1:0" /* no block begins there */,
                                          "0:99999999999:0"};
    struct baro_tape *t = kept_tape("v1-small.baro");
    char text[BARO_POSITION_SIZE];
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        snprintf(text, sizeof(text), "%.8s:%s", baro_tape_id(t), wrong[i]);
        assert_int_equal(baro_tape_seek_to(t, text, NULL), BARO_E_SYNTAX);
        assert_int_equal(baro_tape_seek_to(t, wrong[i], NULL), BARO_E_SYNTAX);
    }
    for (size_t i = 0; i < sizeof(nowhere) / sizeof(*nowhere); i++) {
        snprintf(text, sizeof(text), "%.8s:%s", baro_tape_id(t), nowhere[i]);
        assert_int_equal(baro_tape_seek_to(t, text, NULL), BARO_E_RANGE);
    }
    char position[BARO_POSITION_SIZE], beyond[BARO_POSITION_SIZE + 8];
    baro_tape_rewind(t, NULL);
    baro_tape_tell(t, position);
    snprintf(beyond, sizeof(beyond), "%.*s:1000000", (int)(strrchr(position, ':') - position), position);
    assert_int_equal(baro_tape_seek_to(t, beyond, NULL), BARO_E_RANGE);
    baro_tape_close(t);
}

/* A recording that replaced the one that was read has blocks at the same offsets. */
TEST(another_recording)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_tape *t = kept_tape("v1-small.baro");
    struct baro_record r;
    char position[BARO_POSITION_SIZE];
    assert_int_equal(next_of(t, &r), 1);
    baro_tape_tell(t, position);
    assert_int_equal(baro_tape_seek_to(t, position, &err), 1);
    position[0] = position[0] == '1' ? '2' : '1';
    assert_int_equal(baro_tape_seek_to(t, position, &err), BARO_E_RANGE);
    assert_non_null(strstr(err.text, "another recording"));
    baro_tape_close(t);
}
