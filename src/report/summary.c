/* SPDX-License-Identifier: Apache-2.0 */
/* The public face of a summary: baro/summary.h. */
#include <errno.h>
#include <stdlib.h>

#include "baro/summary.h"
#include "base/error.h"
#include "report/report.h"

struct baro_summary {
    struct summary *summary;
};

static int read_all(struct baro_tape *tape, struct summary *s, struct baro_error *err)
{
    struct baro_record record;
    int code;
    while ((code = baro_tape_next(tape, &record, err)) > 0) {
        switch (record.kind) {
        case BARO_RECORD_SAMPLE:
            summary_add_sample(s, record.u.sample);
            break;
        case BARO_RECORD_EXIT:
            summary_add_exit(s, record.u.exit);
            break;
        case BARO_RECORD_EVENT:
            summary_add_event(s, record.u.event);
            break;
        case BARO_RECORD_LIMITS:
            summary_add_limits(s, record.u.limits, record.t_ns);
            break;
        default:
            break;
        }
    }
    s->damaged_bytes = baro_tape_damage(tape);
    summary_finish(s);
    return code;
}

int baro_summary_of_tape(struct baro_tape *tape, struct baro_summary **ret, struct baro_error *err)
{
    *ret = NULL;
    int code = baro_tape_rewind(tape, err);
    if (code < 0)
        return code;
    struct baro_summary *b = calloc(1, sizeof(*b));
    struct summary *s = b ? summary_new(baro_tape_header(tape)) : NULL;
    if (!s) {
        free(b);
        return error_set(err, -ENOMEM, "out of memory");
    }
    b->summary = s;
    code = read_all(tape, s, err);
    if (code < 0) {
        baro_summary_free(b);
        return code;
    }
    *ret = b;
    return 0;
}

void baro_summary_free(struct baro_summary *summary)
{
    if (!summary)
        return;
    summary_free(summary->summary);
    free(summary);
}

const struct summary *report_summary(const struct baro_summary *summary)
{
    return summary->summary;
}

int baro_summary_json(const struct baro_summary *summary, const char *tape_name, baro_sink *sink, void *context,
                      struct baro_error *err)
{
    struct buf text = {0};
    struct json json = {.out = &text, .pretty = true};
    report_json(summary->summary, tape_name, &json);
    int code = text.failed ? error_set(err, -ENOMEM, "out of memory") : sink(context, (const char *)text.at, text.len);
    buf_done(&text);
    return code;
}

uint64_t baro_summary_wall_ns(const struct baro_summary *summary)
{
    return summary_wall_ns(summary->summary);
}

int baro_summary_status(const struct baro_summary *summary, int *ret)
{
    return summary_status(summary->summary, ret);
}

int baro_summary_job(const struct baro_summary *summary, int metric, uint64_t *ret)
{
    *ret = 0;
    if (metric < 0 || metric >= JOB_MAX)
        return BARO_ABSENT_UNSUPPORTED;
    return summary_job(summary->summary, (enum job_metric)metric, ret);
}

size_t baro_summary_command_count(const struct baro_summary *summary)
{
    return summary->summary->n_order;
}

const char *baro_summary_command_name(const struct baro_summary *summary, size_t i)
{
    const struct command *c = summary_command(summary->summary, i);
    return c ? c->name : NULL;
}

uint64_t baro_summary_command_processes(const struct baro_summary *summary, size_t i)
{
    const struct command *c = summary_command(summary->summary, i);
    return c ? c->processes : 0;
}

int baro_summary_command_cpu_ns(const struct baro_summary *summary, size_t i, uint64_t *ret)
{
    const struct command *c = summary_command(summary->summary, i);
    *ret = c ? c->value[COMMAND_CPU] : 0;
    if (!c)
        return BARO_ABSENT_UNKNOWN;
    return c->covered[COMMAND_CPU] ? BARO_PRESENT : c->absent[COMMAND_CPU];
}
