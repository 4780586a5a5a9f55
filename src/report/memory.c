/* SPDX-License-Identifier: Apache-2.0 */
/* The line about the memory of the job. */
#include <string.h>

#include "base/fmt.h"
#include "report/parts.h"
#include "report/read.h"

#define LEAST_SHARE 0.01 /* of the machine's memory; a share of a limit is always shown */
#define HOLDERS 3u

/* The commands that held most at the peak: ": cc1 ×2 489 MB, make 1.00 MB". */
static void holders(struct lines *l, struct buf *b, const struct baro_summary *s, const char *table)
{
    size_t n = report_rows(s, table);
    for (size_t i = 0; i < n && i < HOLDERS; i++) {
        uint64_t processes = report_row(s, table, "processes", i).u64;
        buf_str(b, i ? ", " : ": ");
        lines_name(l, b, report_row(s, table, "name", i).text, 24);
        if (processes > 1) {
            buf_printf(b, " %s", lines_times(l));
            fmt_count(b, processes);
        }
        if (n > 1) {
            buf_byte(b, ' ');
            fmt_bytes(b, report_row(s, table, "bytes", i).u64);
        }
    }
}

static const char *why_not_known(const struct baro_summary *s, int absent)
{
    bool ended = report_fact(s, "exit", "wait_status").absent != BARO_ABSENT_NOT_YET;
    bool unsampled = ended && (absent == BARO_ABSENT_NOT_YET || absent == BARO_PRESENT);
    return unsampled ? "it ended before it was sampled" : report_reason(absent);
}

static void peak_between_samples(struct lines *l, struct buf *b, const struct baro_summary *s, uint64_t rss)
{
    const char *name = report_rows(s, "rss_peak_held_by") ? report_row(s, "rss_peak_held_by", "name", 0).text : "";
    buf_str(b, "peak at least ");
    fmt_bytes(b, rss);
    buf_str(b, " rss");
    if (*name) {
        buf_str(b, ": ");
        lines_name(l, b, name, 24);
    }
    buf_str(b, ", between samples");
}

static void peak(struct lines *l, const struct baro_summary *s, bool is_pss)
{
    struct buf b = {0};
    struct baro_value v = report_fact(s, "job", is_pss ? "pss_peak_bytes" : "rss_peak_bytes");
    if (!is_pss && report_is(s, "job", "rss_peak_is_unsampled")) {
        peak_between_samples(l, &b, s, v.u64);
    } else if (v.u64) {
        buf_str(&b, v.flags & BARO_VALUE_LOWER_BOUND ? "peak at least " : "peak ");
        fmt_bytes(&b, v.u64);
        buf_str(&b, is_pss ? " pss at " : " rss at ");
        fmt_moment(&b, report_u64(s, "job", "memory_peak_t_ns"));
        holders(l, &b, s, is_pss ? "pss_peak_held_by" : "rss_peak_held_by");
    } else {
        buf_printf(&b, "not known: %s", why_not_known(s, v.absent));
    }
    lines_part(l, &b);
    buf_done(&b);
}

/* "30 % of 512 MB", and what that is a share of where it is no resident memory. */
static void share(struct buf *b, const struct baro_summary *s)
{
    uint64_t peak = report_u64(s, "limits", "memory_peak_bytes");
    const char *of = report_text(s, "limits", "memory_peak_of");
    double ratio;
    if (!report_has_real(s, "limits", "memory_peak_ratio", &ratio) ||
        (!report_is_limit(report_text(s, "limits", "memory_at_most_source")) && ratio < LEAST_SHARE))
        return;
    /* A sum of rss counts a shared page once for each process: 16 workers that share 1.5 GB sum up to 25 GB. */
    if (strcmp(of, "rss") == 0 && report_u64(s, "job", "rss_peak_members") > 1)
        return;
    if (strcmp(of, "cgroup") == 0) {
        fmt_bytes(b, peak);
        buf_str(b, " with page cache, ");
    } else if (strcmp(of, "address_space") == 0) {
        fmt_bytes(b, peak);
        buf_str(b, " of address space, ");
    }
    lines_percent(b, ratio);
    buf_str(b, " of ");
    fmt_bytes(b, report_u64(s, "limits", "memory_at_most_bytes"));
}

/* PSS, which counts shared pages once, where it is exact. Else RSS, and PSS beside it as the lower bound or estimate
 * that it is. */
void report_memory(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    bool is_pss = report_text_is(s, "job", "memory_peak_of", "pss");
    struct baro_value pss = report_fact(s, "job", "pss_peak_bytes"),
                      largest = report_fact(s, "job", "process_rss_peak_bytes");
    uint64_t swap = report_u64(s, "job", "swap_peak_bytes");
    lines_begin(l, "memory", TONE_FAINT);
    peak(l, s, is_pss);
    if (!is_pss && pss.u64) {
        buf_str(&b, pss.flags & BARO_VALUE_ESTIMATE ? "pss about " : "pss at least ");
        fmt_bytes(&b, pss.u64);
        lines_part(l, &b);
    }
    if (largest.u64 && (is_pss || !report_is(s, "job", "rss_peak_is_of_process"))) { /* else it is the peak itself */
        buf_str(&b, largest.flags & BARO_VALUE_LOWER_BOUND ? "largest process at least " : "largest process ");
        fmt_bytes(&b, largest.u64);
    }
    lines_part(l, &b);
    share(&b, s);
    lines_part(l, &b);
    if (swap) {
        buf_str(&b, "swap ");
        fmt_bytes(&b, swap);
        lines_part(l, &b);
    }
    lines_end(l);
    buf_done(&b);
}
