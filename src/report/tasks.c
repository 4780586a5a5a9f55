/* SPDX-License-Identifier: Apache-2.0 */
#include "report/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/json.h"
#include "baro/baro.h"
#include "encode/escaped.h"
#include "encode/table.h"
#include "report/task_cores.h"

/* What is taken from the rows of a task: the last value, or the largest sum of all samples. */
enum field {
    F_CPU, F_CPU_USER, F_CPU_SYSTEM, F_RUN_DELAY, F_RSS, F_PSS, F_USS, F_SWAP, F_UNREAD_MEMORY, F_RSS_ONE, F_USS_ONE,
    F_IO_READ, F_IO_WRITE, F_IO_RCHAR, F_IO_WCHAR, F_PEAK, F_STARTED, F_ENDED, F_UNREAD, F_IO_UNREAD,
    F_COMMANDS_UNREAD, F_SAMPLES, F_LIVING, F_ACTIVE, F_BEGIN, F_END, FIELDS
};

static const struct {
    const char *metric, *key; /* key: of JSON */
    bool is_sum;              /* a gauge over the living: its peak is of interest */
    bool is_memory;           /* lacks what memory_unread counts */
} fields[FIELDS] = {
    [F_CPU] = {"cpu_ns", "cpu_ns", false, false},
    [F_CPU_USER] = {"cpu_user_ns", "cpu_user_ns", false, false},
    [F_CPU_SYSTEM] = {"cpu_system_ns", "cpu_system_ns", false, false},
    [F_RUN_DELAY] = {"run_delay_ns", "run_delay_ns", false, false},
    [F_RSS] = {"rss_bytes", "rss_peak_bytes", true, false},
    [F_PSS] = {"pss_bytes", "pss_peak_bytes", true, true},
    [F_USS] = {"uss_bytes", "uss_peak_bytes", true, true},
    [F_SWAP] = {"swap_bytes", "swap_peak_bytes", true, false},
    [F_UNREAD_MEMORY] = {"memory_unread", NULL, false, false},
    [F_RSS_ONE] = {"process_rss_peak_bytes", "process_rss_peak_bytes", false, false},
    [F_USS_ONE] = {"process_uss_peak_bytes", "process_uss_peak_bytes", false, true},
    [F_IO_READ] = {"io_read_bytes", "io_read_bytes", false, false},
    [F_IO_WRITE] = {"io_write_bytes", "io_write_bytes", false, false},
    [F_IO_RCHAR] = {"io_rchar_bytes", "io_rchar_bytes", false, false},
    [F_IO_WCHAR] = {"io_wchar_bytes", "io_wchar_bytes", false, false},
    [F_PEAK] = {"processes_peak", "processes_peak", false, false},
    [F_STARTED] = {"processes_started", "processes_started", false, false},
    [F_ENDED] = {"processes_ended", "processes_ended", false, false},
    [F_UNREAD] = {"processes_unread", "processes_unread", false, false},
    [F_IO_UNREAD] = {"processes_io_unread", "processes_io_unread", false, false},
    [F_COMMANDS_UNREAD] = {"commands_unread", "commands_unread", false, false},
    [F_LIVING] = {"processes", NULL, false, false},
    [F_SAMPLES] = {"process_samples", "process_samples", false, false},
    [F_ACTIVE] = {"active_ns", "active_ns", false, false},
    [F_BEGIN] = {"begin_ns", "begin_ns", false, false},
    [F_END] = {"end_ns", "end_ns", false, false},
};

struct task {
    uint32_t id;
    char *name, *label;
    uint64_t value[FIELDS];
    uint8_t absent[FIELDS];
    bool is_bound[FIELDS];
    uint64_t t_ns, cpu_ns; /* where the interval for cores_peak begins; t_ns 0: nowhere yet */
    double cores_peak;
    struct task_cores process;
    double uss_sum; /* of all rows of its processes, and how many of them had it */
    uint64_t uss_rows;
    bool any_unread; /* at some sample pss and uss of some process were not known */
};

struct report_tasks {
    struct task *at;
    size_t n;
    int kind, metric[FIELDS], process_cpu, process_task;
    struct last_table last; /* CPU time of each process */
    uint64_t before_ns;     /* when the sample before was */
};

/* ---- sample by sample ---- */

