/* SPDX-License-Identifier: Apache-2.0 */
/* The members of several jobs by pid. */

#define UNIT_EACH set_up, tear_down
#include "unit.h"
#include "recorder/job/member_index.h"
#include "recorder/job/tree.h"

enum { JOBS = 40, PIDS = 3000, MEMBERS = JOBS * PIDS };

struct fixture {
    struct member_index d;
    struct tree tree[JOBS];
    struct member *m;
};

/* Job k is the owner of tree k, and has the pids that k + 1 divides. */
static bool has(size_t k, int32_t pid)
{
    return pid > 0 && pid <= PIDS && (size_t)pid % (k + 1) == 0;
}

static struct member *member_of(struct fixture *f, size_t k, int32_t pid)
{
    return &f->m[k * PIDS + (size_t)pid - 1];
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    f->m = calloc(MEMBERS, sizeof(*f->m));
    assert_int_equal(member_index_init(&f->d), 0);
    for (size_t k = 0; k < JOBS; k++) {
        f->tree[k].owner = &f->tree[k];
        for (int32_t pid = 1; pid <= PIDS; pid++) {
            struct member *m = member_of(f, k, pid);
            m->links.tree = &f->tree[k];
            m->row.key.pid = pid;
            if (has(k, pid))
                member_index_add(&f->d, m);
        }
    }
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    member_index_done(&f->d);
    free(f->m);
    free(f);
    return 0;
}

/* What it finds are the jobs from `from` on that have one of the pids, each once. */
static void expect_jobs(struct fixture *f, int32_t pid, int32_t also, size_t from)
{
    void *const *found;
    size_t n = member_index_find(&f->d, pid, also, &found), expected = 0;
    for (size_t k = from; k < JOBS; k++) {
        size_t times = 0;
        for (size_t i = 0; i < n; i++)
            times += found[i] == &f->tree[k];
        assert_int_equal(times, has(k, pid) || has(k, also));
        expected += times;
    }
    assert_int_equal(n, expected);
}

/* 2520 is a multiple of 1 to 10, so it is in many jobs: no number of them is too large. */
TEST(all_jobs_of_a_pid)
{
    struct fixture *f = *state;
    for (int32_t pid = 0; pid <= PIDS + 1; pid++)
        expect_jobs(f, pid, 0, 0);
    expect_jobs(f, 2520, 2000, 0);
    expect_jobs(f, 7, 2520, 0);
    expect_jobs(f, 2520, 2520, 0);
    expect_jobs(f, 100000, 2520, 0);
    void *const *found;
    assert_true(member_index_find(&f->d, 2520, 0, &found) > 16);
}

TEST(removed)
{
    struct fixture *f = *state;
    for (size_t k = 0; k < JOBS / 2; k++) {
        for (int32_t pid = PIDS; pid > 0; pid--)
            member_index_remove(&f->d, member_of(f, k, pid)); /* also those that are not in it */
    }
    for (int32_t pid = 1; pid <= PIDS; pid++)
        expect_jobs(f, pid, PIDS - pid, JOBS / 2);
}

/* A pid that was used again while the exit of the first process with it was not reported yet. */
TEST(two_members_of_a_job)
{
    struct fixture *f = *state;
    struct member again = {.links.tree = &f->tree[3], .row.key.pid = 2520};
    member_index_add(&f->d, &again);
    expect_jobs(f, 2520, 0, 0);
    member_index_remove(&f->d, member_of(f, 3, 2520));
    expect_jobs(f, 2520, 0, 0);
    member_index_remove(&f->d, &again);
}
