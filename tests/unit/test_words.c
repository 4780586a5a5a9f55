/* SPDX-License-Identifier: Apache-2.0 */
/* What the block of a summary says, for values typed by hand. */
#include "unit.h"
#include "baro/summary.h"
#include "libbaro/summary/summary.h"
#include "output/rows/table.h"
#include "output/text/summary_text.h"
#include "story.h"

static struct baro_summary *summary_of(struct baro_header *h, struct baro_sample *sample, uint64_t t_ns)
{
    struct baro_event start = {.kind = BARO_EVENT_START, .text = ""},
                      end = {.kind = BARO_EVENT_END, .t_ns = t_ns, .text = ""};
    static struct baro_summary *s; /* the last one; freed with the next one */
    summary_free(s);
    s = summary_new(h);
    assert_non_null(s);
    summary_add_event(s, &start);
    summary_add_sample(s, sample);
    if (t_ns) {
        sample->t_ns = t_ns;
        sample->self[RECORDER_cpu] += 10 * MS;
        summary_add_sample(s, sample);
        summary_add_event(s, &end);
    }
    summary_finish(s);
    return s;
}

static void expect_words(const struct baro_summary *s, struct report_style style, const char *words, bool there)
{
    struct buf text = {0};
    report_block(s, NULL, style, &text);
    buf_byte(&text, 0);
    if (!!strstr((char *)text.at, words) != there)
        fail_msg("'%s' is %s:\n%s", words, there ? "missing" : "there", (char *)text.at);
    buf_done(&text);
}

static const struct report_style plain = {.width = 100};

/* 12 ms to start and 10 ms in the second after that: more than one percent of a core, and why. */
TEST(words_of_short_run)
{
    struct baro_header h = {
        .version = "0", .overhead_ppm = 10000, .host = "here", .kernel = "6.1", .start_realtime_ns = 0};
    struct baro_sample sample = {.t_ns = MS, .self[RECORDER_cpu] = 12 * MS};
    struct baro_summary *s = summary_of(&h, &sample, 1001 * MS);
    expect_words(s, plain, "recorder 2.2 % of a core: 12.0 ms to start, then 1.0 %", true);
    expect_words(s, plain, "1970-01-01T00:00:00+00:00 on here - Linux 6.1\n", true);
    expect_words(s, (struct report_style){.width = 100, .zone = -12600}, "1969-12-31T20:30:00-03:30 on here", true);
    h.overhead_ppm = 50000; /* within the budget: nothing to explain */
    sample = (struct baro_sample){.t_ns = MS, .self[RECORDER_cpu] = 12 * MS};
    s = summary_of(&h, &sample, 1001 * MS);
    expect_words(s, plain, "to start", false);
}

TEST(words_without_end)
{
    struct baro_header h = {.version = "0"};
    struct baro_sample sample = {
        .t_ns = MS, .job[JOB_faults_minor] = 1234, .job[JOB_faults_major] = 5, .job[JOB_switches_voluntary] = 7};
    struct baro_summary *s = summary_of(&h, &sample, 0);
    expect_words(s, plain, "cut off, no end on the tape", true);
    expect_words(s, (struct report_style){.width = 100, .running = true}, "running", true);
    expect_words(s, plain,
                 "pages >=1,234 minor, >=5 major - context switches >=7 voluntary, involuntary "
                 "not known\n",
                 true);
}

/* Two processes of 300 MB may share all of it: a sum of 600 MB is no share of the memory. */
TEST(words_of_sharers)
{
    struct baro_process p = {.id = 1, .key = {50, 5}, .name = "a"}, q = {.id = 2, .key = {51, 6}, .name = "b"};
    struct baro_process *rows[] = {&p, &q};
    for (int i = 0; i < 2; i++) {
        rows[i]->value[PROCESS_rss] = rows[i]->value[PROCESS_rss_anon] = 300 * MB;
        rows[i]->absent[PROCESS_pss] = rows[i]->absent[PROCESS_pss_anon] = BARO_ABSENT_DENIED;
    }
    struct baro_header h = {.version = "0", .memory_total = 1000 * MB, .cpus = 1};
    struct baro_sample sample = {.t_ns = MS, .n = 2, .processes = rows};
    struct baro_summary *s = summary_of(&h, &sample, 0);
    expect_words(s, plain, "peak 600 MB rss at +0.001s", true);
    expect_words(s, plain, "needed >=300 MB of 1.00 GB", true);
    sample.n = 1;
    s = summary_of(&h, &sample, 0);
    expect_words(s, plain, "needed 300 MB, 30 % of 1.00 GB", true);
}

