/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a sample in the order of a printed tree. */
#include "unit.h"
#include "libbaro/sample/sample.h"

#define N 7
#define NONE (-1)

static void expect(const int32_t pid_parent[N][2], const size_t order[N], const ptrdiff_t parent[N])
{
    struct baro_process process[N] = {0}, *list[N];
    size_t got_order[N];
    ptrdiff_t got_parent[N];
    for (size_t i = 0; i < N; i++) {
        process[i].key.pid = pid_parent[i][0];
        process[i].parent.pid = pid_parent[i][1];
        list[i] = &process[i];
    }
    const struct baro_sample s = {.processes = list, .n = N};
    assert_int_equal(baro_sample_forest(&s, got_order, got_parent, NULL), 0);
    assert_memory_equal(got_order, order, sizeof(got_order));
    assert_memory_equal(got_parent, parent, sizeof(got_parent));
}

/* 10 has 11 and 12, 11 has 13 and 14; 20, whose parent is elsewhere, has 21. */
TEST(children_stand_below_their_parents)
{
    expect((const int32_t[N][2]){{10, 1}, {11, 10}, {20, 2}, {12, 10}, {13, 11}, {21, 20}, {14, 11}},
           (const size_t[N]){0, 1, 4, 6, 3, 2, 5}, (const ptrdiff_t[N]){NONE, 0, NONE, 0, 1, 2, 1});
}

/* A tape may contain anything: a process that is its own parent, two that are each other's, one before its parent. */
TEST(circles_are_cut)
{
    expect((const int32_t[N][2]){{10, 10}, {11, 12}, {12, 11}, {13, 15}, {14, 13}, {15, 14}, {16, 0}},
           (const size_t[N]){0, 1, 2, 3, 4, 5, 6}, (const ptrdiff_t[N]){NONE, NONE, 1, NONE, 3, 4, NONE});
}

/* The parent of 11 was another process with the pid 10, which has ended. */
TEST(a_pid_is_no_identity)
{
    struct baro_process process[2] = {{.key = {10, 500}}, {.key = {11, 400}, .parent = {10, 300}}};
    struct baro_process *list[2] = {&process[0], &process[1]};
    const struct baro_sample s = {.processes = list, .n = 2};
    size_t order[2];
    ptrdiff_t parent[2];
    assert_int_equal(baro_sample_forest(&s, order, parent, NULL), 0);
    assert_int_equal(parent[1], NONE);
    process[1].parent.start = 500;
    assert_int_equal(baro_sample_forest(&s, order, parent, NULL), 0);
    assert_int_equal(parent[1], 0);
}

TEST(no_processes_are_no_forest)
{
    const struct baro_sample s = {0};
    size_t none[1];
    ptrdiff_t no_parents[1];
    assert_int_equal(baro_sample_forest(&s, none, no_parents, NULL), 0);
}
