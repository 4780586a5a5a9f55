/* SPDX-License-Identifier: Apache-2.0 */
/* The last reading of a recording: the helper is asked once more, and its answer is in that reading. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "host_tree.h"
#include "recorder/helper/helper.h"

static const struct baro_entity *root_of(void)
{
    host_fill(m.host, &m.sample);
    const struct baro_entity *e = named(BARO_KIND_FS, "/");
    assert_non_null(e);
    return e;
}

/* On a busy machine the helper may not answer in some milliseconds; then the previous answer stays. */
static void filesystems_at_the_end(void **state)
{
    bool at_the_end = false;
    for (int round = 0; round < 50 && !at_the_end; round++) {
        machine_again();
        put("proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n");
        machine_open(true);
        for (int i = 0; i < 400; i++) {
            host_tree_read();
            if (root_of()->absent[FS_total] != BARO_ABSENT_NOT_YET)
                break;
            usleep(10000);
        }
        const struct baro_entity *e = root_of();
        uint64_t before = e->value[FS_read_at], end = m.now_ns + NS_PER_SEC;
        assert_true(!e->absent[FS_total] && before <= m.now_ns);
        host_tick(m.host, end, BUDGET_ALL, true);
        e = root_of();
        assert_true(!e->absent[FS_total] && (e->value[FS_read_at] == before || e->value[FS_read_at] == end));
        at_the_end = e->value[FS_read_at] == end;
    }
    assert_true(at_the_end);
}

/* A job that was too short for a helper gets none for its end. */
static void none_for_the_end_alone(void **state)
{
    char proc[80];
    put("proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n");
    snprintf(proc, sizeof(proc), "%s/proc", m.dir);
    struct host_options o = {.proc_fd = open(proc, O_RDONLY | O_DIRECTORY),
                             .sys_fd = -1,
                             .clk_tck = 100,
                             .page_size = 4096,
                             .helper = true,
                             .helper_after_ns = 100 * NS_PER_MS,
                             .entity_ids = &m.ids};
    assert_int_equal(host_new(&m.host, &o, NULL), 0);
    host_tick(m.host, 30 * NS_PER_MS, BUDGET_ALL, false);
    host_tick(m.host, 200 * NS_PER_MS, BUDGET_ALL, true);
    assert_int_equal(worker_pid(helper_worker(host_helper(m.host))), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {HOST_TEST(filesystems_at_the_end), HOST_TEST(none_for_the_end_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
