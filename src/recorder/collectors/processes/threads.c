/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/processes/threads.h"

#include <string.h>

#define THREADS_PART 4u
#define THREADS_BURST_NS (NS_PER_SEC / 4) /* what was not spent accumulates for so long */

void threads_tick(struct threads *t)
{
    if (!t->refused)
        t->round_ns = t->sampling->now_ns;
    t->refused = false;
}

/* Example: of ten processes with 100 threads each the budget allows two per tick. The first two of a tick were read in
 * this round, so the next two have their turn; the round ends when none had to wait. */
bool threads_may_read(struct threads *t, uint64_t last_ns)
{
    bool had_its_turn = last_ns && last_ns >= t->round_ns, may = !had_its_turn && t->sampling->now_ns >= t->free_ns;
    t->refused |= !had_its_turn && !may;
    t->sampling->thinned += !may;
    return may;
}

uint64_t threads_were_read(struct threads *t, uint64_t begin_cpu_ns)
{
    uint64_t end = begin_cpu_ns;
    clock_process_cpu_ns(0, &end);
    uint64_t pause = budget_pause(&t->sampling->account->budget, end - begin_cpu_ns, THREADS_PART);
    uint64_t now_ns = t->sampling->now_ns, least = now_ns > THREADS_BURST_NS ? now_ns - THREADS_BURST_NS : 0;
    t->free_ns = (t->free_ns > least ? t->free_ns : least) + pause;
    return pause;
}

struct summing {
    struct sampling *sampling;
    int32_t pid;
    bool switches;
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
    if (at->switches) {
        struct pid_status st;
        memcpy(name + len, "/status", 8);
        ssize_t got = proc_read_record(g->options.proc_fd, at->pid, name, g->text, SAMPLING_TEXT);
        if (got > 0 && pid_status_parse(span_of(g->text, (size_t)got), &st) == 0 &&
            (st.valid & 1u << STATUS_SWITCHES_VOLUNTARY)) {
            sums->voluntary += st.value[STATUS_SWITCHES_VOLUNTARY];
            sums->involuntary += st.value[STATUS_SWITCHES_INVOLUNTARY];
            sums->has_switches = true;
        }
    }
    return true;
}

void threads_sum(struct threads *t, int32_t pid, bool switches, struct thread_sums *ret)
{
    struct summing at = {t->sampling, pid, switches && (t->sampling->need & BARO_SOURCE_TASKS), ret};
    *ret = (struct thread_sums){0};
    proc_each_task(t->sampling->options.proc_fd, pid, add_thread, &at);
}
