/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the command that a process counts for: the last name that it had, for all of its life, as in the summary. A
 * compiler that "sh" forked is called "sh" until it executes "cc1"; all of its CPU time is counted for cc1.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "libbaro/sample/sample.h"
#include "libbaro/series/series.h"

uint32_t series_name_number(const struct baro_series *s, const char *name)
{
    for (size_t i = 0; i < s->n_curves; i++) {
        if (s->curve[i].called && strcmp(s->curve[i].name, name) == 0)
            return s->curve[i].called;
    }
    return 0;
}

static void note_name(struct baro_series *s, uint32_t id, const char *name)
{
    bool added;
    uint32_t number = series_name_number(s, name);
    if (!number && !last_find(&s->called, id))
        return;
    struct last *l = last_get(&s->called, id, 0, &added);
    if (l)
        l->value = number;
    s->failed = s->failed || !l;
}

static void note_sample(struct baro_series *s, const struct baro_sample *sample)
{
    for (size_t i = baro_sample_next_changed(sample, 0); i < sample->n; i = baro_sample_next_changed(sample, i + 1))
        note_name(s, sample->processes[i]->id, baro_row_name(row_of_process(sample->processes[i])));
}

/* If no sample has the process, its exit record has the name: series_called_at_exit(). */
static void note_exit(struct baro_series *s, const struct baro_exit *e)
{
    if (e->sampled || last_find(&s->called, e->id))
        note_name(s, e->id, baro_row_name(row_of_exit(e)));
}

int series_find_names(struct baro_series *s, struct baro_tape *tape, struct baro_error *err)
{
    struct baro_record record;
    if (!s->n_called)
        return 0;
    int r = baro_tape_rewind(tape, err);
    while (r >= 0 && (r = baro_tape_next(tape, &record, err)) > 0) {
        if (record.kind == BARO_RECORD_SAMPLE)
            note_sample(s, record.u.sample);
        else if (record.kind == BARO_RECORD_EXIT)
            note_exit(s, row_exit(record.u.exit));
    }
    if (r >= 0 && s->failed)
        r = error_set(err, -ENOMEM, "out of memory");
    return r;
}

uint32_t series_called(const struct baro_series *s, uint32_t id)
{
    const struct last *l = last_find(&s->called, id);
    return l ? (uint32_t)l->value : 0;
}

uint32_t series_called_at_exit(const struct baro_series *s, const struct baro_exit *e)
{
    const struct last *l = last_find(&s->called, e->id);
    return l ? (uint32_t)l->value : e->sampled ? 0 : series_name_number(s, baro_row_name(row_of_exit(e)));
}
