/* SPDX-License-Identifier: Apache-2.0 */
/* All that reads tapes: the calls of libbaro and the commands of baro. */
#include <string.h>

#include "baro/baro.h"
#include "mutate.h"

int baro_main(int argc, char **argv); /* main() of baro, by another name */

/* ---- getters ---- */
static uint64_t look_process(const struct baro_tape *t, const struct baro_process *p)
{
    const char *cmdline = baro_process_cmdline(p);
    uint64_t sum = strlen(baro_process_name(p)) + (cmdline ? strlen(cmdline)
        : (size_t)baro_process_cmdline_absent(p)), v = 0;
    sum += baro_process_id(p) + (uint64_t)baro_process_pid(p) + baro_process_start_ticks(p)
        + (uint64_t)baro_process_ppid(p);
    sum += baro_process_parent_start_ticks(p) + baro_process_uid(p) + baro_process_first_ns(p)
        + baro_process_read_ns(p);
    sum += strlen(baro_origin_name(baro_process_origin(p)));
    for (int metric = -1; metric <= baro_tape_metric_count(t, BARO_KIND_PROCESS); metric++)
        sum += (uint64_t)baro_process_value(p, metric, &v) + v;
    return sum;
}

static uint64_t look_attribute(const struct baro_attribute *a)
{
    return strlen(a->name) + a->u64 + (uint64_t)a->i64 + (a->text ? strlen(a->text) : 0) + (a->real > 0);
}

static uint64_t look_entity(const struct baro_tape *t, const struct baro_entity *e)
{
    uint64_t sum = strlen(baro_entity_name(e)) + strlen(baro_entity_label(e)) + baro_entity_id(e), v = 0;
    struct baro_attribute a;
    int kind = baro_entity_kind(e);
    sum += (uint64_t)baro_entity_owner(e) + (uint64_t)baro_entity_owner_pid(e) + baro_entity_owner_id(e)
        + baro_entity_owner_start_ticks(e) + (uint64_t)baro_entity_read_ns(e, &v) + v;
    for (size_t i = 0; baro_entity_attribute(e, i, &a) == 0; i++)
        sum += look_attribute(&a) + (uint64_t)baro_entity_attribute_find(e, a.name, &a);
    for (int metric = -1; metric <= baro_tape_metric_count(t, kind); metric++) {
        const struct baro_metric *m = baro_tape_metric(t, kind, metric);
        sum += (uint64_t)baro_entity_value(e, metric, &v) + (m && baro_metric_real(m, v) > 0);
    }
    return sum;
}

static uint64_t look_machine(const struct baro_tape *t, const struct baro_sample *s)
{
    uint64_t sum = 0, v = 0;
    sum += (uint64_t)baro_sample_host_ns(s, &v) + v + (uint64_t)baro_host_busy_ns(s, &v);
    for (int metric = -1; metric <= baro_tape_metric_count(t, BARO_KIND_HOST); metric++)
        sum += (uint64_t)baro_sample_host(s, metric, &v) + v;
    for (int kind = -1; kind <= baro_tape_kind_count(t); kind++) {
        sum += (uint64_t)baro_sample_entities_ns(s, kind, &v) + v;
        for (size_t i = 0; i < baro_sample_entity_count(s, kind); i++)
            sum += look_entity(t, baro_sample_entity(s, kind, i));
    }
    return sum;
}

static uint64_t look_sample(const struct baro_tape *t, const struct baro_sample *s)
{
    uint64_t sum = baro_sample_t_ns(s) + baro_sample_lossy(s), v = 0;
    struct baro_sum total;
    for (int metric = -1; metric <= baro_tape_metric_count(t, BARO_KIND_JOB); metric++)
        sum += (uint64_t)baro_sample_job(s, metric, &v) + v;
    for (int metric = -1; metric <= baro_tape_metric_count(t, BARO_KIND_RECORDER); metric++)
        sum += (uint64_t)baro_sample_recorder(s, metric, &v) + v;
    for (int metric = -1; metric <= baro_tape_metric_count(t, BARO_KIND_PROCESS); metric++)
        sum += (uint64_t)baro_sample_sum(s, metric, &total);
    for (size_t i = 0; i < baro_sample_count(s); i++)
        sum += look_process(t, baro_sample_process(s, i));
    for (size_t i = baro_sample_next_changed(s, 0); i < baro_sample_count(s); i = baro_sample_next_changed(s, i + 1)) {
        const struct baro_process *p = baro_sample_process(s, i);
        if (sum % 64 == 0)
            sum += baro_sample_find(s, baro_process_pid(p), baro_process_start_ticks(p)) != p;
    }
    return sum + look_machine(t, s);
}

