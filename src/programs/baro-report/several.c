/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-report/several.h"

#include <errno.h>

#include "base/error.h"
#include "output/text/read_fact.h"

static void sum_fact(struct several_sum *sum, struct baro_value v)
{
    if (v.absent)
        return;
    sum->of++;
    sum->value += v.u64;
    sum->flags |= v.flags;
}

static void add_to_sums(struct several *s, const struct document *d)
{
    struct baro_value rss = report_fact(d->summary, "job", "rss_peak_bytes");
    s->read++;
    if (baro_tape_state(d->tape) == BARO_TAPE_RUNNING)
        s->running++;
    sum_fact(&s->cpu, report_fact(d->summary, "job", "cpu_ns"));
    sum_fact(&s->processes, report_fact(d->summary, "job", "processes_started"));
    if (rss.absent)
        return;
    /* A lower bound may hide a peak that is higher than the highest one. */
    unsigned flags = rss.flags | s->rss.flags;
    if (!s->of_rss++ || rss.u64 > s->rss.u64) {
        s->rss = rss;
        s->rss_name = d->name;
    }
    s->rss.flags = flags;
}

/* Returns what the section returned: DOCUMENT_STOP ends the report. */
static int read_tape(struct several *s, size_t i, document_section *section, void *context)
{
    struct listed_tape *t = &s->list.at[i];
    struct document d = {
        .task_rules = s->task_rules, .path = t->path, .name = t->name, .number = s->list.is_several ? i + 1 : 0};
    int r = document_read(&d, &t->reason);
    if (r >= 0)
        r = section(&d, context, &t->section, &t->reason);
    if (r == 0) {
        add_to_sums(s, &d);
        several_row(&d, t);
    }
    t->is_unread = r != 0;
    document_done(&d);
    return r;
}

int several_write(struct several *s, document_section *section, void *context, several_around *around, struct buf *ret,
                  struct baro_error *err)
{
    const struct listed_tape *at = s->list.at;
    for (size_t i = 0; i < s->list.n; i++) {
        if (!at[i].is_unread && read_tape(s, i, section, context) > 0) {
            *err = at[i].reason;
            return err->code;
        }
        ret->failed = ret->failed || at[i].section.failed || at[i].row.failed || at[i].title.failed;
    }
    if (!s->list.is_several) {
        *err = at[0].reason;
        buf_add(ret, at[0].section.at, at[0].section.len);
        return at[0].is_unread ? err->code : 0;
    }
    if (!s->read)
        return error_set(err, -ENOENT, "none of the %zu tapes can be read: %s", s->list.n, at[0].reason.text);
    if (s->cpu.of < s->read)
        s->cpu.flags |= BARO_VALUE_LOWER_BOUND;
    if (s->processes.of < s->read)
        s->processes.flags |= BARO_VALUE_LOWER_BOUND;
    if (s->of_rss < s->read)
        s->rss.flags |= BARO_VALUE_LOWER_BOUND;
    around(s, ret);
    return ret->failed ? error_set(err, -ENOMEM, "out of memory") : 0;
}
