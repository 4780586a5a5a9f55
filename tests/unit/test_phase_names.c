/* SPDX-License-Identifier: Apache-2.0 */
/* What identifies a phase, and how its command ended. */
#include "unit.h"
#include "baro/baro.h"
#include "tape_file.h"

static void phase(struct tape_writer *w, enum baro_event_kind kind, uint64_t seconds, const char *name,
                  const struct baro_attribute *a)
{
    const struct baro_event e = {
        .t_ns = seconds * 1000000000, .kind = kind, .text = name, .n_attributes = a ? 1 : 0, .attribute = a};
    tape_writer_event(w, &e);
}

/* How the command of a phase ended: 0x700 is exit(7), as of wait4(2), 15 is SIGTERM. A path has the names of the phases
 * around a phase; the last "test" began in one of its own name, and stands beside it. */
TEST(paths_and_ends)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    const struct baro_attribute seven = {.name = "status", .type = BARO_ATTRIBUTE_UNSIGNED, .u64 = 7},
                                large = {.name = "status", .type = BARO_ATTRIBUTE_UNSIGNED, .u64 = 256},
                                term = {.name = "signal", .type = BARO_ATTRIBUTE_TEXT, .text = "TERM"},
                                odd = {.name = "signal", .type = BARO_ATTRIBUTE_TEXT, .text = "unknown"};
    static const struct {
        const char *path;
        enum baro_absent absent;
        int status;
    } expected[] = {{"test", BARO_ABSENT_NOT_YET, 0},     {"test/flaky", BARO_PRESENT, 0x700},
                    {"test/a/b", BARO_PRESENT, 15},       {"test/a/b/c", BARO_ABSENT_NONE, 0},
                    {"test/odd", BARO_ABSENT_UNKNOWN, 0}, {"test/large", BARO_ABSENT_NONE, 0},
                    {"test", BARO_ABSENT_NONE, 0},        {"test/d", BARO_ABSENT_NONE, 0}};
    char path[64], few[8];
    int status;
    phase(w, BARO_EVENT_PHASE_BEGIN, 1, "test", NULL);
    phase(w, BARO_EVENT_PHASE_BEGIN, 2, "flaky", NULL);
    phase(w, BARO_EVENT_PHASE_END, 3, "flaky", &seven);
    phase(w, BARO_EVENT_PHASE_BEGIN, 4, "a/b", NULL);
    phase(w, BARO_EVENT_PHASE_BEGIN, 5, "c", NULL);
    phase(w, BARO_EVENT_PHASE_END, 6, "c", NULL);
    phase(w, BARO_EVENT_PHASE_END, 7, "a/b", &term);
    phase(w, BARO_EVENT_PHASE_BEGIN, 8, "odd", NULL);
    phase(w, BARO_EVENT_PHASE_END, 9, "odd", &odd);
    phase(w, BARO_EVENT_PHASE_BEGIN, 10, "large", NULL);
    phase(w, BARO_EVENT_PHASE_END, 11, "large", &large);
    phase(w, BARO_EVENT_PHASE_BEGIN, 12, "test", NULL);
    phase(w, BARO_EVENT_PHASE_BEGIN, 13, "d", NULL);
    phase(w, BARO_EVENT_PHASE_END, 14, "d", NULL);
    phase(w, BARO_EVENT_PHASE_END, 15, "test", NULL);
    tape_ended(w);
    struct baro_tape *tape = tape_opened(tape_path);
    struct baro_fold *fold;
    assert_int_equal(baro_fold_of_tape(tape, BARO_FOLD_TIMELINE, &fold, NULL), 0);
    const struct baro_timeline *t = baro_fold_timeline(fold);
    size_t n = 0;
    for (size_t i = 0; i < baro_timeline_count(t); i++) {
        if (baro_timeline_get(t, i)->kind != BARO_TIMELINE_PHASE) {
            assert_int_equal(baro_timeline_path(t, i, path, sizeof(path)), 0);
            assert_int_equal(baro_timeline_status(t, i, &status), BARO_ABSENT_UNSUPPORTED);
            continue;
        }
        assert_true(n < sizeof(expected) / sizeof(*expected));
        size_t len = strlen(expected[n].path);
        assert_int_equal(baro_timeline_path(t, i, path, sizeof(path)), len);
        assert_string_equal(path, expected[n].path);
        for (size_t size = 0; size <= sizeof(few); size++) { /* in little room its beginning */
            memset(few, 'x', sizeof(few));
            assert_int_equal(baro_timeline_path(t, i, size ? few : NULL, size), len);
            if (size)
                assert_int_equal(strlen(few), len < size ? len : size - 1);
            assert_int_equal(strncmp(few, path, size ? strlen(few) : 0), 0);
        }
        assert_int_equal(baro_timeline_status(t, i, &status), expected[n].absent);
        if (expected[n].absent == BARO_PRESENT)
            assert_int_equal(status, expected[n].status);
        n++;
    }
    assert_int_equal(n, sizeof(expected) / sizeof(*expected));
    assert_int_equal(baro_timeline_given_json(t, 1, path, sizeof(path)), strlen("{\"status\":7}"));
    assert_string_equal(path, "{\"status\":7}");
    assert_int_equal(baro_timeline_given_json(t, 0, path, sizeof(path)), 0);
    assert_int_equal(baro_timeline_path(t, 1000, path, sizeof(path)), 0);
    baro_fold_free(fold);
    baro_tape_close(tape);
}