struct report_tasks *report_tasks_new(int kind)
{
    struct report_tasks *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->kind = kind;
    t->process_cpu = baro_metric_find(BARO_KIND_PROCESS, "cpu", 3);
    t->process_task = baro_metric_find(BARO_KIND_PROCESS, "task", 4);
    for (int i = 0; i < FIELDS; i++)
        t->metric[i] = baro_metric_find(kind, fields[i].metric, strlen(fields[i].metric));
    return t;
}

static struct task *task_of(struct report_tasks *t, const struct baro_entity *e)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->at[i].id == baro_entity_id(e))
            return &t->at[i];
    }
    struct task *grown = realloc(t->at, (t->n + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    t->at = grown;
    struct task *one = &t->at[t->n];
    *one = (struct task){.id = baro_entity_id(e), .name = strdup(baro_entity_name(e)),
                         .label = strdup(baro_entity_label(e))};
    memset(one->absent, BARO_ABSENT_NOT_YET, sizeof(one->absent));
    t->n++;
    return one;
}

static void add_cores(struct task *one, uint64_t t_ns, uint64_t cpu_ns)
{
    if (one->t_ns && t_ns < one->t_ns + TASK_CORES_WITHIN)
        return;
    double cores = one->t_ns ? (double)(cpu_ns - one->cpu_ns) / (double)(t_ns - one->t_ns) : 0;
    one->cores_peak = cores > one->cores_peak ? cores : one->cores_peak;
    one->t_ns = t_ns;
    one->cpu_ns = cpu_ns;
}

/* For the mean over all rows of its processes. Example: two samples of two processes with 10 and 30 MB each are four
 * rows, and 20 MB. A process of which it is not known does not count. */
static void add_uss(struct task *one, const uint64_t *value, const uint8_t *absent)
{
    bool first = one->absent[F_SAMPLES] != BARO_PRESENT;
    uint64_t rows = first ? value[F_LIVING] : value[F_SAMPLES] - one->value[F_SAMPLES];
    if (absent[F_USS] || absent[F_SAMPLES] || rows <= value[F_UNREAD_MEMORY])
        return;
    one->uss_sum += (double)value[F_USS];
    one->uss_rows += rows - value[F_UNREAD_MEMORY];
}

static uint64_t uss_mean(const struct task *one)
{
    return one->uss_rows ? (uint64_t)(one->uss_sum / (double)one->uss_rows) : 0;
}

static void add_row(struct task *one, uint64_t t_ns, const uint64_t *value, const uint8_t *absent)
{
    one->any_unread |= value[F_UNREAD_MEMORY] > 0;
    add_uss(one, value, absent);
    bool is_short = absent[F_COMMANDS_UNREAD] || value[F_COMMANDS_UNREAD];
    for (int i = 0; i < FIELDS; i++) {
        bool was = one->absent[i] == BARO_PRESENT;
        if (absent[i]) {
            one->absent[i] = was ? one->absent[i] : absent[i];
            continue;
        }
        /* nothing was read in time of processes that lived so shortly */
        if (fields[i].is_memory && !value[i] && !one->value[i] && one->any_unread) {
            one->absent[i] = BARO_ABSENT_NOT_YET;
            continue;
        }
        one->absent[i] = BARO_PRESENT;
        if (fields[i].is_sum && was && value[i] < one->value[i])
            continue;
        one->value[i] = value[i];
        one->is_bound[i] = fields[i].is_sum && fields[i].is_memory && value[F_UNREAD_MEMORY] > 0;
    }
    one->absent[F_COMMANDS_UNREAD] = absent[F_COMMANDS_UNREAD]; /* once it is not known, it stays so */
    one->is_bound[F_CPU] = one->is_bound[F_CPU_USER] = one->is_bound[F_CPU_SYSTEM] = one->value[F_UNREAD] > 0;
    for (int i = F_IO_READ; i <= F_IO_WCHAR; i++)
        one->is_bound[i] = one->value[F_IO_UNREAD] > 0;
    one->is_bound[F_STARTED] = is_short;
    add_cores(one, t_ns, value[F_CPU]);
}

static void add_processes(struct report_tasks *t, const struct baro_sample *s)
{
    size_t at = 0; /* neighbours often are of one task */
    for (size_t i = 0; i < baro_sample_count(s); i++) {
        const struct baro_process *p = baro_sample_process(s, i);
        uint64_t id;
        if (baro_process_value(p, t->process_task, &id) != BARO_PRESENT)
            continue;
        for (size_t tried = 0; tried < t->n && t->at[at].id != id; tried++)
            at = at + 1 < t->n ? at + 1 : 0;
        if (at < t->n && t->at[at].id == id)
            task_cores_add(&t->at[at].process, &t->last, p, t->process_cpu, baro_sample_t_ns(s), t->before_ns);
    }
    t->before_ns = baro_sample_t_ns(s);
}

void report_tasks_add(struct report_tasks *t, const struct baro_sample *s)
{
    uint64_t value[FIELDS];
    uint8_t absent[FIELDS];
    for (size_t i = 0; i < baro_sample_entity_count(s, t->kind); i++) {
        const struct baro_entity *e = baro_sample_entity(s, t->kind, i);
        struct task *one = task_of(t, e);
        if (!one)
            continue;
        baro_entity_values(e, t->metric, FIELDS, value, absent);
        add_row(one, baro_sample_t_ns(s), value, absent);
    }
    add_processes(t, s);
}

void report_tasks_free(struct report_tasks *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++) {
        free(t->at[i].name);
        free(t->at[i].label);
    }
    free(t->at);
    last_done(&t->last);
    free(t);
}

