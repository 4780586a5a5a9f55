/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-report/several.h"

#include <errno.h>

#include "base/error.h"
#include "output/text/read_fact.h"
#include "programs/common/tape_args.h"
#include "programs/common/zone.h"

/* ---- sums ---- */

static void sum_fact(struct several_sum *sum, struct baro_value v)
{
    if (v.absent)
        return;
    sum->of++;
    sum->value += v.u64;
    sum->flags |= v.flags;
    /* An estimate may be too large; then the sum is no lower bound. */
    if (v.flags & BARO_VALUE_ESTIMATE && !(v.flags & BARO_VALUE_LOWER_BOUND))
        sum->flags |= BARO_VALUE_UPPER_BOUND;
}

static void add_to_sums(struct several *s, const struct document *d)
{
    struct baro_value rss = report_fact(d->summary, "job", "rss_peak_bytes");
    s->read++;
    s->running += baro_tape_state(d->in->tape) == BARO_TAPE_RUNNING;
    sum_fact(&s->cpu, report_fact(d->summary, "job", "cpu_ns"));
    sum_fact(&s->processes, report_fact(d->summary, "job", "processes_started"));
    if (rss.absent)
        return;
    /* A lower bound may hide a peak that is higher than the highest one. */
    unsigned flags = rss.flags | s->rss.flags;
    if (!s->of_rss++ || rss.u64 > s->rss.u64) {
        s->rss = rss;
        s->rss_name = d->in->name;
    }
    s->rss.flags = flags;
}

/* ---- tapes ---- */

static int read_one(struct several *s, const struct report_input *in, several_section *section, void *context,
                    struct buf *ret, struct baro_error *err)
{
    struct document d;
    int r = document_read(&d, in, err);
    if (r < 0)
        return r;
    r = section(&d, context, ret, err);
    if (r == 0)
        add_to_sums(s, &d);
    document_done(&d);
    return r;
}

int several_visit(struct several *s, size_t i, several_section *section, void *context, struct buf *ret,
                  struct baro_error *err)
{
    struct listed_tape *t = &s->list->at[i];
    struct report_input in = {.path = t->path, .name = t->name, .number = i + 1};
    size_t before = ret->len;
    if (t->is_unread)
        return 0;
    int r = baro_tape_open(&in.tape, t->path, &t->reason);
    if (r >= 0)
        r = reader_set_tasks(s->settings, in.tape, &t->reason);
    if (r >= 0) {
        in.zone = zone_east(baro_header_start_realtime_ns(baro_tape_header(in.tape)));
        r = read_one(s, &in, section, context, ret, &t->reason);
        baro_tape_close(in.tape);
    }
    if (r > 0) {
        *err = t->reason;
        return err->code;
    }
    t->is_unread = r < 0;
    ret->len = r < 0 ? before : ret->len;
    return 0;
}

int several_finish(struct several *s, struct baro_error *err)
{
    if (!s->read)
        return error_set(err, -ENOENT, "none of the %zu tapes can be read: %s", s->list->n, s->list->at[0].reason.text);
    s->cpu.flags |= s->cpu.of < s->read ? BARO_VALUE_LOWER_BOUND : 0;
    s->processes.flags |= s->processes.of < s->read ? BARO_VALUE_LOWER_BOUND : 0;
    s->rss.flags |= s->of_rss < s->read ? BARO_VALUE_LOWER_BOUND : 0;
    return 0;
}
