/* SPDX-License-Identifier: Apache-2.0 */
/* Which phases are within which, where several processes report them; phases of which the begin is not on the tape. */
#define UNIT_OWN_MAIN
#include "unit.h"
#include "baro/baro.h"
#include "tape_file.h"
#include "timeline.h"

static void process_phase(struct tape_writer *w, bool begins, uint64_t t_ns, struct baro_key key, const char *name)
{
    const struct baro_event e = {
        .t_ns = t_ns, .kind = begins ? BARO_EVENT_PHASE_BEGIN : BARO_EVENT_PHASE_END, .key = key, .text = name};
    tape_writer_event(w, &e);
}

/* Processes 100, and its children 101 and 102. */
static void family_sample(struct tape_writer *w, uint64_t t_ns)
{
    struct baro_process p[3], *all[] = {&p[0], &p[1], &p[2]};
    for (int i = 0; i < 3; i++) {
        p[i] = (struct baro_process){
            .id = 1 + (uint32_t)i, .key = {100 + i, 7 + (uint64_t)i}, .name = (char *)"work", .read_ns = t_ns};
        p[i].parent = i ? p[0].key : (struct baro_key){99, 1};
        memset(p[i].absent, BARO_ABSENT_NOT_ASKED, sizeof(p[i].absent));
    }
    struct baro_sample s = {.t_ns = t_ns, .n = 3, .processes = all};
    memset(s.job_absent, BARO_ABSENT_UNKNOWN, sizeof(s.job_absent));
    tape_add(w, &s);
}

/*
 *     job of 100       1 ...................... 20
 *     train of 101        2 ............ 10
 *     load of 100            3 ... 5               in job: 101 is no ancestor of 100
 *     epoch of 101              4 .... 8           in train
 *     eval of 102                 5 ........ 11    in job: 101 is its brother
 *     cli, no process                6 .. 7        in eval: by time
 *     short of 104                   8.6 . 8.9     in train: its exit says that 101 is its parent
 *     own of 103                         9 .. 10   in eval: the parent of 103 is not known
 */
TEST(phases_of_processes)
{
    static const struct baro_key main_key = {100, 7}, first = {101, 8}, second = {102, 9}, other = {103, 10},
                                 fourth = {104, 11};
    static const char *const path[] = {"job",      "job/train",    "job/load",        "job/train/epoch",
                                       "job/eval", "job/eval/cli", "job/train/short", "job/eval/own"};
    struct tape_writer *w = new_tape(tape_path, NULL);
    process_phase(w, true, 1 * SECOND, main_key, "job");
    process_phase(w, true, 2 * SECOND, first, "train");
    process_phase(w, true, 3 * SECOND, main_key, "load");
    process_phase(w, true, 4 * SECOND, first, "epoch");
    process_phase(w, false, 5 * SECOND, main_key, "load");
    process_phase(w, true, 5 * SECOND, second, "eval");
    process_phase(w, true, 6 * SECOND, (struct baro_key){0}, "cli");
    process_phase(w, false, 7 * SECOND, (struct baro_key){0}, "cli");
    process_phase(w, false, 8 * SECOND, first, "epoch");
    family_sample(w, 17 * SECOND / 2);
    process_phase(w, true, 8600 * MS, fourth, "short");
    tape_writer_exit(w,
                     &(struct baro_exit){.t_ns = 8900 * MS, .id = 9, .key = fourth, .parent = first, .name = "short"});
    process_phase(w, true, 9 * SECOND, other, "own");
    process_phase(w, false, 10 * SECOND, other, "own");
    process_phase(w, false, 10 * SECOND, first, "train");
    process_phase(w, false, 11 * SECOND, second, "eval");
    process_phase(w, false, 20 * SECOND, main_key, "job");
    tape_ended(w);
    for (int is_live = 0; is_live < 2; is_live++) {
        const struct baro_timeline *t = is_live ? live() : timeline();
        char text[64];
        assert_int_equal(baro_timeline_count(t), 8);
        for (size_t i = 0; i < 8; i++) {
            baro_timeline_path(t, i, text, sizeof(text));
            assert_string_equal(text, path[i]);
        }
    }
}

/* The first segments were removed, or it is a stretch: what ends and has not begun was there since before. */
TEST(phases_since_before)
{
    static char *argv[] = {"make", NULL};
    struct baro_header h = {
        .version = "0.1.0", .host = "h", .clk_tck = 100, .wanted = UINT32_MAX, .argv = argv, .segment = 2};
    struct tape_writer *w = tape_with(tape_path, &h, NULL);
    sample(w, 100 * SECOND, 50 * SECOND, 1);
    sample(w, 101 * SECOND, 51 * SECOND, 1);
    phase(w, false, 102 * SECOND, "train");
    sample(w, 103 * SECOND, 53 * SECOND, 1);
    tape_ended(w);
    for (int i = 0; i < 2; i++) {
        struct baro_value cpu;
        const struct baro_timeline *t = i ? live() : timeline();
        const struct baro_timeline_item *v = baro_timeline_get(t, 0);
        assert_int_equal(baro_timeline_count(t), 1);
        assert_int_equal(v->kind, BARO_TIMELINE_PHASE);
        assert_true(v->begins_before && !v->is_open);
        assert_int_equal(v->begin_ns, 100 * SECOND);
        assert_int_equal(v->end_ns, 102 * SECOND);
        baro_timeline_value(t, 0, baro_timeline_fact_find("cpu_ns"), &cpu);
        assert_int_equal(cpu.u64, 2 * SECOND);
        assert_true(cpu.flags & BARO_VALUE_LOWER_BOUND);
    }
}

static int tear_down(void **state)
{
    baro_fold_free(fold);
    return 0;
}

int main(void)
{
    return cmocka_run_group_tests(unit_tests, NULL, tear_down);
}
