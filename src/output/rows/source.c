/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/source.h"

#include <errno.h>

#include "base/error.h"

int row_source_init(struct row_source *s, struct baro_tape *tape, int kind, const char *list, char *ret_unknown,
                    struct baro_error *err)
{
    *s = (struct row_source){.tape = tape, .memory = row_previous_new(), .read_ns = UINT64_MAX};
    return s->memory ? columns_choose(&s->columns, kind, list, tape, ret_unknown, err)
                     : error_set(err, -ENOMEM, "out of memory");
}

void row_source_done(struct row_source *s)
{
    columns_done(&s->columns);
    baro_previous_free(s->memory);
    buf_done(&s->attributes);
    *s = (struct row_source){0};
}

static struct output_row row_of(struct row_source *s, uint64_t t_ns)
{
    return (struct output_row){.kind = s->columns.kind,
                               .header = baro_tape_header(s->tape),
                               .tape = s->tape,
                               .t_ns = t_ns,
                               .memory = s->columns.cores || s->columns.derived ? s->memory : NULL,
                               .user = s->user,
                               .user_context = s->user_context,
                               .names = &s->names,
                               .time = &s->time,
                               .attributes = &s->attributes,
                               .timeline = s->timeline,
                               .steps = s->steps};
}

static int pass_on(struct row_source *s, struct output_row *r, row_put *put, void *context)
{
    row_begin(r);
    return put ? put(context, &s->columns, r) : 0;
}

int row_source_sample(struct row_source *s, const struct baro_sample *sample, row_put *put, void *context)
{
    const int kind = s->columns.kind;
    struct output_row row = row_of(s, baro_sample_t_ns(sample));
    row_names_note(&s->names, sample);
    if (kind == ROW_EVENT || row_is_of_list(kind) || kind == BARO_KIND_EXIT)
        return 0;
    row.sample = sample;
    bool is_single = kind == BARO_KIND_JOB || kind == BARO_KIND_HOST;
    if (kind != BARO_KIND_JOB && kind != BARO_KIND_PROCESS) { /* they are not read for every sample */
        uint64_t at;
        if (baro_sample_read_ns(sample, kind, &at) != BARO_PRESENT || (at == s->read_ns && !s->of_every_sample))
            return 0;
        s->read_ns = row.t_ns = at;
    }
    int code = is_single ? pass_on(s, &row, put, context) : 0;
    for (size_t i = 0; !is_single && code == 0 && i < baro_sample_rows(sample, kind); i++) {
        const struct baro_row *one = baro_sample_row(sample, kind, i);
        row.process = kind == BARO_KIND_PROCESS ? one : NULL;
        row.entity = kind == BARO_KIND_PROCESS ? NULL : one;
        code = pass_on(s, &row, put, context);
    }
    return code == 0 && s->columns.derived && !s->is_last ? baro_previous_keep(s->memory, sample, kind) : code;
}

int row_source_record(struct row_source *s, const struct baro_record *record, row_put *put, void *context)
{
    struct output_row row = row_of(s, record->t_ns);
    if (record->kind == BARO_RECORD_SAMPLE)
        return row_source_sample(s, record->u.sample, put, context);
    if (record->kind == BARO_RECORD_EXIT && s->columns.kind == BARO_KIND_EXIT)
        row.exit = record->u.exit;
    else if (record->kind == BARO_RECORD_EVENT && s->columns.kind == ROW_EVENT)
        row.event = record->u.event;
    else
        return 0;
    return pass_on(s, &row, put, context);
}

int row_source_list(struct row_source *s, row_put *put, void *context)
{
    int code = 0;
    const bool is_step = s->columns.kind == ROW_STEP;
    for (size_t i = 0; is_step && i < baro_steps_count(s->steps) && code == 0; i++) {
        struct output_row row = row_of(s, baro_steps_get(s->steps, i)->begin_ns);
        row.item = i;
        code = pass_on(s, &row, put, context);
    }
    for (size_t i = 0; !is_step && i < baro_timeline_count(s->timeline) && code == 0; i++) {
        const struct baro_timeline_item *item = baro_timeline_get(s->timeline, i);
        struct output_row row = row_of(s, item->begin_ns);
        row.item = i;
        if (item->kind == BARO_TIMELINE_PHASE)
            code = pass_on(s, &row, put, context);
    }
    return code;
}