size_t report_tasks_count(const struct report_tasks *t)
{
    return t ? t->n : 0;
}

/* What one process used for a while, its task used as well. */
static double cores_peak(const struct task *one, double mean)
{
    double peak = one->cores_peak > one->process.peak ? one->cores_peak : one->process.peak;
    return peak > mean ? peak : mean;
}

static bool cores_mean(const struct task *one, double *ret)
{
    bool known = one->absent[F_CPU] == BARO_PRESENT && one->value[F_ACTIVE] > 0;
    *ret = known ? (double)one->value[F_CPU] / (double)one->value[F_ACTIVE] : 0;
    return known;
}

/* No process holds 0 bytes of rss, pss or uss: a peak of 0 says that none was in any sample. Example: three processes
 * of 100 ms, and a sample each second. */
static bool is_known(const struct task *one, enum field f)
{
    bool of_memory = f == F_RSS || f == F_PSS || f == F_USS || f == F_RSS_ONE || f == F_USS_ONE;
    bool any = one->absent[F_STARTED] == BARO_PRESENT && one->value[F_STARTED] > 0;
    return one->absent[f] == BARO_PRESENT && !(of_memory && any && !one->value[f]);
}

/* ---- as a table ---- */

static bool put_field(struct table *t, const struct task *one, enum field f, void (*format)(struct buf *, uint64_t))
{
    struct buf cell = {0};
    if (!is_known(one, f)) {
        table_text(t, "?");
        return false;
    }
    if (one->is_bound[f])
        buf_byte(&cell, '>');
    format(&cell, one->value[f]);
    table_take(t, &cell);
    buf_done(&cell);
    return one->is_bound[f];
}

static void put_cores(struct table *t, bool known, double cores)
{
    struct buf cell = {0};
    if (known)
        fmt_decimal(&cell, cores, 2);
    else
        buf_byte(&cell, '?');
    table_take(t, &cell);
    buf_done(&cell);
}

static const struct {
    const char *title;
    enum field field;
    void (*format)(struct buf *, uint64_t);
} columns[] = {
    {"procs", F_STARTED, fmt_count},     {"samples", F_SAMPLES, fmt_count},    {"uss/proc", F_USS_ONE, fmt_bytes},
    {"uss", F_USS, fmt_bytes},           {"rss", F_RSS, fmt_bytes},            {"pss", F_PSS, fmt_bytes},
    {"user", F_CPU_USER, fmt_duration},  {"system", F_CPU_SYSTEM, fmt_duration}, {"cpu", F_CPU, fmt_duration},
    {"active", F_ACTIVE, fmt_duration},
};
#define COLUMNS (sizeof(columns) / sizeof(*columns))

static void put_mean(struct table *t, const struct task *one)
{
    struct buf cell = {0};
    if (one->uss_rows)
        fmt_bytes(&cell, uss_mean(one));
    else
        buf_byte(&cell, '?');
    table_take(t, &cell);
    buf_done(&cell);
}

