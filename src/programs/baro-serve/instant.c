/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/instant.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/fmt.h"
#include "base/span.h"
#include "output/rows/csv_json.h"
#include "programs/baro-serve/request.h"
#include "programs/baro-serve/route.h"
#include "programs/common/moment.h"

static const struct {
    const char *name;
    int kind;
    bool is_list;
} parts[INSTANT_PARTS] = {{"job", BARO_KIND_JOB, false},
                          {"host", BARO_KIND_HOST, false},
                          {"tasks", BARO_KIND_TASK, true},
                          {"directories", BARO_KIND_DIRECTORY, true}};

int instant_rows(struct row_source *ret, struct baro_tape *tape, int kind, const char *list, struct baro_error *err)
{
    struct buf all = {0};
    list = list && *list ? list : NULL;
    int code = row_source_init(ret, tape, kind, list, NULL, err);
    if (code < 0 || list || kind == BARO_KIND_EXIT || kind == ROW_EVENT)
        return code;
    for (size_t i = 0; i < ret->columns.n; i++)
        buf_printf(&all, "%s%s", i ? "," : "", ret->columns.at[i]->name);
    for (int i = 0; i < baro_derived_count(kind); i++) {
        const char *name = baro_derived_get(kind, i)->name;
        if (strcmp(name, "cores") != 0)
            buf_printf(&all, ",%s", name);
    }
    buf_byte(&all, 0);
    row_source_done(ret);
    code = all.failed ? error_set(err, -ENOMEM, "out of memory")
                      : row_source_init(ret, tape, kind, (const char *)all.at, NULL, err);
    buf_done(&all);
    return code;
}

int instant_init(struct instant_writer *w, struct baro_tape *tape, struct baro_error *err)
{
    int code = 0;
    *w = (struct instant_writer){0};
    for (size_t i = 0; i < INSTANT_PARTS && code == 0; i++) {
        code = instant_rows(&w->part[i], tape, parts[i].kind, NULL, err);
        w->part[i].of_every_sample = true;
    }
    return code;
}

void instant_done(struct instant_writer *w)
{
    for (size_t i = 0; i < INSTANT_PARTS; i++)
        row_source_done(&w->part[i]);
}

void instant_write(struct instant_writer *w, const struct baro_sample *s, struct json *j)
{
    struct baro_tape *tape = w->part[0].tape;
    struct buf time = {0};
    if (j) {
        json_begin(j, '{');
        json_key_u64(j, "t_ns", baro_sample_t_ns(s));
        fmt_time_utc(&time, row_realtime_ns(tape, baro_tape_header(tape), baro_sample_t_ns(s)));
        json_key(j, "time");
        json_text_n(j, (const char *)time.at, time.len);
        buf_done(&time);
    }
    for (size_t i = 0; i < INSTANT_PARTS; i++) {
        if (j && parts[i].is_list)
            json_key_begin(j, parts[i].name, '[');
        else if (j)
            json_key(j, parts[i].name);
        size_t before = j ? j->out->len : 0;
        int code = row_source_sample(&w->part[i], s, j ? json_put_row : NULL, j);
        if (!j)
            continue;
        j->out->failed = j->out->failed || code < 0;
        if (parts[i].is_list)
            json_end(j, ']');
        else if (j->out->len == before)
            json_null(j);
    }
    if (j)
        json_end(j, '}');
}

void api_sample(struct request *q)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct json j = {.out = &q->out};
    struct baro_sample *now = NULL, *before = NULL;
    struct instant_writer w = {0};
    struct baro_tape *tape = request_tape(q);
    if (tape && instant_find(q, tape, &now, &before)) {
        q->out.failed = q->out.failed || instant_init(&w, tape, &err) < 0;
        if (before && !q->out.failed)
            instant_write(&w, before, NULL);
        if (!q->out.failed)
            instant_write(&w, now, &j);
        request_json_end(q);
    }
    baro_sample_free(now);
    baro_sample_free(before);
    instant_done(&w);
    baro_tape_close(tape);
}

