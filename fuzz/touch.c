/* SPDX-License-Identifier: Apache-2.0 */
#include "touch.h"

#include <stdlib.h>
#include <string.h>

static uint64_t touch_process(const struct baro_tape *t, const struct baro_row *p)
{
    const char *cmdline = "";
    enum baro_origin origin = BARO_ORIGIN_TARGET;
    uint64_t sum = strlen(baro_row_name(p)), v = 0;
    sum += (uint64_t)baro_row_cmdline(p, &cmdline) + strlen(cmdline) + (uint64_t)baro_row_first_ns(p, &v) + v;
    char shown[16];
    sum += (uint64_t)baro_row_read_ns(p, &v) + v;
    sum += baro_text_escape(baro_row_name(p), strlen(baro_row_name(p)), shown, sizeof(shown)) + strlen(shown);
    sum += baro_row_id(p) + (uint64_t)baro_row_pid(p) + baro_row_start_ticks(p) + (uint64_t)baro_row_ppid(p);
    sum += baro_row_parent_start_ticks(p) + baro_row_uid(p);
    sum += (uint64_t)baro_row_origin(p, &origin) + strlen(baro_origin_name(origin));
    static const int several[] = {0, -1, 3, 1000, 3};
    uint64_t value[5];
    uint8_t absent[5];
    sum += baro_row_values(p, several, 5, value, absent) + value[4] + absent[4];
    for (int metric = -1; metric <= baro_tape_metric_count(t, BARO_KIND_PROCESS); metric++)
        sum += (uint64_t)baro_row_value(p, metric, &v) + v;
    return sum;
}

uint64_t touch_attribute(const struct baro_attribute *a)
{
    return strlen(a->name) + a->u64 + (uint64_t)a->i64 + (a->text ? strlen(a->text) : 0) + (a->real > 0);
}

static uint64_t touch_entity(const struct baro_tape *t, const struct baro_row *e)
{
    uint64_t sum = strlen(baro_row_name(e)) + strlen(baro_row_label(e)) + baro_row_id(e), v = 0;
    struct baro_attribute a;
    int kind = baro_row_kind(e);
    sum += (uint64_t)baro_row_owner(e) + (uint64_t)baro_row_owner_pid(e) + baro_row_owner_id(e) +
           baro_row_owner_start_ticks(e) + (uint64_t)baro_row_read_ns(e, &v) + v;
    for (size_t i = 0; baro_row_attribute(e, i, &a) == 0; i++)
        sum += touch_attribute(&a) + (uint64_t)baro_row_attribute_find(e, a.name, &a);
    for (int metric = -1; metric <= baro_tape_metric_count(t, kind); metric++) {
        const struct baro_metric *m = baro_tape_metric(t, kind, metric);
        sum += (uint64_t)baro_row_value(e, metric, &v) + (m && baro_metric_real(m, v) > 0);
    }
    return sum;
}

static uint64_t touch_machine(const struct baro_tape *t, const struct baro_sample *s)
{
    uint64_t sum = 0, v = 0;
    sum += (uint64_t)baro_sample_read_ns(s, BARO_KIND_HOST, &v) + v +
           (uint64_t)baro_row_busy_ns(baro_sample_row(s, BARO_KIND_HOST, 0), &v);
    for (int metric = -1; metric <= baro_tape_metric_count(t, BARO_KIND_HOST); metric++)
        sum += (uint64_t)baro_row_value(baro_sample_row(s, BARO_KIND_HOST, 0), metric, &v) + v;
    for (int kind = -1; kind <= baro_tape_kind_count(t); kind++) {
        sum += (uint64_t)baro_sample_read_ns(s, kind, &v) + v;
        for (size_t i = 0; i < baro_sample_rows(s, kind); i++)
            sum += touch_entity(t, baro_sample_row(s, kind, i));
    }
    return sum;
}

uint64_t touch_sample(const struct baro_tape *t, const struct baro_sample *s)
{
    uint64_t sum = baro_sample_t_ns(s) + baro_sample_lossy(s), v = 0;
    size_t lacking;
    for (int metric = -1; metric <= baro_tape_metric_count(t, BARO_KIND_JOB); metric++)
        sum += (uint64_t)baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), metric, &v) + v;
    for (int metric = -1; metric <= baro_tape_metric_count(t, BARO_KIND_RECORDER); metric++)
        sum += (uint64_t)baro_row_value(baro_sample_row(s, BARO_KIND_RECORDER, 0), metric, &v) + v;
    for (int metric = -1; metric <= baro_tape_metric_count(t, BARO_KIND_PROCESS); metric++)
        sum += (uint64_t)baro_sample_sum(s, metric, &v, &lacking);
    for (size_t i = 0; i < baro_sample_rows(s, BARO_KIND_PROCESS); i++)
        sum += touch_process(t, baro_sample_row(s, BARO_KIND_PROCESS, i));
    for (size_t i = baro_sample_next_changed(s, 0); i < baro_sample_rows(s, BARO_KIND_PROCESS);
         i = baro_sample_next_changed(s, i + 1)) {
        const struct baro_row *p = baro_sample_row(s, BARO_KIND_PROCESS, i);
        if (sum % 64 == 0)
            sum += baro_sample_find(s, baro_row_pid(p), baro_row_start_ticks(p)) != p;
    }
    return sum + touch_machine(t, s);
}

