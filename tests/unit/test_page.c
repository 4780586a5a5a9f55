/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a tape with more processes than are kept: which are shown, and that the others are counted. */
#define UNIT_OWN_MAIN
#include "unit.h"
#include "base/buf.h"
#include "output/page/moments.h"
#include "output/page/page.h"
#include "tape_file.h"

#define SECOND 1000000000ull
#define PROCESSES 250000u
#define EVERY 10000u /* so many are light between two that are heavy */

static bool is_heavy(uint32_t i)
{
    return i % EVERY == 3;
}

/* "make" lives all the time; the others end in order, 1000 a second. */
static void write_many(void)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    struct baro_process make = {.id = 1, .key = {100, 7}, .name = (char *)"make"}, *all[] = {&make};
    struct baro_sample s = {.n = 1, .processes = all};
    char name[32];
    for (uint32_t i = 0; i < PROCESSES; i++) {
        bool heavy = is_heavy(i);
        snprintf(name, sizeof name, heavy ? "heavy-%u" : "light", i / EVERY);
        struct baro_exit e = {.t_ns = SECOND + i * (SECOND / 1000),
                              .id = i + 2,
                              .key = {(int32_t)i + 101, i + 8},
                              .parent = {100, 7},
                              .name = name,
                              .status_known = true};
        e.status = i == 5 || i == PROCESSES - 1 ? 256 : 0;
        e.value[EXIT_cpu] = heavy ? SECOND : SECOND / 1000 + i;
        e.value[EXIT_rss_peak] = 1000000;
        tape_writer_exit(w, &e);
        if (i % 1000 != 999)
            continue;
        s.t_ns = make.read_ns = e.t_ns;
        tape_add(w, &s);
    }
    tape_ended(w);
}

static int set_up(void **state)
{
    write_many();
    return 0;
}

TEST(lives_are_thinned)
{
    static struct moments m;
    struct lives l = {0};
    struct baro_steps *steps;
    struct baro_record r;
    uint32_t make = 0, heavy = 0, failed = 0;
    struct baro_tape *t = tape_opened(tape_path);
    assert_int_equal(baro_steps_new(&steps, baro_tape_header(t), NULL), 0);
    moments_init(&m, baro_tape_header(t), steps, PROCESSES * (SECOND / 1000));
    while (baro_tape_next(t, &r, NULL) > 0) {
        baro_steps_add(steps, &r);
        moments_add(&m, &r);
    }
    assert_int_equal(baro_steps_finish(steps, NULL), 0);
    assert_true(moments_take_lives(&m, steps, &l));
    assert_true(l.n < LIVES_THIN);
    assert_int_equal(l.n + l.left_out, PROCESSES + 1);
    for (uint32_t i = 0; i < l.n; i++) {
        const struct life *life = &l.at[i];
        make = life->pid == 100 ? i : make;
        assert_true(life->pid == 100 ? life->parent == LIFE_NONE : l.at[life->parent].pid == 100);
        heavy += life->cpu_ns == SECOND;
        failed += life_has_failed(life);
    }
    assert_int_equal(heavy, PROCESSES / EVERY);
    assert_int_equal(failed, 2);
    for (uint32_t i = 0; i < m.n; i++)
        assert_true(m.at[i].n == 0 || m.at[i].row[0].life == make);
    moments_done(&m);
    lives_done(&l);
    baro_steps_free(steps);
    baro_tape_close(t);
}

/* One of two processes has no rss: the sum of that moment is a lower bound. */
TEST(sum_that_lacks_a_process)
{
    static struct moments m;
    static const struct baro_header header;
    struct baro_process known = {.id = 1, .key = {100, 1}, .name = "a"},
                        unknown = {.id = 2, .key = {101, 1}, .name = "b"};
    struct baro_process *all[] = {&known, &unknown};
    struct baro_sample sample = {.processes = all, .n = 2, .t_ns = 5};
    struct baro_record r = {.kind = BARO_RECORD_SAMPLE, .t_ns = 5, .u.sample = &sample};
    struct baro_steps *steps;
    for (int shared = 0; shared < 2; shared++) {
        known.value[PROCESS_rss] = 4096;
        unknown.absent[PROCESS_rss] = shared ? BARO_ABSENT_SHARED : BARO_ABSENT_DENIED;
        assert_int_equal(baro_steps_new(&steps, &header, NULL), 0);
        moments_init(&m, &header, steps, 10);
        baro_steps_add(steps, &r);
        moments_add(&m, &r);
        assert_false(m.failed);
        const struct sample_rows *at = m.at;
        while (!at->n && at < m.at + m.n - 1)
            at++;
        assert_int_equal(at->rss_bytes, 4096);
        assert_int_equal(at->rss_is_bound, !shared);
        moments_done(&m);
        baro_steps_free(steps);
    }
}

static int into(void *context, const char *at, size_t len)
{
    buf_add(context, at, len);
    return 0;
}

TEST(page_has_the_heaviest)
{
    const struct page_options options = {.tape_name = "t"};
    struct buf html = {0};
    char name[32];
    struct baro_tape *t = tape_opened(tape_path);
    assert_int_equal(page_write(t, &options, into, &html, NULL), 0);
    buf_byte(&html, 0);
    assert_false(html.failed);
    const char *text = (const char *)html.at;
    for (uint32_t i = 0; i < PROCESSES / EVERY; i++) {
        snprintf(name, sizeof name, "data-k=\"heavy-%u\"", i);
        assert_non_null(strstr(text, name));
    }
    assert_non_null(strstr(text, "250,001 processes"));
    assert_non_null(strstr(text, "more are not drawn"));
    buf_done(&html);
    baro_tape_close(t);
}

int main(void)
{
    return cmocka_run_group_tests(unit_tests, set_up, NULL);
}