static uint64_t look_exit(const struct baro_tape *t, const struct baro_exit *e)
{
    const char *cmdline = baro_exit_cmdline(e);
    uint64_t sum = strlen(baro_exit_name(e)) + (cmdline ? strlen(cmdline) : 0), v = 0;
    int status = 0;
    sum += baro_exit_id(e) + (uint64_t)baro_exit_pid(e) + baro_exit_uid(e)
        + strlen(baro_origin_name(baro_exit_origin(e)));
    sum += strlen(baro_exit_source_name(baro_exit_source_of(e))) + (uint64_t)baro_exit_status(e, &status)
        + (uint64_t)status;
    for (int metric = -1; metric <= baro_tape_metric_count(t, BARO_KIND_EXIT); metric++)
        sum += (uint64_t)baro_exit_value(e, metric, &v) + v;
    return sum;
}

static uint64_t look_event(const struct baro_event *e)
{
    struct baro_attribute a;
    uint64_t sum = strlen(baro_event_text(e)) + strlen(baro_event_name(e)) + baro_event_number(e)
        + (uint64_t)baro_event_pid(e);
    for (size_t i = 0; baro_event_attribute(e, i, &a) == 0; i++)
        sum += look_attribute(&a);
    return sum + (uint64_t)baro_event_attribute_find(e, "mode", &a);
}

static uint64_t look(const struct baro_tape *t, const struct baro_record *r)
{
    uint64_t v = 0, sum;
    const char *source;
    sum = (uint64_t)baro_limits_memory_bytes(baro_tape_limits(t), &v, &source) + v + strlen(source);
    sum += (uint64_t)baro_limits_cores_ppm(baro_tape_limits(t), &v, &source) + v + strlen(source);
    sum += (uint64_t)baro_limits_pids(baro_tape_limits(t), &v, &source) + v + strlen(source);
    if (r->kind == BARO_RECORD_SAMPLE)
        return sum + look_sample(t, r->u.sample);
    if (r->kind == BARO_RECORD_EXIT)
        return sum + look_exit(t, r->u.exit);
    return r->kind == BARO_RECORD_EVENT ? sum + look_event(r->u.event) : sum;
}

/* ---- libbaro ---- */
static int walk(const char *path)
{
    struct baro_tape *t;
    struct baro_record r;
    if (baro_tape_open(&t, path, NULL) < 0)
        return 0;
    const struct baro_header *h = baro_tape_header(t);
    uint64_t sum = strlen(baro_header_host(h)) + strlen(baro_header_cwd(h)) + strlen(baro_header_cpu_model(h));
    for (size_t i = 0; baro_header_argv(h)[i]; i++)
        sum += strlen(baro_header_argv(h)[i]);
    for (size_t i = 0; i <= baro_header_target_count(h); i++)
        sum += (uint64_t)baro_header_target(h, i);
    baro_tape_read_kinds(t, NULL);
    for (int kind = 0; kind < baro_tape_kind_count(t); kind++) {
        sum += strlen(baro_tape_kind_name(t, kind)) + (uint64_t)baro_tape_kind_find(t, baro_tape_kind_name(t, kind));
        for (int metric = 0; metric < baro_tape_metric_count(t, kind); metric++)
            sum += strlen(baro_tape_metric(t, kind, metric)->help);
    }
    while (baro_tape_next(t, &r, NULL) == 1)
        sum += look(t, &r);
    sum += baro_tape_damage(t) + baro_tape_complete(t) + (uint64_t)baro_tape_state(t);
    (void)sum;
    baro_tape_close(t);
    return 0;
}

static void look_at(struct baro_tape *t, uint64_t t_ns)
{
    struct baro_record r;
    for (int how = BARO_AT_EXACT; how <= BARO_AT_INTERPOLATE; how++) {
        struct baro_sample *s, *copy;
        if (baro_tape_at(t, t_ns, (enum baro_at)how, &s, NULL) != 1)
            continue;
        look_sample(t, s);
        if (baro_sample_copy(s, &copy, NULL) == 0)
            baro_sample_free(copy);
        baro_sample_free(s);
    }
    if (baro_tape_seek(t, t_ns, &r, NULL) == 1)
        look(t, &r);
    for (int i = 0; i < 3 && baro_tape_previous(t, &r, NULL) == 1; i++)
        look(t, &r);
    for (int i = 0; i < 3 && baro_tape_next(t, &r, NULL) == 1; i++)
        look(t, &r);
}

static int moments(const char *path)
{
    struct baro_tape *t;
    struct baro_record r;
    uint64_t first = 0, last = 0;
    if (baro_tape_open(&t, path, NULL) < 0)
        return 0;
    if (baro_tape_range(t, &first, &last, NULL) == 1) {
        look_at(t, first / 2 + last / 2);
        look_at(t, last);
        look_at(t, first);
    }
    if (baro_tape_seek(t, UINT64_MAX, &r, NULL) == 1)
        look(t, &r);
    baro_tape_rewind(t, NULL);
    for (int i = 0; i < 5; i++)
        baro_tape_next(t, &r, NULL);
    baro_tape_previous(t, &r, NULL);
    baro_tape_close(t);
    return 0;
}