static bool put_task(struct table *t, const struct task *one)
{
    struct buf cell = {0};
    double cores;
    bool bound = false, known = cores_mean(one, &cores);
    for (size_t k = 0; k < COLUMNS; k++)
        bound |= put_field(t, one, columns[k].field, columns[k].format);
    put_mean(t, one);
    put_cores(t, one->process.time_ns > 0, one->process.peak);
    put_cores(t, known, cores);
    put_cores(t, known, cores_peak(one, cores));
    text_escaped(&cell, one->name, strlen(one->name));
    table_take(t, &cell);
    buf_done(&cell);
    return bound;
}

static int heavier(const void *a, const void *b)
{
    const struct task *x = *(const struct task *const *)a, *y = *(const struct task *const *)b;
    return x->value[F_CPU] != y->value[F_CPU] ? (x->value[F_CPU] < y->value[F_CPU] ? 1 : -1) : x < y ? -1 : x > y;
}

/* The heaviest first. */
static bool put_tasks(struct table *t, const struct report_tasks *tasks)
{
    bool bound = false;
    const struct task **order = calloc(tasks->n, sizeof(*order));
    for (size_t i = 0; order && i < tasks->n; i++)
        order[i] = &tasks->at[i];
    if (order)
        qsort(order, tasks->n, sizeof(*order), heavier);
    for (size_t i = 0; i < tasks->n; i++)
        bound |= put_task(t, order ? order[i] : &tasks->at[i]);
    free(order);
    return bound;
}

void report_tasks_text(const struct report_tasks *tasks, int width, struct buf *ret)
{
    /* In a narrow terminal samples, cores/proc, user, system, pss, rss, uss-mean and active go first. */
    struct table t = {.columns = COLUMNS + 5, .drop = {1, 11, 6, 7, 5, 4, 10, 9}, .n_drop = 8};
    for (unsigned i = 0; i + 1 < t.columns; i++)
        t.right[i] = true;
    for (size_t k = 0; k < COLUMNS; k++)
        table_text(&t, columns[k].title);
    table_text(&t, "uss-mean");
    table_text(&t, "cores/proc");
    table_text(&t, "cores");
    table_text(&t, "peak");
    table_text(&t, "task");
    bool bound = put_tasks(&t, tasks);
    table_print(&t, width, ret);
    if (bound)
        buf_str(ret, "> at least: some processes were missed, or ended before this was known of them\n");
    table_done(&t);
}

/* ---- as JSON ---- */

static void put_json(struct json *j, const struct task *one)
{
    double cores;
    bool known = cores_mean(one, &cores);
    json_begin(j, '{');
    json_key(j, "name");
    json_text(j, one->name);
    json_key(j, "rule");
    json_text(j, one->label);
    for (int i = 0; i < FIELDS; i++) {
        if (!fields[i].key)
            continue;
        json_key(j, fields[i].key);
        if (is_known(one, (enum field)i))
            json_u64(j, one->value[i]);
        else
            json_null(j);
    }
    json_key(j, "process_uss_mean_bytes");
    one->uss_rows ? json_u64(j, uss_mean(one)) : json_null(j);
    static const struct {
        const char *key;
        enum field of;
    } bounds[] = {
        {"cpu_is_lower_bound", F_CPU}, {"io_is_lower_bound", F_IO_READ},
        {"pss_is_lower_bound", F_PSS}, {"uss_is_lower_bound", F_USS},
        {"processes_started_is_lower_bound", F_STARTED},
    };
    for (size_t i = 0; i < sizeof(bounds) / sizeof(*bounds); i++) {
        json_key(j, bounds[i].key);
        json_bool(j, one->is_bound[bounds[i].of]);
    }
    json_key(j, "cores_mean");
    known ? json_double(j, cores) : json_null(j);
    json_key(j, "cores_peak");
    known ? json_double(j, cores_peak(one, cores)) : json_null(j);
    bool of_one = one->process.time_ns > 0;
    json_key(j, "process_cores_mean");
    of_one ? json_double(j, one->process.used_ns / one->process.time_ns) : json_null(j);
    json_key(j, "process_cores_peak");
    of_one ? json_double(j, one->process.peak) : json_null(j);
    json_end(j, '}');
}

void report_tasks_json(const struct report_tasks *tasks, struct json *j)
{
    json_begin(j, '[');
    for (size_t i = 0; i < tasks->n; i++)
        put_json(j, &tasks->at[i]);
    json_end(j, ']');
}
