/* SPDX-License-Identifier: Apache-2.0 */
/* The peak of memory from samples and from the high-water marks of processes: values by hand. */
#include "unit.h"
#include "libbaro/summary/summary.h"

#define MB 1000000ull

/* cc1 had 100 MB in a sample. A mark that is a little higher is of the same moment if it is its own, and of another one
 * if another program had it. */
TEST(mark_a_little_above_the_samples)
{
    const struct baro_header h = {.targets = &(int32_t){0}};
    for (int i = 0; i < 2; i++) {
        struct baro_process p = {.id = 1, .key = {50, 5}, .name = "cc1", .value = {[PROCESS_rss] = 100 * MB}};
        struct baro_process *rows[] = {&p};
        struct baro_sample sample = {.t_ns = 1, .n = 1, .processes = rows};
        struct baro_exit e = {.id = 2, .name = i ? "ar" : "cc1", .value = {[EXIT_rss_peak] = 103 * MB}};
        struct baro_summary *s = summary_new(&h);
        struct summary_rss rss;
        summary_add_sample(s, &sample);
        summary_add_exit(s, &e);
        summary_finish(s);
        summary_rss_peak(s, &rss);
        assert_int_equal(rss.value, 103 * MB);
        assert_int_equal(rss.unsampled, i);
        summary_free(s);
    }
}
