/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/sampling/account.h"

#include "recorder/helper/helper.h"

void account_init(struct account *a, uint64_t overhead_ppm, uint64_t start_monotonic_ns)
{
    *a = (struct account){.start_ns = start_monotonic_ns};
    budget_init(&a->budget, overhead_ppm);
    read_budget_init(&a->read_budget);
}

void account_add(struct account *a, struct worker *w)
{
    if (w && a->n_workers < ACCOUNT_WORKERS)
        a->worker[a->n_workers++] = w;
}

void account_remove(struct account *a, struct worker *w)
{
    for (size_t i = 0; i < a->n_workers; i++) {
        if (a->worker[i] == w) {
            a->ended_ns += worker_cpu_ns(w);
            a->worker[i] = a->worker[--a->n_workers];
        }
    }
}

static uint64_t helper_ns(const struct account *a)
{
    uint64_t sum = a->ended_ns;
    for (size_t i = 0; i < a->n_workers; i++)
        sum += worker_cpu_ns(a->worker[i]);
    return sum;
}

static struct helper *make_helper(struct account *a, struct helper **at, bool *failed, int proc_fd, bool want_cmdline)
{
    if (!*at && !*failed) {
        *failed = helper_new(at, proc_fd, want_cmdline, NULL) < 0;
        account_add(a, helper_worker(*at));
    }
    return *at;
}

struct helper *account_files(struct account *a, int proc_fd)
{
    return make_helper(a, &a->files, &a->no_files, proc_fd, false);
}

struct helper *account_helper(struct account *a, int proc_fd, bool want_cmdline)
{
    return make_helper(a, &a->helper, &a->no_helper, proc_fd, want_cmdline);
}

uint64_t account_shared_ns(struct account *a, uint64_t own_cpu_ns)
{
    return (own_cpu_ns > a->ticks_ns ? own_cpu_ns - a->ticks_ns : 0) + helper_ns(a);
}

uint64_t account_take_helper(struct account *a)
{
    uint64_t now = helper_ns(a), more = now > a->charged_helper_ns ? now - a->charged_helper_ns : 0;
    a->charged_helper_ns += more;
    return more;
}

void account_done(struct account *a)
{
    a->n_workers = 0;
    helper_free(a->helper);
    helper_free(a->files);
    a->helper = a->files = NULL;
}
