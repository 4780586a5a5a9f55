/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that a job needed: typed and computed by hand. */
#include "unit.h"
#include "libbaro/sample/sample.h"
#include "libbaro/summary/needed.h"

#define MB 1000000ull
#define MOST 6
#define EACH (48u << 10) /* what the kernel is charged with for a process */

struct world {
    struct needed n;
    struct baro_sample s;
    struct baro_process p[MOST], *rows[MOST];
};

static struct world w;

static void begin(size_t processes)
{
    needed_done(&w.n);
    memset(&w, 0, sizeof(w));
    needed_init(&w.n, 4096);
    w.s.processes = w.rows;
    w.s.n = processes;
    w.s.has_host = true;
    for (size_t i = 0; i < MOST; i++) {
        w.p[i] = (struct baro_process){.id = (uint32_t)(i + 1), .key = {(int32_t)(50 + i), 5}, .name = "p"};
        w.p[i].value[PROCESS_threads] = 1;
        w.p[i].value[PROCESS_state] = 'S';
        w.rows[i] = &w.p[i];
    }
}

/* Its resident memory is anonymous but for `files`; of the rest `pss` is its share. */
static void fill(struct baro_process *p, uint64_t rss, uint64_t files, uint64_t pss)
{
    p->value[PROCESS_rss] = p->value[PROCESS_rss_peak] = rss;
    p->value[PROCESS_rss_file] = files;
    p->value[PROCESS_rss_anon] = rss - files;
    p->value[PROCESS_pss] = p->value[PROCESS_pss_anon] = pss;
    p->value[PROCESS_uss] = pss;
    p->value[PROCESS_smaps_at]++;
}

static void not_read(struct baro_process *p, uint8_t why)
{
    static const enum process_metric ids[] = {PROCESS_pss, PROCESS_uss, PROCESS_pss_anon, PROCESS_pss_shmem};
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        p->absent[ids[i]] = why;
        p->value[ids[i]] = 0;
    }
}

static void add(void)
{
    w.s.t_ns = w.s.host_ns += 100 * MB;
    needed_add_sample(&w.n, &w.s, &(struct derive_ticks){0}, true);
}

static void expect(uint64_t bytes, uint64_t most, enum needed_doubt doubt)
{
    assert_int_equal(needed_sum(&w.n.peak), bytes);
    assert_int_equal(w.n.most, most);
    assert_int_equal(w.n.doubt, doubt);
}

/* 200 MB that four forks share, and 10 MB of a file each; then one has 30 MB more since smaps_rollup was read, and one
 * 5 MB less. */
TEST(forks_and_growth)
{
    begin(5);
    for (size_t i = 0; i < 5; i++)
        fill(&w.p[i], 210 * MB, 10 * MB, 40 * MB);
    add();
    expect(200 * MB + 5 * EACH, 200 * MB + 5 * EACH, NEEDED_CERTAIN);
    w.p[0].value[PROCESS_rss_anon] += 30 * MB;
    w.p[1].value[PROCESS_rss_anon] -= 5 * MB;
    w.p[0].value[PROCESS_rss] += 30 * MB;
    add();
    expect(230 * MB + 5 * EACH, 230 * MB + 5 * EACH, NEEDED_CERTAIN); /* the first one alone has so much */
    assert_int_equal(w.n.mark, 0);                                    /* no page faults */
}

/* 7 MB of a parent and 250 MB of shared memory; two workers have 5 MB more each. Page faults of shared memory are no
 * reason to count the 7 MB again: one that reads has a fault for 16 pages, and one that writes a fault for each. */
TEST(young_workers_with_shared_memory)
{
    for (int writes = 0; writes < 2; writes++) {
        const uint64_t pages = 61000, shared = pages * 4096, own = 1220 * 4096;
        begin(3);
        fill(&w.p[0], 7 * MB + shared, shared, 7 * MB);
        w.s.n = 1;
        w.p[0].value[PROCESS_rss_shmem] = w.p[0].value[PROCESS_pss_shmem] = shared;
        w.p[0].value[PROCESS_rss_file] = 0;
        w.p[0].value[PROCESS_faults_minor] = pages + 7 * MB / 4096;
        add();
        for (size_t i = 1; i < 3; i++) {
            fill(&w.p[i], 7 * MB + own + shared, shared, 0);
            w.p[i].value[PROCESS_rss_shmem] = shared;
            w.p[i].value[PROCESS_rss_file] = 0;
            w.p[i].value[PROCESS_faults_minor] = (writes ? pages : pages / 16) + own / 4096;
            w.p[i].parent = w.p[0].key;
            not_read(&w.p[i], BARO_ABSENT_NOT_YET);
        }
        w.s.n = 3;
        add();
        uint64_t least = shared + 7 * MB + 2 * own + 3 * EACH;
        assert_int_equal(needed_sum(&w.n.peak), least);
        assert_in_range(w.n.most, least, writes ? least + 14 * MB : least + MB);
    }
}