static uint64_t touch_exit(const struct baro_tape *t, const struct baro_row *e)
{
    const char *cmdline = "";
    enum baro_origin origin = BARO_ORIGIN_TARGET;
    enum baro_exit_source source = BARO_EXIT_LAST_SAMPLE;
    uint64_t sum = strlen(baro_row_name(e)), v = 0;
    int status = 0;
    sum += (uint64_t)baro_row_cmdline(e, &cmdline) + strlen(cmdline);
    sum += (uint64_t)baro_row_origin(e, &origin) + strlen(baro_origin_name(origin));
    sum += (uint64_t)baro_row_exit_source(e, &source) + strlen(baro_exit_source_name(source));
    sum += baro_row_id(e) + (uint64_t)baro_row_pid(e) + baro_row_uid(e);
    sum += (uint64_t)baro_row_status(e, &status) + (uint64_t)status;
    for (int metric = -1; metric <= baro_tape_metric_count(t, BARO_KIND_EXIT); metric++)
        sum += (uint64_t)baro_row_value(e, metric, &v) + v;
    return sum;
}

static uint64_t touch_event(const struct baro_event *e)
{
    struct baro_attribute a;
    uint64_t sum = strlen(baro_event_text(e)) + strlen(baro_event_kind_name(baro_event_kind_of(e))) +
                   baro_event_number(e) + (uint64_t)baro_event_pid(e);
    for (size_t i = 0; baro_event_attribute(e, i, &a) == 0; i++)
        sum += touch_attribute(&a);
    return sum + (uint64_t)baro_event_attribute_find(e, "mode", &a);
}

uint64_t touch_record(const struct baro_tape *t, const struct baro_record *r)
{
    uint64_t v = 0, sum;
    const char *source;
    sum = (uint64_t)baro_limits_get(baro_tape_limits(t), BARO_LIMIT_MEMORY, &v, &source) + v + strlen(source);
    sum += (uint64_t)baro_limits_get(baro_tape_limits(t), BARO_LIMIT_CORES, &v, &source) + v + strlen(source);
    sum += (uint64_t)baro_limits_get(baro_tape_limits(t), BARO_LIMIT_PIDS, &v, &source) + v + strlen(source);
    if (r->kind == BARO_RECORD_SAMPLE)
        return sum + touch_sample(t, r->u.sample);
    if (r->kind == BARO_RECORD_EXIT)
        return sum + touch_exit(t, r->u.exit);
    return r->kind == BARO_RECORD_EVENT ? sum + touch_event(r->u.event) : sum;
}

uint64_t touch_front(struct baro_tape *t)
{
    const struct baro_header *h = baro_tape_header(t);
    uint64_t sum = strlen(baro_header_host(h)) + strlen(baro_header_job_id(h)) + strlen(baro_header_version(h));
    struct baro_value v;
    for (int fact = 0; fact < baro_header_fact_count(); fact++)
        sum += (uint64_t)baro_header_value(h, fact, 0, &v) + v.u64 + (v.text ? strlen(v.text) : 0);
    for (size_t i = 0; baro_header_argv(h)[i]; i++)
        sum += strlen(baro_header_argv(h)[i]);
    for (size_t i = 0; i <= baro_header_target_count(h); i++)
        sum += (uint64_t)baro_header_target(h, i);
    baro_tape_read_kinds(t, NULL);
    for (int kind = 0; kind < baro_tape_kind_count(t); kind++) {
        const char *name = baro_tape_kind_name(t, kind);
        sum += strlen(name) + (uint64_t)baro_tape_kind_find(t, name);
        for (int metric = 0; metric < baro_tape_metric_count(t, kind); metric++)
            sum += strlen(baro_tape_metric(t, kind, metric)->help);
    }
    return sum;
}

static uint64_t touch_array(const struct ArrowArray *a)
{
    uint64_t sum = (uint64_t)a->length + (uint64_t)a->null_count;
    for (int64_t i = 0; i < a->n_children; i++) {
        const struct ArrowArray *child = a->children[i], *words = child->dictionary;
        const int32_t *number = child->buffers[1], *end = words ? words->buffers[1] : NULL;
        const uint8_t *valid = child->buffers[0];
        if (child->length != a->length)
            abort();
        for (int64_t row = 0; words && row < a->length; row++) {
            if (valid && !(valid[row / 8] >> row % 8 & 1))
                continue;
            if (number[row] < 0 || number[row] >= words->length || end[number[row]] > end[number[row] + 1])
                abort();
            sum += (uint64_t)end[number[row] + 1];
        }
    }
    return sum;
}

static uint64_t touch_stream(struct ArrowArrayStream *s)
{
    struct ArrowSchema schema;
    struct ArrowArray a;
    uint64_t sum = 0;
    if (s->get_schema(s, &schema) == 0) {
        sum += (uint64_t)schema.n_children;
        schema.release(&schema);
    }
    while (s->get_next(s, &a) == 0 && a.release) {
        sum += touch_array(&a);
        a.release(&a);
    }
    sum += baro_arrow_damage(s);
    s->release(s);
    return sum;
}

uint64_t touch_arrow(const struct baro_tape *t)
{
    uint64_t sum = 0;
    struct ArrowArrayStream s;
    for (int rows = -1; rows <= baro_tape_kind_count(t); rows++) {
        if (baro_tape_arrow(t, rows < 0 ? BARO_ROWS_EVENT : rows, NULL, NULL, &s, NULL) == 0)
            sum += touch_stream(&s);
    }
    if (baro_tape_arrow(t, BARO_KIND_JOB, "t,cpu,cores,phase", NULL, &s, NULL) == 0)
        sum += touch_stream(&s);
    return sum;
}