static void add_curves(struct baro_series *s, const struct baro_tape *t)
{
    for (int kind = 0; kind < baro_tape_kind_count(t); kind++)
        for (int metric = 0; metric < baro_tape_metric_count(t, kind) && metric < 3; metric++) {
            baro_series_add_value(s, kind, 0, NULL, metric, NULL);
            baro_series_add_rate(s, kind, (uint32_t)metric, NULL, metric, NULL);
        }
    baro_series_add_rate(s, BARO_KIND_PROCESS, 0, "sh", 0, NULL);
}

static int series(const char *path)
{
    struct baro_tape *t;
    uint64_t first = 0, last = 0;
    if (baro_tape_open(&t, path, NULL) < 0)
        return 0;
    if (baro_tape_range(t, &first, &last, NULL) == 1) {
        const uint64_t ends[][2] = {{first, last}, {0, UINT64_MAX}};
        for (size_t i = 0; i < 2; i++) {
            struct baro_series *s;
            if (baro_series_new(&s, ends[i][0], ends[i][1], 50, NULL) < 0)
                continue;
            add_curves(s, t);
            baro_series_read(s, t, NULL);
            baro_series_bucket(s, 0, 49);
            baro_series_free(s);
        }
    }
    baro_tape_close(t);
    return 0;
}

static int drop(void *context, const char *text, size_t len)
{
    *(size_t *)context += len ? (unsigned char)*text : 0;
    return 0;
}

static int summary(const char *path)
{
    struct baro_tape *t;
    struct baro_summary *s;
    size_t sum = 0;
    if (baro_tape_open(&t, path, NULL) < 0)
        return 0;
    if (baro_summary_of_tape(t, &s, NULL) == 0) {
        baro_summary_json(s, "mutant", drop, &sum, NULL);
        for (int f = 0; f < baro_summary_fact_count(); f++) {
            for (size_t row = 0; row < baro_summary_rows(s, baro_summary_fact(f)->section); row++) {
                struct baro_value v;
                if (baro_summary_value(s, f, row, &v) == BARO_PRESENT)
                    sum += v.u64 + (v.text ? strlen(v.text) : 0);
            }
        }
        baro_summary_free(s);
    }
    baro_tape_close(t);
    return 0;
}

/* ---- commands ---- */
enum { WORDS = 8 };
static const struct {
    const char *name;
    int (*function)(const char *path);
    const char *words[WORDS]; /* of a command, the tape's path behind them */
} readers[] = {
    {"cursor", walk, {NULL}},
    {"seek and at", moments, {NULL}},
    {"series", series, {NULL}},
    {"summary of libbaro", summary, {NULL}},
    {"summary", NULL, {"summary"}},
    {"summary --json", NULL, {"summary", "--json"}},
    {"show", NULL, {"show"}},
    {"show --json", NULL, {"show", "--json"}},
    {"show --at 50%", NULL, {"show", "--at", "50%", "--pick", "nearest"}},
    {"show --at peak", NULL, {"show", "--at", "peak", "-n", "3"}},
#define EXPORT(entity) \
    {"export -e " entity, NULL, {"export", "-e", entity}}, \
    {"export -F jsonl -e " entity, NULL, {"export", "-F", "jsonl", "-e", entity}}
    EXPORT("process"), EXPORT("job"), EXPORT("event"), EXPORT("exit"), EXPORT("host"), EXPORT("cpu"), EXPORT("disk"),
        EXPORT("fs"),
    EXPORT("net"), EXPORT("sensor"), EXPORT("cgroup"),
    {"export -d spare-cores", NULL, {"export", "-d", "spare-cores"}},
    {"export -d spare-cores -e host", NULL, {"export", "-d", "spare-cores", "-e", "host"}},
    {"export -d spare-cores-mended", NULL, {"export", "-d", "spare-cores-mended"}},
    {"export -d spare-cores-mended -e host", NULL, {"export", "-d", "spare-cores-mended", "-e", "host"}},
    {"export -d pytyche-cpu", NULL, {"export", "-d", "pytyche-cpu"}},
    {"ls --json", NULL, {"ls", "--json", ""}}, /* "": without the path; it lists the folder */
    {"ls", NULL, {"ls", ""}},
};

size_t readers_count(void)
{
    return sizeof(readers) / sizeof(*readers);
}

const char *reader_name(size_t i)
{
    return readers[i].name;
}

int reader_run(size_t i, const char *path)
{
    char program[] = "baro", *argv[WORDS + 3] = {program};
    int argc = 1;
    bool with_path = true;
    if (readers[i].function)
        return readers[i].function(path);
    for (size_t k = 0; k < WORDS && readers[i].words[k]; k++) {
        with_path = *readers[i].words[k];
        if (with_path)
            argv[argc++] = (char *)readers[i].words[k];
    }
    if (with_path)
        argv[argc++] = (char *)path;
    int status = baro_main(argc, argv);
    return status >= 0 && status <= 2 ? 0 : status;
}