/* A child that was not read yet has as much of its own as it had page faults; one that can't be read may share. */
TEST(young_and_unreadable)
{
    begin(2);
    fill(&w.p[0], 200 * MB, 0, 200 * MB);
    fill(&w.p[1], 200 * MB, 0, 0);
    w.p[0].value[PROCESS_faults_minor] = 50000;
    w.p[1].value[PROCESS_faults_minor] = 1000;
    not_read(&w.p[1], BARO_ABSENT_NOT_YET);
    add();
    expect(200 * MB + 4096000 + 2 * EACH, 200 * MB + 4096000 + 2 * EACH, NEEDED_CERTAIN);
    assert_false(w.n.row[0].has_huge_pages || w.n.row[1].has_huge_pages);
    /* The parent was not read again, and the child has a half: the sum of the sample before stays. */
    w.s.job[JOB_pss_stale] = 1;
    fill(&w.p[1], 200 * MB, 0, 100 * MB);
    w.p[1].value[PROCESS_uss] = 4096000;
    memset(w.p[1].absent, 0, sizeof(w.p[1].absent));
    add();
    expect(200 * MB + 4096000 + 2 * EACH, 200 * MB + 4096000 + 2 * EACH, NEEDED_CERTAIN);
    w.s.job[JOB_pss_stale] = 0;
    needed_begin(&w.n);
    not_read(&w.p[0], BARO_ABSENT_DENIED);
    not_read(&w.p[1], BARO_ABSENT_DENIED);
    add();
    expect(204096000 + 2 * EACH, 400 * MB + 2 * EACH, NEEDED_SHARING);
}

/* Before Linux 5.4 pss has no parts; a process that shares all of its files has the smaller number. */
TEST(old_kernel)
{
    begin(2);
    for (size_t i = 0; i < 2; i++) {
        fill(&w.p[i], 120 * MB, 100 * MB, 60 * MB);
        w.p[i].absent[PROCESS_pss_anon] = w.p[i].absent[PROCESS_pss_shmem] = BARO_ABSENT_UNSUPPORTED;
    }
    add();
    expect(40 * MB + 2 * EACH, 40 * MB + 2 * EACH, NEEDED_CERTAIN);
}

/* Files in memory that no process maps; others' are left out as far as the job did not write so much. */
TEST(tmpfs)
{
    begin(1);
    fill(&w.p[0], 3 * MB, 2 * MB, 1 * MB);
    w.s.job[JOB_tmpfs] = 900 * MB;
    w.s.job[JOB_io_wchar] = 400 * MB;
    add();
    expect(401 * MB + EACH, 401 * MB + EACH, NEEDED_CERTAIN);
    /* Mapped shared memory is in both. */
    needed_begin(&w.n);
    w.p[0].value[PROCESS_pss_shmem] = 300 * MB;
    w.p[0].value[PROCESS_rss_shmem] = 300 * MB;
    w.s.job[JOB_tmpfs] = 256 * MB;
    add();
    expect(301 * MB + EACH, 301 * MB + EACH, NEEDED_CERTAIN);
}

/* memfd that no process maps raises Shmem of the machine, as others may; huge pages are apart. */
TEST(machine)
{
    begin(1);
    fill(&w.p[0], 5 * MB, 0, 5 * MB);
    add();
    w.s.job[JOB_machine_shmem] = 900 * MB;
    w.s.job[JOB_io_wchar] = 300 * MB;
    add();
    expect(5 * MB + EACH, 305 * MB + EACH, NEEDED_SHMEM);
    w.p[0].value[PROCESS_hugetlb] = 600 * MB;
    add();
    expect(5 * MB + EACH, 905 * MB + EACH, NEEDED_HUGETLB);
    /* What it wrote meanwhile is not known: it may be all that came. */
    w.p[0].absent[PROCESS_io_wchar] = BARO_ABSENT_DENIED;
    w.s.job[JOB_machine_shmem] = 2000 * MB;
    add();
    expect(5 * MB + EACH, 2005 * MB + EACH, NEEDED_SHMEM);
}

