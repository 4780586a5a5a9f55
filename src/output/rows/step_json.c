/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/step_json.h"

#include <sys/wait.h>

#include "baro/text.h"
#include "output/rows/csv_json.h"

/* Those whose value has a mark, or is absent. */
static void put_said(struct json *j, const struct baro_steps *s, size_t step, bool absent)
{
    json_key_begin(j, absent ? "absent" : "marks", '{');
    for (int fact = 0; fact < baro_steps_fact_count(); fact++) {
        struct baro_value v;
        baro_steps_value(s, step, fact, &v);
        const char *said = !absent ? baro_value_mark(v.flags) : v.absent ? baro_absent_name(v.absent) : NULL;
        if (said)
            json_key_text(j, baro_steps_fact(fact)->name, said);
    }
    json_end(j, '}');
}

static void put_position(struct json *j, const char *name, ptrdiff_t at)
{
    json_key(j, name);
    json_u64_or_null(j, at >= 0, (uint64_t)at);
}

static void put_step(struct json *j, const struct baro_steps *s, size_t i)
{
    const struct baro_step *step = baro_steps_get(s, i);
    bool is_known = step->has_status, killed = is_known && WIFSIGNALED(step->status);
    json_begin(j, '{');
    json_key_text(j, "name", step->name);
    json_key_text(j, "cmdline", step->cmdline);
    json_key_u64(j, "occurrence", step->occurrence);
    json_key_u64(j, "occurrences", step->occurrences);
    json_key_i64(j, "pid", step->pid);
    json_key_u64(j, "start_ticks", step->start_ticks);
    put_position(j, "driver", step->driver);
    json_key_bool(j, "is_driver", step->is_driver);
    json_key_bool(j, "is_idle", step->is_idle);
    json_key_u64(j, "begin_ns", step->begin_ns);
    json_key_u64(j, "end_ns", step->end_ns);
    json_key_bool(j, "has_ended", step->has_ended);
    json_key(j, "status");
    json_u64_or_null(j, is_known && !killed, (uint64_t)WEXITSTATUS(step->status));
    json_key_text(j, "signal", killed ? baro_signal_name(WTERMSIG(step->status)) : NULL);
    for (int fact = 0; fact < baro_steps_fact_count(); fact++) {
        struct baro_value v;
        baro_steps_value(s, i, fact, &v);
        json_fact(j, baro_steps_fact(fact), &v);
    }
    put_said(j, s, i, false);
    put_said(j, s, i, true);
    json_end(j, '}');
}

static void put_link(struct json *j, const struct baro_steps *s, size_t i)
{
    static const char *const after[] = {
        [BARO_LINK_NEXT] = "next", [BARO_LINK_SLOT] = "slot", [BARO_LINK_LAST] = "last"};
    const struct baro_step_link *l = baro_steps_link(s, i);
    json_begin(j, '{');
    put_position(j, "step", l->step);
    json_key_u64(j, "begin_ns", l->begin_ns);
    json_key_u64(j, "end_ns", l->end_ns);
    json_key_text(j, "after", l->after <= BARO_LINK_LAST ? after[l->after] : NULL);
    json_key_u64(j, "saving_most_ns", l->saving_most_ns);
    json_end(j, '}');
}

void json_steps(const struct baro_steps *s, struct json *j)
{
    json_key_u64(j, "begin_ns", baro_steps_begin_ns(s));
    json_key_u64(j, "end_ns", baro_steps_end_ns(s));
    json_key_u64(j, "wall_ns", baro_steps_end_ns(s) - baro_steps_begin_ns(s));
    json_key_u64(j, "processes_left_out", baro_steps_left_out(s));
    json_key_begin(j, "steps", '[');
    for (size_t i = 0; i < baro_steps_count(s); i++)
        put_step(j, s, i);
    json_end(j, ']');
    json_key_begin(j, "chain", '[');
    for (size_t i = 0; i < baro_steps_links(s); i++)
        put_link(j, s, i);
    json_end(j, ']');
}
