/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/threads.h"

#include <string.h>

#define THREADS_PART 4u

bool threads_may_read(struct threads *t)
{
    bool may = t->sampling->now_ns >= t->free_ns;
    t->sampling->thinned += !may;
    return may;
}

uint64_t threads_were_read(struct threads *t, uint64_t begin_cpu_ns)
{
    uint64_t end = begin_cpu_ns;
    clock_process_cpu_ns(0, &end);
    uint64_t pause = budget_pause(&t->sampling->account->budget, end - begin_cpu_ns, THREADS_PART);
    t->free_ns = t->sampling->now_ns + pause;
    return pause;
}

struct summing {
    struct sampling *sampling;
    int32_t pid;
    struct thread_sums *sums;
};

static bool add_thread(void *context, int32_t tid)
{
    struct summing *at = context;
    struct sampling *g = at->sampling;
    struct thread_sums *sums = at->sums;
    char name[40] = "task/";
    char digits[12];
    size_t n = 0, len = 5;
    for (int32_t v = tid; v > 0; v /= 10)
        digits[n++] = (char)('0' + v % 10);
    while (n)
        name[len++] = digits[--n];
    if (g->need & BARO_SOURCE_SCHEDSTAT) {
        struct pid_schedstat ss;
        memcpy(name + len, "/schedstat", 11);
        ssize_t got = proc_read_record(g->options.proc_fd, at->pid, name, g->text, 256);
        if (got > 0 && pid_schedstat_parse(span_of(g->text, (size_t)got), &ss) == 0) {
            sums->delay += ss.delay_ns;
            sums->has_delay = true;
        }
    }
    if (g->need & BARO_SOURCE_TASKS) {
        struct pid_status st;
        memcpy(name + len, "/status", 8);
        ssize_t got = proc_read_record(g->options.proc_fd, at->pid, name, g->text, sizeof(g->text));
        if (got > 0 && pid_status_parse(span_of(g->text, (size_t)got), &st) == 0 &&
            (st.valid & 1u << STATUS_SWITCHES_VOLUNTARY)) {
            sums->voluntary += st.value[STATUS_SWITCHES_VOLUNTARY];
            sums->involuntary += st.value[STATUS_SWITCHES_INVOLUNTARY];
            sums->has_switches = true;
        }
    }
    return true;
}

void threads_sum(struct threads *t, int32_t pid, struct thread_sums *ret)
{
    struct summing at = {t->sampling, pid, ret};
    *ret = (struct thread_sums){0};
    proc_each_task(t->sampling->options.proc_fd, pid, add_thread, &at);
}