/* The first reading has control groups alone: huge pages that others use are no growth. */
TEST(machine_that_is_read_late)
{
    begin(1);
    fill(&w.p[0], 5 * MB, 0, 5 * MB);
    w.s.host_absent[HOST_hugepages_total] = w.s.host_absent[HOST_hugepages_free] = BARO_ABSENT_NOT_YET;
    add();
    w.s.host_absent[HOST_hugepages_total] = w.s.host_absent[HOST_hugepages_free] = BARO_PRESENT;
    w.s.host[HOST_hugepages_total] = 8000 * MB;
    add();
    expect(5 * MB + EACH, 5 * MB + EACH, NEEDED_CERTAIN);
}

TEST(zombies_and_threads)
{
    begin(6);
    fill(&w.p[0], 8 * MB, 0, 8 * MB);
    w.p[0].value[PROCESS_threads] = 11;
    w.p[0].value[PROCESS_page_tables] = 1 * MB;
    for (size_t i = 1; i < 6; i++) {
        w.p[i].value[PROCESS_state] = 'Z';
        w.p[i].value[PROCESS_rss_peak] = 8 * MB;
        w.p[i].value[PROCESS_faults_minor] = 9000;
    }
    add();
    expect(9 * MB + EACH + 10 * (23u << 10) + 5 * (10u << 10), 9 * MB + EACH + 10 * (23u << 10) + 5 * (10u << 10),
           NEEDED_CERTAIN);
    assert_int_equal(w.n.mark_at_most, 8 * MB);
}

/* 500 MB between two samples, with page faults for them, or for a sixteenth: a file that was mapped. */
TEST(marks)
{
    struct baro_exit e = {.id = 1};
    begin(2);
    for (size_t i = 0; i < 2; i++)
        fill(&w.p[i], 20 * MB, 8 * MB, 12 * MB);
    add();
    e.value[EXIT_rss_peak] = 508 * MB;
    e.value[EXIT_faults_minor] = 8000;
    needed_add_exit(&w.n, &e);
    assert_int_equal(w.n.mark, 8000 * 4096);
    assert_int_equal(w.n.mark_at_most, 500 * MB);
    e.id = 2;
    e.value[EXIT_faults_minor] = 130000;
    needed_add_exit(&w.n, &e);
    assert_int_equal(w.n.mark, 500 * MB);
}

static uint64_t together(void)
{
    bool unsure;
    return together_most(&w.n.between, UINT64_MAX, &unsure);
}

/* Four that share 160 MB copy 12 MB each before they end; 300 children of 0.4 MB that no sample had alive, of which two
 * were alive at one time, and which their parent has not waited for. */
TEST(together)
{
    begin(4);
    w.s.job[JOB_processes_peak] = 4;
    for (size_t i = 0; i < 4; i++)
        fill(&w.p[i], 160 * MB, 0, 40 * MB);
    for (size_t i = 0; i < 4; i++)
        w.p[i].value[PROCESS_faults_minor] = 10000;
    add();
    for (uint32_t i = 1; i <= 4; i++) {
        struct baro_exit e = {.id = i, .t_ns = w.s.t_ns + 10 * MB};
        e.value[EXIT_rss_peak] = 160 * MB;
        e.value[EXIT_faults_minor] = 13000;
        e.absent[EXIT_elapsed] = BARO_ABSENT_UNKNOWN;
        needed_add_exit(&w.n, &e);
    }
    w.s.n = 0;
    add();
    assert_int_equal(together(), 4 * (40 * MB + 3000 * 4096));
    begin(6);
    w.s.job[JOB_processes_peak] = 2;
    for (size_t i = 0; i < 6; i++) {
        w.p[i].value[PROCESS_state] = 'Z';
        w.p[i].value[PROCESS_faults_minor] = 100;
        w.p[i].first_ns = 50 * MB;
    }
    add();
    add();
    assert_int_equal(together(), 2 * 409600 + 6 * (10u << 10));
}