/* ---- which instant ---- */

/* Finds the sample in which the job had most memory, as the summary does. */
static bool peak_of(struct request *q, struct baro_tape *tape, const char *name, uint64_t *ret)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_fold *fold;
    struct baro_value peak;
    if (baro_fold_of_tape(tape, BARO_FOLD_SUMMARY, &fold, &err) < 0) {
        request_fail_tape(q, &err);
        return false;
    }
    int absent =
        baro_summary_value(baro_fold_summary(fold), baro_summary_fact_find("job", "memory_peak_t_ns"), 0, &peak);
    baro_fold_free(fold);
    if (absent != BARO_PRESENT) {
        request_fail(q, 404, "no_sample", "%s: no sample has memory", name);
        return false;
    }
    *ret = peak.u64;
    return true;
}

bool instant_moment(struct request *q, struct baro_tape *tape, const char *name, uint64_t *ret)
{
    const char *text = request_param(q, name);
    struct baro_error err = BARO_ERROR_INIT;
    struct span s = span_str(text ? text : "");
    struct moment m;
    uint64_t first_ns = 0, last_ns = 0;
    if (!text)
        return true;
    if (baro_tape_range(tape, &first_ns, &last_ns, &err) < 0) {
        request_fail_tape(q, &err);
        return false;
    }
    if (scan_u64(&s, ret) && !s.len)
        return true;
    if (moment_on_tape(text, tape, 0, last_ns, &m, &err) < 0) {
        request_fail(q, 400, "bad_parameter", "%s: %s", name, err.text);
        return false;
    }
    if (m.kind == MOMENT_PEAK)
        return peak_of(q, tape, name, ret);
    *ret = m.kind == MOMENT_START ? first_ns
           : m.kind == MOMENT_END ? last_ns
           : m.ns < 0             ? 0
                                  : (uint64_t)m.ns + moment_tolerance(&m);
    return true;
}

static bool pick_of(struct request *q, enum baro_at *ret)
{
    static const struct {
        const char *name;
        enum baro_at at;
    } picks[] = {{"before", BARO_AT_BEFORE},
                 {"nearest", BARO_AT_NEAREST},
                 {"after", BARO_AT_AFTER},
                 {"exact", BARO_AT_EXACT},
                 {"interpolate", BARO_AT_INTERPOLATE}};
    const char *text = request_param(q, "pick");
    *ret = BARO_AT_BEFORE;
    for (size_t i = 0; text && i < sizeof(picks) / sizeof(*picks); i++) {
        *ret = picks[i].at;
        if (strcmp(text, picks[i].name) == 0)
            return true;
    }
    if (text)
        request_fail(q, 400, "bad_parameter", "pick is one of before, nearest, after, exact and interpolate");
    return !text;
}

bool instant_find(struct request *q, struct baro_tape *tape, struct baro_sample **ret, struct baro_sample **ret_before)
{
    struct baro_error err = BARO_ERROR_INIT;
    enum baro_at pick;
    uint64_t t_ns = UINT64_MAX;
    bool has_at = request_param(q, "at");
    if (!pick_of(q, &pick) || !instant_moment(q, tape, "at", &t_ns))
        return false;
    int code = baro_tape_at(tape, t_ns, has_at ? pick : BARO_AT_BEFORE, ret, &err);
    uint64_t now_ns = code > 0 ? baro_sample_t_ns(*ret) : 0;
    if (now_ns > 0 && baro_tape_at(tape, now_ns - 1, BARO_AT_BEFORE, ret_before, &err) < 0)
        code = -1;
    if (code < 0)
        request_fail_tape(q, &err);
    else if (code == 0)
        request_fail(q, 404, "no_sample", has_at ? "the tape has no such sample" : "the tape has no sample yet");
    return code > 0;
}
