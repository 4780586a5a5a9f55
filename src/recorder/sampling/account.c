/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/sampling/account.h"

#include "base/clock.h"
#include "recorder/helper/helper.h"
#include "recorder/helper/worker.h"
#include "recorder/select/select.h"

void account_init(struct account *a, uint64_t overhead_ppm, uint64_t start_monotonic_ns)
{
    *a = (struct account){.start_ns = start_monotonic_ns};
    budget_init(&a->budget, overhead_ppm);
    read_budget_init(&a->read_budget);
}

static uint64_t helper_ns(struct account *a)
{
    uint64_t now;
    if (a->watching && clock_process_cpu_ns(a->watching, &now) == 0)
        a->watching_ns = now;
    return a->watching_ns + (a->helper ? helper_cpu_ns(a->helper) : 0) + (a->files ? helper_cpu_ns(a->files) : 0) +
           (a->selector ? select_cpu_ns(a->selector) : 0) + (a->worker ? worker_cpu_ns(a->worker) : 0) +
           (a->gpu_worker ? worker_cpu_ns(a->gpu_worker) : 0) + a->gpu_ended_ns;
}

struct helper *account_files(struct account *a, int proc_fd)
{
    if (!a->files && !a->no_files)
        a->no_files = helper_new(&a->files, proc_fd, false, NULL) < 0;
    return a->files;
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
    helper_free(a->helper);
    helper_free(a->files);
    a->helper = a->files = NULL;
}
