/* SPDX-License-Identifier: Apache-2.0 */
/* The line about the memory of the job. */
#include <string.h>

#include "base/fmt.h"
#include "output/text/parts.h"
#include "output/text/read_fact.h"

#define LEAST_SHARE 0.01 /* share of the machine's memory; a share of a limit is always shown */
#define HOLDERS 3u

/* The commands that held most at the peak: ": cc1 ×2 489 MB, make 1.00 MB". */
static void holders(struct lines *l, struct buf *b, const struct baro_summary *s, const char *table)
{
    size_t n = report_rows(s, table);
    for (size_t i = 0; i < n && i < HOLDERS; i++) {
        uint64_t processes = report_row(s, table, "processes", i).u64;
        const char *name = report_row(s, table, "name", i).text;
        if (n == 1 && !*name)
            return;
        buf_str(b, i ? ", " : ": ");
        lines_name(l, b, *name ? name : "(not known)", 24);
        if (processes > 1)
            buf_printf(b, " %s%s", lines_times(l), COUNT(processes));
        if (n > 1)
            buf_printf(b, " %s", BYTES(report_row(s, table, "bytes", i).u64));
    }
}

static const char *why_not_known(const struct baro_summary *s, int absent)
{
    bool ended = report_fact(s, "exit", "wait_status").absent != BARO_ABSENT_NOT_YET;
    bool unsampled = ended && (absent == BARO_ABSENT_NOT_YET || absent == BARO_PRESENT);
    return unsampled ? "it ended before it was sampled" : report_reason(absent);
}

static void write_peak(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    struct baro_value v = report_fact(s, "job", "rss_peak_bytes");
    if (!v.u64) {
        lines_say(l, "not known: %s", why_not_known(s, v.absent));
        return;
    }
    buf_printf(&b, "peak %s rss", MARKED(v, fmt_bytes));
    bool unsampled = report_is(s, "job", "rss_peak_is_unsampled");
    if (!unsampled) {
        buf_str(&b, " at ");
        fmt_moment(&b, report_u64(s, "job", "memory_peak_t_ns"));
    }
    holders(l, &b, s, "rss_peak_held_by");
    buf_str(&b, unsampled ? ", between samples" : "");
    lines_part(l, &b);
    buf_done(&b);
}

static void measure(struct lines *l, const struct baro_summary *s, const char *fact, const char *name)
{
    struct baro_value v = report_fact(s, "job", fact);
    bool is_little = v.flags & BARO_VALUE_LOWER_BOUND && v.u64 < report_u64(s, "job", "rss_peak_bytes") / 2;
    if (!v.absent && v.u64 && !is_little) /* a bound far below rss says nothing */
        lines_say(l, "%s %s", name, MARKED(v, fmt_bytes));
}

/* Writes "needed 154 MB, 30 % of 512 MB"; without the limit if only the machine limits memory. Then it is left out
 * where rss says as much. */
static void share(struct buf *b, const struct baro_summary *s)
{
    struct baro_value peak = report_fact(s, "limits", "memory_peak_bytes"),
                      of_limit = report_fact(s, "limits", "memory_peak_ratio");
    const char *of = report_text(s, "limits", "memory_peak_of");
    if (of_limit.absent || peak.absent)
        return;
    if (!report_is_limit(report_text(s, "limits", "memory_at_most_source")) && of_limit.real < LEAST_SHARE) {
        uint64_t rss = report_u64(s, "job", "rss_peak_bytes");
        if (peak.u64 <= rss + rss / 4 && peak.u64 + rss / 4 >= rss)
            return;
        buf_printf(b, "%s %s", report_needed(s), MARKED(peak, fmt_bytes));
        return;
    }
    if (strcmp(of, "address_space") == 0)
        buf_printf(b, "%s of address space", MARKED(peak, fmt_bytes));
    else
        buf_printf(b, "%s %s", report_needed(s), MARKED(peak, fmt_bytes));
    if (!of_limit.flags) /* no percentage of a value that is not exact */
        buf_printf(b, ", %s", PERCENT(of_limit.real));
    buf_str(b, " of ");
    fmt_limit(b, report_u64(s, "limits", "memory_at_most_bytes"));
}

/* Writes the line of memory. Its first figure is always the sum of rss, which every sample has. PSS, which counts
 * shared pages once, follows it. */
void report_memory(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    struct baro_value swap = report_fact(s, "job", "swap_peak_bytes"), peak = report_fact(s, "job", "rss_peak_bytes"),
                      largest = report_fact(s, "job", "process_rss_peak_bytes");
    lines_begin(l, "memory", TONE_FAINT);
    write_peak(l, s);
    measure(l, s, "rss_peak_at_most_bytes", "at most");
    measure(l, s, "pss_peak_bytes", "pss");
    /* Else it is the peak itself, or a mark from before the recording. */
    if (report_u64(s, "job", "processes_started") != 1 && !report_is(s, "job", "rss_peak_is_of_process") &&
        (peak.absent || largest.u64 <= peak.u64))
        measure(l, s, "process_rss_peak_bytes", "largest process");
    share(&b, s);
    lines_part(l, &b);
    if (swap.u64)
        lines_say(l, "swap %s", MARKED(swap, fmt_bytes));
    lines_finish(l, &b);
}
