/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-tape/stretch.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fmt.h"
#include "base/span.h"
#include "programs/common/moment.h"

/* Parses a time as baro plot does, except that "10s" means "+10s". */
static int parse_time(const char *text, struct baro_tape *tape, uint64_t last_ns, struct moment *ret,
                      struct baro_error *err)
{
    char since_start[64];
    uint64_t ns;
    if (strcmp(text, "0") != 0 && parse_duration(text, &ns, NULL) == 0 && strlen(text) < sizeof(since_start) - 1) {
        snprintf(since_start, sizeof(since_start), "+%s", text);
        text = since_start;
    }
    int code = moment_on_tape(text, tape, 0, last_ns, ret, err);
    if (code == 0 && ret->kind == MOMENT_PEAK)
        return error_set(err, BARO_E_SYNTAX, "peak is a moment, no edge of a stretch");
    return code;
}

static int by_time(struct stretch *ret, struct baro_tape *tape, const struct settings *s, uint64_t last_ns,
                   struct baro_error *err)
{
    struct moment from = {.kind = MOMENT_START}, to = {.kind = MOMENT_END};
    int code = s->from ? parse_time(s->from, tape, last_ns, &from, err) : 0;
    if (code == 0 && s->to)
        code = parse_time(s->to, tape, last_ns, &to, err);
    if (code == 0 && from.ns > 0)
        code = moment_outside(s->from, &from, baro_tape_header(tape), last_ns, err);
    if (code == 0 && to.ns < 0)
        code = moment_outside(s->to, &to, baro_tape_header(tape), last_ns, err);
    if (code < 0)
        return code;
    if (from.kind == MOMENT_TIME && from.ns > 0)
        ret->from_ns = (uint64_t)from.ns;
    if (from.kind == MOMENT_END)
        ret->from_ns = last_ns;
    if (to.kind == MOMENT_START || (to.kind == MOMENT_TIME && to.ns < 0))
        ret->to_ns = 0;
    else if (to.kind == MOMENT_TIME)
        ret->to_ns = (uint64_t)to.ns + moment_tolerance(&to);
    return 0;
}

static int by_phase(struct stretch *ret, const struct baro_timeline *timeline, const char *name, struct baro_error *err)
{
    for (size_t i = 0; i < baro_timeline_count(timeline); i++) {
        const struct baro_timeline_item *item = baro_timeline_get(timeline, i);
        if (item->kind != BARO_TIMELINE_PHASE || strcmp(item->name, name) != 0 || ret->phases++)
            continue;
        ret->from_ns = item->begin_ns;
        ret->to_ns = item->is_open ? UINT64_MAX : item->end_ns;
    }
    return ret->phases ? 0
                       : error_set(err, BARO_E_RANGE, "the tape has no phase '%s'; `baro summary` lists them", name);
}

/* "100:200", "100:", ":200"; from 1 on, both included. */
static bool parse_samples(const char *text, uint64_t *ret_first, uint64_t *ret_last)
{
    struct span s = span_str(text);
    *ret_first = 1;
    *ret_last = UINT64_MAX;
    if (s.len && *s.at != ':' && !scan_u64(&s, ret_first))
        return false;
    if (!s.len || *s.at != ':')
        return false;
    s = span_of(s.at + 1, s.len - 1);
    if (s.len && !scan_u64(&s, ret_last))
        return false;
    return s.len == 0 && *ret_first > 0 && *ret_first <= *ret_last;
}

static int by_samples(struct stretch *ret, struct baro_tape *tape, const char *text, struct baro_error *err)
{
    uint64_t first, last, n = 0;
    struct baro_record record;
    if (!parse_samples(text, &first, &last))
        return error_set(err, BARO_E_SYNTAX, "invalid samples '%s': write 100:200, from 1 on", text);
    int code = baro_tape_rewind(tape, err);
    while (code >= 0 && n < last && (code = baro_tape_next(tape, &record, err)) > 0) {
        if (record.kind != BARO_RECORD_SAMPLE)
            continue;
        n++;
        if (n == first && first > 1)
            ret->from_ns = record.t_ns;
        if (n == last)
            ret->to_ns = record.t_ns;
    }
    if (code < 0)
        return code;
    return n >= first ? 0 : error_set(err, BARO_E_RANGE, "the tape has %llu samples", (unsigned long long)n);
}

int stretch_find(struct stretch *ret, struct baro_tape *tape, const struct baro_timeline *timeline,
                 const struct settings *s, struct baro_error *err)
{
    uint64_t first_ns = 0, last_ns = 0;
    *ret = (struct stretch){.to_ns = UINT64_MAX};
    int code = baro_tape_range(tape, &first_ns, &last_ns, err);
    if (code <= 0)
        return code < 0 ? code : error_set(err, BARO_E_RANGE, "the tape has no sample");
    code = s->phase     ? by_phase(ret, timeline, s->phase, err)
           : s->samples ? by_samples(ret, tape, s->samples, err)
                        : by_time(ret, tape, s, last_ns, err);
    if (code < 0)
        return code;
    ret->begins_later = ret->from_ns > first_ns;
    if (!ret->begins_later)
        ret->from_ns = 0;
    if (ret->from_ns > last_ns || ret->to_ns < first_ns || ret->from_ns > ret->to_ns)
        return error_set(err, BARO_E_RANGE, "the tape has no sample there");
    return 0;
}
