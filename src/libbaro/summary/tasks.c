/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/summary/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "libbaro/sample/sample.h"

static const struct {
    const char *metric;
    bool is_sum;    /* a gauge over living processes: its peak is kept */
    bool is_memory; /* lacks what memory_unread counts */
} fields[TASK_FIELDS] = {
    [TASK_FIELD_CPU] = {"cpu_ns", false, false},
    [TASK_FIELD_CPU_USER] = {"cpu_user_ns", false, false},
    [TASK_FIELD_CPU_SYSTEM] = {"cpu_system_ns", false, false},
    [TASK_FIELD_RUN_DELAY] = {"run_delay_ns", false, false},
    [TASK_FIELD_RSS] = {"rss_bytes", true, false},
    [TASK_FIELD_PSS] = {"pss_bytes", true, true},
    [TASK_FIELD_USS] = {"uss_bytes", true, true},
    [TASK_FIELD_SWAP] = {"swap_bytes", true, false},
    [TASK_FIELD_MEMORY_UNREAD] = {"memory_unread", false, false},
    [TASK_FIELD_RSS_ONE] = {"process_rss_peak_bytes", false, false},
    [TASK_FIELD_USS_ONE] = {"process_uss_peak_bytes", false, true},
    [TASK_FIELD_IO_READ] = {"io_read_bytes", false, false},
    [TASK_FIELD_IO_WRITE] = {"io_write_bytes", false, false},
    [TASK_FIELD_IO_RCHAR] = {"io_rchar_bytes", false, false},
    [TASK_FIELD_IO_WCHAR] = {"io_wchar_bytes", false, false},
    [TASK_FIELD_PEAK] = {"processes_peak", false, false},
    [TASK_FIELD_STARTED] = {"processes_started", false, false},
    [TASK_FIELD_ENDED] = {"processes_ended", false, false},
    [TASK_FIELD_UNREAD] = {"processes_unread", false, false},
    [TASK_FIELD_IO_UNREAD] = {"processes_io_unread", false, false},
    [TASK_FIELD_COMMANDS_UNREAD] = {"commands_unread", false, false},
    [TASK_FIELD_COMMANDS_UNREAD_CPU] = {"commands_unread_cpu_ns", false, false},
    [TASK_FIELD_LIVING] = {"processes", false, false},
    [TASK_FIELD_SAMPLES] = {"process_samples", false, false},
    [TASK_FIELD_ACTIVE] = {"active_ns", false, false},
    [TASK_FIELD_BEGIN] = {"begin_ns", false, false},
    [TASK_FIELD_END] = {"end_ns", false, false},
    [TASK_FIELD_TCP_SENT] = {"tcp_sent_bytes", false, false},
    [TASK_FIELD_TCP_RECEIVED] = {"tcp_received_bytes", false, false},
    [TASK_FIELD_TCP_UNREAD] = {"processes_tcp_unread", false, false},
    [TASK_FIELD_EXIT_CODE] = {"exit_code", false, false},
    [TASK_FIELD_EXIT_SIGNAL] = {"exit_signal", false, false},
};

