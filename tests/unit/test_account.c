/* SPDX-License-Identifier: Apache-2.0 */
/* The account that all recordings of an observer share: CPU time is counted once, and equally. */
#include <fcntl.h>
#include <unistd.h>

#include "unit.h"
#include "base/clock.h"
#include "recorder/helper/helper.h"
#include "recorder/sampling/own_cost.h"

#define MS NS_PER_MS

static uint64_t used_ns(void)
{
    uint64_t ns = 0;
    clock_process_cpu_ns(0, &ns);
    return ns;
}

static void burn(uint64_t ns)
{
    uint64_t until = used_ns() + ns;
    while (used_ns() < until)
        ;
}

static void nobody(void *context, const struct helper_reply *reply)
{
}

TEST(what_belongs_to_no_recording)
{
    struct account a;
    account_init(&a, 10000, 0);
    a.recordings = 2;
    a.ticks_ns = 30;
    assert_int_equal(account_shared_ns(&a, 100), 70);
    assert_int_equal(account_shared_ns(&a, 20), 0);
    assert_int_equal(account_take_helper(&a), 0);
    account_done(&a);
}

/* Reading their files costs the helpers CPU time, which is taken once. */
TEST(helpers_are_charged_once)
{
    struct account a;
    int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    account_init(&a, 10000, 0);
    struct helper *files = account_files(&a, proc_fd);
    assert_non_null(files);
    assert_ptr_equal(account_files(&a, proc_fd), files);
    uint64_t taken = 0;
    for (int i = 0; i < 2000 && !taken; i++) {
        const struct helper_request r = {{1, (uint64_t)i}, HELPER_FILE, "/proc/self/stat", nobody, NULL};
        helper_ask(files, &r, 1, 100 * MS, -1, nobody, NULL);
        taken = account_take_helper(&a);
    }
    assert_true(taken > 0);
    assert_true(account_shared_ns(&a, 0) >= taken);
    for (int i = 0; i < 10; i++)
        taken += account_take_helper(&a);
    assert_true(taken <= worker_cpu_ns(helper_worker(files)));
    account_done(&a);
    close(proc_fd);
}

struct recording {
    struct sampling sampling;
    struct job job;
    struct own_cost own;
};

static void begin(struct recording *r, struct account *a, uint64_t before_ns)
{
    r->sampling.account = a;
    r->sampling.job = &r->job;
    r->sampling.options.self[0] = getpid();
    r->sampling.options.before = (struct clock_before){getpid(), before_ns};
    r->sampling.options.proc_fd = -1;
    r->sampling.options.start_monotonic_ns = clock_monotonic_ns();
    own_cost_init(&r->own, &r->sampling);
}

static void tick(struct recording *r, uint64_t ns)
{
    r->sampling.now_ns = clock_monotonic_ns() - r->sampling.options.start_monotonic_ns;
    own_cost_begin(&r->own);
    burn(ns);
    own_cost_end(&r->own, 0, 0);
    own_cost_charge(&r->own, true);
}

static uint64_t cost(const struct recording *r)
{
    return r->sampling.sample.self[RECORDER_cpu];
}

/* Two recordings: each has what its own samples cost and half of the rest, and together they have all. */
TEST(each_has_its_own_and_an_equal_share)
{
    struct account a;
    struct recording *r = calloc(2, sizeof(*r));
    account_init(&a, 10000, clock_monotonic_ns());
    a.recordings = 2;
    uint64_t since = used_ns();
    begin(&r[0], &a, since);
    begin(&r[1], &a, since);
    for (int i = 0; i < 10; i++) {
        burn(MS);
        tick(&r[0], MS);
        tick(&r[1], 4 * MS);
    }
    tick(&r[0], 0); /* its share of the last tick of the other is none, but it has seen all by now */
    uint64_t all = used_ns() - since, sum = cost(&r[0]) + cost(&r[1]);
    assert_true(sum <= all && sum >= all - all / 10);
    uint64_t own[] = {r[0].own.sample_cpu_ns, r[1].own.sample_cpu_ns};
    assert_true(own[0] >= 10 * MS && own[1] >= 40 * MS && own[1] > own[0]);
    uint64_t share[] = {cost(&r[0]) - own[0], cost(&r[1]) - own[1]};
    assert_true(share[0] >= 4 * MS && share[1] >= 4 * MS); /* of 10 ms that belong to neither */
    assert_true(share[0] < share[1] + all / 20 && share[1] < share[0] + all / 20);
    /* One budget has paid for all of it, and for nothing before. */
    assert_true(a.charged_own_ns <= all && a.charged_own_ns >= all - all / 10);
    free(r);
    account_done(&a);
}

/* What the program that executed ours had used, of this process or of the wrapper, is no cost of ours. */
TEST(what_was_before_main_is_no_cost)
{
    struct account a;
    struct recording *r = calloc(1, sizeof(*r));
    account_init(&a, 10000, clock_monotonic_ns());
    burn(20 * MS);
    uint64_t before = used_ns();
    begin(r, &a, before);
    tick(r, MS);
    uint64_t all = used_ns() - before;
    assert_true(cost(r) >= MS && cost(r) <= all && a.charged_own_ns <= all);
    r->sampling.options.before = (struct clock_before){getppid(), UINT64_MAX};
    r->sampling.options.self[1] = getppid(); /* the wrapper's pid was given to another process, which used less */
    tick(r, 0);
    assert_true(cost(r) >= before && cost(r) <= used_ns());
    free(r);
    account_done(&a);
}
