/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-read/show_phases.h"

#include <string.h>

#include "base/fmt.h"
#include "output/rows/escaped.h"

#define PHASES_MOST 6u /* phases in a line; JSON has all */

static int open_phases(struct show_phases *p, const char *path, struct baro_error *err)
{
    int code = baro_tape_open(&p->tape, path, err);
    return code < 0 ? code : baro_timeline_new(&p->timeline, baro_tape_header(p->tape), err);
}

int show_phases_read(struct show_phases *p, const char *path, struct baro_error *err)
{
    struct baro_record record;
    int code = p->timeline ? 0 : open_phases(p, path, err);
    while (code >= 0 && (code = baro_tape_next(p->tape, &record, err)) > 0) {
        if (record.kind != BARO_RECORD_SAMPLE) /* the use of resources in a phase is not shown */
            baro_timeline_add(p->timeline, &record);
    }
    return code < 0 ? code : baro_timeline_finish(p->timeline, err);
}

void show_phases_done(struct show_phases *p)
{
    baro_timeline_free(p->timeline);
    baro_tape_close(p->tape);
}

static bool is_in(const struct baro_timeline_item *v, uint64_t t_ns)
{
    return v->kind == BARO_TIMELINE_PHASE && v->begin_ns <= t_ns && (v->is_open || t_ns < v->end_ns);
}

void show_phases_text(const struct show_phases *p, uint64_t t_ns, struct buf *b)
{
    const struct baro_timeline_item *v;
    size_t n = 0;
    if (!baro_timeline_lanes(p->timeline))
        return;
    buf_str(b, "in ");
    for (size_t i = 0; (v = baro_timeline_get(p->timeline, i)); i++) {
        if (!is_in(v, t_ns) || n++ >= PHASES_MOST)
            continue;
        buf_str(b, n == 1 ? "phase " : ", ");
        text_escaped(b, v->text, strlen(v->text));
        buf_str(b, " since ");
        fmt_moment(b, v->begin_ns);
    }
    if (!n)
        buf_str(b, "no phase");
    if (n > PHASES_MOST)
        buf_printf(b, ", and %zu more", n - PHASES_MOST);
    buf_byte(b, '\n');
}

static void put_phase_object(const struct baro_timeline_item *v, struct json *j)
{
    json_begin(j, '{');
    json_key_text(j, "name", v->name);
    json_key_u64(j, "begin_ns", v->begin_ns);
    json_key(j, "end_ns");
    if (v->is_open)
        json_null(j);
    else
        json_u64(j, v->end_ns);
    json_key_i64(j, "depth", v->depth);
    json_key(j, "attributes");
    json_attributes(v, j);
    json_end(j, '}');
}

void show_phases_json(const struct show_phases *p, uint64_t t_ns, struct json *j)
{
    const struct baro_timeline_item *v;
    json_key_begin(j, "phases", '[');
    for (size_t i = 0; (v = baro_timeline_get(p->timeline, i)); i++) {
        if (is_in(v, t_ns))
            put_phase_object(v, j);
    }
    json_end(j, ']');
}
