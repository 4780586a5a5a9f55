/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of the tape at tape_path (tape_file.h). */
#ifndef TESTS_TIMELINE_H
#define TESTS_TIMELINE_H

#include "baro/baro.h"
#include "tape_file.h"

#define MS 1000000ull
#define SECOND (1000 * MS)

__attribute__((unused)) static void event_with(struct tape_writer *w, enum baro_event_kind kind, uint64_t t_ns,
                                               const char *name, const struct baro_attribute *at, size_t n)
{
    const struct baro_event e = {.t_ns = t_ns, .kind = kind, .text = name, .n_attributes = n, .attribute = at};
    tape_writer_event(w, &e);
}

__attribute__((unused)) static void event(struct tape_writer *w, enum baro_event_kind kind, uint64_t t_ns,
                                          uint64_t number, const char *text)
{
    const struct baro_event e = {.t_ns = t_ns, .kind = kind, .number = number, .text = text};
    tape_writer_event(w, &e);
}

__attribute__((unused)) static void phase(struct tape_writer *w, bool begins, uint64_t t_ns, const char *name)
{
    event(w, begins ? BARO_EVENT_PHASE_BEGIN : BARO_EVENT_PHASE_END, t_ns, 0, name);
}

__attribute__((unused)) static void sample(struct tape_writer *w, uint64_t t_ns, uint64_t cpu_ns, uint64_t rss)
{
    struct baro_process p = {.id = 1, .key = {100, 7}, .name = (char *)"work", .read_ns = t_ns};
    struct baro_process *all[] = {&p};
    struct baro_sample s = {.t_ns = t_ns, .n = 1, .processes = all};
    memset(p.absent, BARO_ABSENT_NOT_ASKED, sizeof(p.absent));
    p.absent[PROCESS_rss] = BARO_PRESENT;
    p.value[PROCESS_rss] = rss;
    memset(s.job_absent, BARO_ABSENT_UNKNOWN, sizeof(s.job_absent));
    s.job_absent[JOB_cpu] = BARO_PRESENT;
    s.job[JOB_cpu] = cpu_ns;
    tape_add(w, &s);
}

static struct baro_fold *fold; /* the last one; freed with the next one */

static const struct baro_timeline *timeline(void)
{
    baro_fold_free(fold);
    struct baro_tape *tape = tape_opened(tape_path);
    assert_int_equal(baro_fold_of_tape(tape, BARO_FOLD_TIMELINE, &fold, NULL), 0);
    baro_tape_close(tape);
    return baro_fold_timeline(fold);
}

/* The same, as a live view makes it. */
static const struct baro_timeline *live(void)
{
    struct baro_record r;
    struct baro_tape *tape = tape_opened(tape_path);
    baro_fold_free(fold);
    assert_int_equal(baro_fold_new(&fold, baro_tape_header(tape), BARO_FOLD_TIMELINE, NULL), 0);
    while (baro_tape_next(tape, &r, NULL) > 0) {
        baro_fold_add(fold, &r);
        assert_int_equal(baro_fold_finish(fold, BARO_FOLD_TIMELINE, NULL), 0);
    }
    baro_tape_close(tape);
    return baro_fold_timeline(fold);
}

#endif
