/* SPDX-License-Identifier: Apache-2.0 */
/* The line of the job's memory. */
#include "base/fmt.h"
#include "output/text/parts.h"
#include "output/text/read_fact.h"
#include "programs/baro-top/memory.h"
#include "programs/baro-top/view.h"

static double limit_of(const struct view *v)
{
    struct baro_value limit = report_fact(v->feed->summary, "limits", "memory_at_most_bytes");
    return limit.u64 ? (double)limit.u64 : (double)baro_header_memory_bytes(baro_tape_header(v->feed->tape));
}

/* Reads the job's memory. It takes all processes into account, so it is called once per drawing. */
struct memory head_memory(const struct view *v)
{
    bool by_group = report_text_is(v->feed->summary, "limits", "memory_peak_of", "cgroup");
    struct memory m = memory_of(v->instant->now, &v->feed->metric, by_group);
    const struct baro_sample *now = v->instant->now;
    if (m.absent && now && baro_sample_rows(now, BARO_KIND_PROCESS) == 0 && feed_has_job(v->feed, now))
        m.absent = BARO_PRESENT; /* no process is alive */
    return m;
}

/* A sum of rss counts shared pages more than once: above the limit it is not shown as a share of it. */
void head_memory_value(const struct view *v, struct buf *b, enum style *ret_style)
{
    const struct memory m = v->memory;
    double limit = limit_of(v);
    if (m.absent) {
        cell_absent_why(b, m.absent);
    } else {
        cell_mark(b, v->grid->utf8, m.flags);
        fmt_bytes(b, m.bytes);
    }
    if (limit <= 0)
        return;
    if (m.absent || (double)m.bytes <= limit) {
        buf_str(b, " of ");
        fmt_limit(b, whole_of(limit));
    }
    if (m.has_held && (double)m.held >= 0.8 * limit)
        *ret_style = (double)m.held >= 0.95 * limit ? STYLE_BAD : STYLE_WARN;
}

void head_memory_note(const struct view *v, struct buf *b)
{
    struct baro_value peak = report_fact(v->feed->summary, "job", "rss_peak_bytes");
    if (peak.absent)
        return;
    buf_str(b, "peak ");
    cell_mark(b, v->grid->utf8, peak.flags);
    fmt_bytes(b, peak.u64);
}

/* A job without a limit uses little of its machine: its curve is drawn against its own peak. */
double head_memory_scale(const struct view *v, double most)
{
    bool is_limited = report_is_limit(report_text(v->feed->summary, "limits", "memory_at_most_source")) &&
                      report_fact(v->feed->summary, "limits", "memory_at_most_bytes").u64;
    return is_limited ? limit_of(v) : most * 1.05;
}
