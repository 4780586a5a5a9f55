/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-report/several.h"

#include <errno.h>

#include "base/error.h"
#include "output/text/read_fact.h"

static void add_fact(struct baro_combined *to, enum baro_combine how, const struct document *d, const char *fact)
{
    struct baro_combined one = {.value = report_fact(d->summary, "job", fact), .count = 1};
    one.known = !one.value.absent;
    baro_combine(baro_summary_fact(baro_summary_fact_find("job", fact)), how, to, &one);
}

static void add_to_sums(struct several *s, const struct document *d)
{
    struct baro_combined before = s->rss;
    s->read++;
    if (baro_tape_state(d->tape) == BARO_TAPE_RUNNING)
        s->running++;
    add_fact(&s->cpu, BARO_COMBINE_UNION, d, "cpu_ns");
    add_fact(&s->processes, BARO_COMBINE_UNION, d, "processes_started");
    add_fact(&s->rss, BARO_COMBINE_JOIN, d, "rss_peak_bytes");
    if (s->rss.known && (!before.known || s->rss.value.u64 > before.value.u64))
        s->rss_name = d->name;
}

/* Returns what the section returned: DOCUMENT_STOP ends the report. */
static int read_tape(struct several *s, size_t i, document_section *section, void *context)
{
    struct listed_tape *t = &s->list.at[i];
    struct document d = {
        .settings = s->settings, .path = t->path, .name = t->name, .number = s->list.is_several ? i + 1 : 0};
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
    around(s, ret);
    return ret->failed ? error_set(err, -ENOMEM, "out of memory") : 0;
}
