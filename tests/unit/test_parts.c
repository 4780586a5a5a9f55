/* SPDX-License-Identifier: Apache-2.0 */
/* Recorders that began again in the same folder: the cursor joins the parts of the tape. Values computed by hand. */
#include "unit.h"

#include <sys/stat.h>

#include "baro/runs.h"
#include "base/clock.h"
#include "libbaro/tape/segments.h"
#include "tape_file.h"

#define SECOND NS_PER_SEC

static char folder[64], path[80];

/* The job of a sample, in seconds of CPU time. */
struct used {
    uint64_t t_ns, cpu_ns, rss_peak, processes_peak, started;
};

/* The part of the segment of that number: the first one begins at 1000 s of the clock, the other one 70 s later. */
static struct baro_header header_of(uint32_t segment, const char *boot)
{
    static char *argv[] = {"make", NULL};
    uint64_t begin_ns = 1000 * SECOND + (segment - 1) * 70 * SECOND;
    struct baro_header h = {.version = "0.1.0",
                            .host = "h",
                            .id = "0123456789abcdef0123456789abcdef",
                            .clk_tck = 100,
                            .wanted = UINT32_MAX,
                            .argv = argv,
                            .segment = segment,
                            .keep_bytes = 1 << 20,
                            .mode = BARO_MODE_ATTACH,
                            .start_monotonic_ns = begin_ns,
                            .start_boottime_ns = begin_ns,
                            .start_realtime_ns = (int64_t)begin_ns};
    snprintf(h.boot_id, sizeof(h.boot_id), "%s", boot);
    return h;
}

/* Process 100 is in the samples of both parts. */
static void write_part(const struct baro_header *h, struct used used)
{
    char name[SEGMENT_NAME_SIZE], file[120];
    struct baro_process p = {.id = 1, .key = {100, 7}, .name = (char *)"work", .read_ns = used.t_ns}, *all[] = {&p};
    struct baro_sample s = {.t_ns = used.t_ns, .n = 1, .processes = all};
    segment_name(h->segment, name);
    snprintf(file, sizeof(file), "%s/%s", path, name);
    struct tape_writer *w = tape_begun(file, h);
    s.job[JOB_cpu] = s.job[JOB_cpu_user] = used.cpu_ns;
    s.job[JOB_process_rss_peak] = used.rss_peak;
    s.job[JOB_processes_peak] = used.processes_peak;
    s.job[JOB_processes_started] = used.started;
    tape_add(w, &s);
    tape_writer_free(w); /* it was killed: there is no end */
}

/* Returns a copy of the last sample. */
static struct baro_sample *last_of(const struct baro_header *first, struct used a, const struct baro_header *second,
                                   struct used b)
{
    struct baro_sample *last = NULL;
    struct baro_record r;
    snprintf(folder, sizeof(folder), "/tmp/baro-parts-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/t.baro", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    write_part(first, a);
    write_part(second, b);
    struct baro_tape *t = tape_opened(path);
    int more;
    while ((more = baro_tape_next(t, &r, NULL)) > 0) {
        if (r.kind != BARO_RECORD_SAMPLE)
            continue;
        assert_int_equal(r.u.sample->job[JOB_cpu_is_lower_bound], last && !*second->cgroup_mode);
        assert_int_equal(r.u.sample->job[JOB_io_is_lower_bound], last != NULL);
        baro_sample_free(last);
        assert_int_equal(baro_sample_copy(r.u.sample, &last, NULL), 0);
    }
    assert_int_equal(more, 0);
    baro_tape_close(t);
    assert_int_equal(baro_runs_remove(path, 0, NULL), 0);
    rmdir(folder);
    assert_non_null(last);
    return last;
}

/* What the job used between 60 and 70 s is not known: totals are lower bounds. Peaks are those of either part. */
TEST(one_after_the_other)
{
    static const struct used before = {60 * SECOND, 5 * SECOND, 900, 4, 12}, after = {3 * SECOND, SECOND, 700, 6, 2};
    struct baro_header first = header_of(1, "a"), second = header_of(2, "a");
    struct baro_sample *s = last_of(&first, before, &second, after);
    assert_int_equal(s->t_ns, 73 * SECOND);
    assert_int_equal(s->job[JOB_cpu], 6 * SECOND);
    assert_int_equal(s->job[JOB_process_rss_peak], 900);
    assert_int_equal(s->job[JOB_processes_peak], 6);
    assert_int_equal(s->job[JOB_processes_started], 13); /* process 100 counts once */
    assert_true(s->processes[0]->id > 65536);
    baro_sample_free(s);
}

/* The machine was started again: pid and start time may be those of another process, and its clock began anew. */
TEST(another_boot)
{
    static const struct used before = {60 * SECOND, 5 * SECOND, 900, 4, 12}, after = {3 * SECOND, SECOND, 700, 6, 2};
    struct baro_header first = header_of(1, "a"), second = header_of(2, "b");
    second.start_monotonic_ns = second.start_boottime_ns = 9 * SECOND;
    struct baro_sample *s = last_of(&first, before, &second, after);
    assert_int_equal(s->t_ns, 73 * SECOND);
    assert_int_equal(s->job[JOB_processes_started], 14);
    baro_sample_free(s);
}

/* The clock of the second part says that it began before the first one ended: time does not go back. */
TEST(overlap)
{
    static const struct used before = {90 * SECOND, 5 * SECOND, 900, 4, 12}, after = {3 * SECOND, SECOND, 700, 6, 2};
    struct baro_header first = header_of(1, "a"), second = header_of(2, "a");
    struct baro_sample *s = last_of(&first, before, &second, after);
    assert_int_equal(s->t_ns, 93 * SECOND);
    baro_sample_free(s);
}

/* The kernel counted 8 s for the group between the beginnings of the parts, of which samples of the first one saw 5. */
TEST(a_group)
{
    static const struct used before = {60 * SECOND, 5 * SECOND, 900, 4, 12}, after = {3 * SECOND, SECOND, 700, 6, 2};
    struct baro_header first = header_of(1, "a"), second = header_of(2, "a");
    snprintf(first.cgroup_mode, sizeof(first.cgroup_mode), "target");
    snprintf(second.cgroup_mode, sizeof(second.cgroup_mode), "target");
    first.group_user_ns = 2 * SECOND;
    second.group_user_ns = 9 * SECOND;
    second.group_system_ns = SECOND;
    struct baro_sample *s = last_of(&first, before, &second, after);
    assert_int_equal(s->job[JOB_cpu], 9 * SECOND);
    assert_int_equal(s->job[JOB_cpu_user], 8 * SECOND);
    assert_int_equal(s->job[JOB_cpu_system], SECOND);
    baro_sample_free(s);
}