static struct task_row *task_of(struct tasks *t, const struct baro_row *e)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->at[i].id == baro_row_id(e))
            return &t->at[i];
    }
    struct task_row *grown = realloc(t->at, (t->n + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    t->at = grown;
    struct task_row *one = &t->at[t->n];
    *one =
        (struct task_row){.id = baro_row_id(e), .name = strdup(baro_row_name(e)), .label = strdup(baro_row_label(e))};
    memset(one->absent, BARO_ABSENT_NOT_YET, sizeof(one->absent));
    t->n++;
    return one;
}

/* Adds to the mean of uss over all rows of the task's processes. Example: two samples of two processes with 10 and
 * 30 MB each are four rows with a mean of 20 MB. A process whose uss is not known is not counted. */
static void add_uss(struct task_row *one, const uint64_t *value, const uint8_t *absent)
{
    bool first = one->absent[TASK_FIELD_SAMPLES] != BARO_PRESENT;
    uint64_t rows = first ? value[TASK_FIELD_LIVING] : value[TASK_FIELD_SAMPLES] - one->value[TASK_FIELD_SAMPLES];
    if (absent[TASK_FIELD_USS] || absent[TASK_FIELD_SAMPLES] || rows <= value[TASK_FIELD_MEMORY_UNREAD])
        return;
    one->uss_sum += (double)value[TASK_FIELD_USS];
    one->uss_rows += rows - value[TASK_FIELD_MEMORY_UNREAD];
}

static void add_row(struct task_row *one, uint64_t t_ns, const uint64_t *value, const uint8_t *absent)
{
    one->any_unread |= value[TASK_FIELD_MEMORY_UNREAD] > 0;
    add_uss(one, value, absent);
    bool is_short = absent[TASK_FIELD_COMMANDS_UNREAD] || value[TASK_FIELD_COMMANDS_UNREAD];
    for (int i = 0; i < TASK_FIELDS; i++) {
        bool was = one->absent[i] == BARO_PRESENT;
        if (absent[i]) {
            one->absent[i] = was ? one->absent[i] : absent[i];
            continue;
        }
        /* the processes ended before anything was read, so 0 is no value */
        if (fields[i].is_memory && !value[i] && !one->value[i] && one->any_unread) {
            one->absent[i] = BARO_ABSENT_NOT_YET;
            continue;
        }
        one->absent[i] = BARO_PRESENT;
        if (fields[i].is_sum && was && value[i] < one->value[i])
            continue;
        one->value[i] = value[i];
        one->is_bound[i] = fields[i].is_sum && fields[i].is_memory && value[TASK_FIELD_MEMORY_UNREAD] > 0;
    }
    /* once these are absent, they stay absent */
    one->absent[TASK_FIELD_COMMANDS_UNREAD] = absent[TASK_FIELD_COMMANDS_UNREAD];
    one->absent[TASK_FIELD_COMMANDS_UNREAD_CPU] = absent[TASK_FIELD_COMMANDS_UNREAD_CPU];
    for (int i = TASK_FIELD_CPU; i <= TASK_FIELD_CPU_SYSTEM; i++)
        one->is_bound[i] = one->value[TASK_FIELD_UNREAD] > 0;
    for (int i = TASK_FIELD_IO_READ; i <= TASK_FIELD_IO_WCHAR; i++)
        one->is_bound[i] = one->value[TASK_FIELD_IO_UNREAD] > 0;
    one->is_bound[TASK_FIELD_STARTED] = is_short;
    if (!absent[TASK_FIELD_CPU])
        derive_peak_add(&one->cores, t_ns, value[TASK_FIELD_CPU]);
}

static void add_processes(struct tasks *t, const struct baro_sample *s)
{
    size_t at = 0; /* neighbours often are of one task */
    for (size_t i = 0; i < baro_sample_rows(s, BARO_KIND_PROCESS); i++) {
        const struct baro_row *p = baro_sample_row(s, BARO_KIND_PROCESS, i);
        uint64_t id;
        if (baro_row_value(p, t->process_task, &id) != BARO_PRESENT)
            continue;
        for (size_t tried = 0; tried < t->n && t->at[at].id != id; tried++)
            at = at + 1 < t->n ? at + 1 : 0;
        uint64_t begin_ns = derive_begin_ns(&t->ticks, baro_row_start_ticks(p), baro_row_first_ns(p));
        begin_ns = begin_ns > t->before_ns ? begin_ns : 0;
        if (at < t->n && t->at[at].id == id)
            task_cores_add(&t->at[at].process, &t->last, p, t->process_cpu, s->t_ns, begin_ns);
    }
}

static void find_metrics(struct tasks *t)
{
    for (int i = 0; i < TASK_FIELDS; i++)
        t->metric[i] = baro_metric_find(BARO_KIND_TASK, fields[i].metric);
    t->process_cpu = baro_metric_find(BARO_KIND_PROCESS, "cpu");
    t->process_task = baro_metric_find(BARO_KIND_PROCESS, "task");
}

int tasks_add(struct tasks *t, const struct baro_sample *s)
{
    uint64_t value[TASK_FIELDS];
    uint8_t absent[TASK_FIELDS];
    int code = 0;
    size_t n = baro_sample_rows(s, BARO_KIND_TASK);
    if (n && !t->n)
        find_metrics(t);
    for (size_t i = 0; i < n; i++) {
        const struct baro_row *e = baro_sample_row(s, BARO_KIND_TASK, i);
        struct task_row *one = task_of(t, e);
        if (!one) {
            code = -ENOMEM;
            continue;
        }
        baro_row_values(e, t->metric, TASK_FIELDS, value, absent);
        add_row(one, baro_sample_t_ns(s), value, absent);
    }
    if (t->n)
        add_processes(t, s);
    t->before_ns = s->t_ns;
    return code;
}

void tasks_done(struct tasks *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free(t->at[i].name);
        free(t->at[i].label);
    }
    free(t->at);
    last_done(&t->last);
    *t = (struct tasks){0};
}

/* ---- values ---- */

/* A living process holds some rss, pss and uss, so a peak of 0 means that no sample has a process of the task.
 * Example: three processes of 100 ms, and a sample each second. */
int task_row_value(const struct task_row *one, enum task_field f, uint64_t *ret)
{
    bool of_memory = f == TASK_FIELD_RSS || f == TASK_FIELD_PSS || f == TASK_FIELD_USS || f == TASK_FIELD_RSS_ONE ||
                     f == TASK_FIELD_USS_ONE;
    bool any = one->absent[TASK_FIELD_STARTED] == BARO_PRESENT && one->value[TASK_FIELD_STARTED] > 0;
    if (one->absent[f] != BARO_PRESENT)
        return one->absent[f];
    if (of_memory && any && !one->value[f])
        return BARO_ABSENT_NOT_YET;
    *ret = one->value[f];
    return BARO_PRESENT;
}

int task_row_uss_mean(const struct task_row *one, uint64_t *ret)
{
    if (!one->uss_rows)
        return BARO_ABSENT_NOT_YET;
    *ret = whole_of(one->uss_sum / (double)one->uss_rows);
    return BARO_PRESENT;
}

/* CPU time that one process used in an interval was also used by its task. */
int task_row_cores(const struct task_row *one, double *ret_mean, double *ret_peak)
{
    if (one->absent[TASK_FIELD_CPU] != BARO_PRESENT || !one->value[TASK_FIELD_ACTIVE])
        return BARO_ABSENT_NOT_YET;
    double peak = one->cores.rate / 1e9 > one->process.peak ? one->cores.rate / 1e9 : one->process.peak;
    *ret_mean = (double)one->value[TASK_FIELD_CPU] / (double)one->value[TASK_FIELD_ACTIVE];
    *ret_peak = peak > *ret_mean ? peak : *ret_mean;
    return BARO_PRESENT;
}