/* 100 samples in 20 s, and what was left out: one sentence, or none where that is little. */
static void words_of_left_out(uint64_t missed, uint64_t left_out, uint64_t thinned, const char *words, bool there)
{
    struct baro_header h = {.version = "0"};
    struct baro_sample sample = {.t_ns = MS,
                                 .self = {[RECORDER_samples] = 100,
                                          [RECORDER_process_samples] = 1000,
                                          [RECORDER_missed] = missed,
                                          [RECORDER_left_out] = left_out,
                                          [RECORDER_thinned] = thinned}};
    struct baro_summary *s = summary_of(&h, &sample, 20000 * MS);
    expect_words(s, plain, words, there);
}

TEST(words_of_left_out)
{
    words_of_left_out(3, 20, 100, "note", false);
    words_of_left_out(100, 300, 0,
                      "note       sampled every 200 ms on average instead of 40.0 ms, to stay within the overhead "
                      "budget\n             (--overhead)\n",
                      true);
    words_of_left_out(0, 300, 500, "instead of 50.0 ms, and pss and threads more seldom, to\n", true);
    words_of_left_out(0, 0, 500, "note       pss and threads were read more seldom than the rest, to stay", true);
    words_of_left_out(100, 0, 0, "instead of 100 ms: the recorder was held up", true);
}

TEST(words_of_mapped_files)
{
    struct baro_header h = {.version = "0"};
    struct baro_sample sample = {.t_ns = MS,
                                 .job = {[JOB_io_rchar] = 45 * MB, [JOB_io_read] = 231 * MB, [JOB_io_write] = 4 * MB}};
    struct baro_summary *s = summary_of(&h, &sample, 2000 * MS);
    expect_words(s, plain, "read() 45.0 MB", true);
    expect_words(s, plain, "read 231 MB (mapped files and read-ahead too), wrote 4.00 MB", true);
}

/* The kernel charged 2,147 MB while the disk wrote 8.8 MB, and nothing was passed to write(2). Less than 10 MB apart,
 * or none of it the job's: no note. */
static void words_of_disks(uint64_t charged, uint64_t wrote, const char *words, bool there)
{
    struct baro_header h = {.version = "0"};
    struct baro_sample sample = {.t_ns = MS, .has_host = true, .host_ns = MS};
    struct baro_summary *s = summary_new(&h);
    summary_add_sample(s, &sample);
    sample.t_ns = sample.host_ns = 2000 * MS;
    sample.job[JOB_io_write] = charged;
    sample.host[HOST_disk_write] = wrote;
    summary_add_sample(s, &sample);
    summary_finish(s);
    expect_words(s, plain, words, there);
    summary_free(s);
}

TEST(words_of_disks)
{
    words_of_disks(2147 * MB, 8800000,
                   "storage (kernel's count): read 0 B, wrote ~2.15 GB\n"
                   "             the machine's disks: read 0 B, "
                   "wrote 8.80 MB\n",
                   true);
    words_of_disks(100 * MB, 95 * MB, "disks", false);
    words_of_disks(9 * MB, 0, "disks", false);
    words_of_disks(0, 500 * MB, "disks", false);
}

/* A last column that does not fit ends with an ellipsis; a line has as many columns as there are. */
TEST(truncated_table)
{
    static const struct {
        bool ascii;
        unsigned width;
        const char *lines;
    } at[] = {{false, 0, "1  a longer name\n2  short\n"},
              {false, 16, "1  a longer name\n2  short\n"},
              {false, 15, "1  a longer na…\n2  short\n"},
              {true, 15, "1  a longer ...\n2  short\n"}};
    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
        struct table t = {.columns = 2, .ascii = at[i].ascii};
        struct buf out = {0};
        static const char *const cells[] = {"1", "a longer name", "2", "short"};
        for (size_t k = 0; k < 4; k++)
            table_text(&t, cells[k]);
        table_print(&t, at[i].width, &out);
        buf_byte(&out, 0);
        assert_string_equal((const char *)out.at, at[i].lines);
        buf_done(&out);
        table_done(&t);
    }
}
