/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of the job, and what they refused. */
#include <string.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "output/text/parts.h"
#include "output/text/read_fact.h"

#define NAME_COLUMNS 48u

bool report_is_limit(const char *source)
{
    return strcmp(source, "machine") != 0;
}

const char *report_needed(const struct baro_summary *s)
{
    return report_u64(s, "limits", "oom_kills") ? "used" : "needed";
}

void report_cores(struct buf *b, double cores)
{
    bool whole = cores < 1e9 && cores == (double)(uint64_t)cores;
    fmt_decimal(b, cores, whole ? 0 : cores < 10 ? 2 : 1);
}

static void by(const struct lines *l, struct buf *b, const char *source)
{
    buf_str(b, " by ");
    unsigned room = l->style.width - LINES_INDENT;
    lines_path(l, b, source, room < NAME_COLUMNS ? room : NAME_COLUMNS);
}

static void cores(struct lines *l, const struct baro_summary *s, struct buf *b)
{
    const char *source = report_text(s, "limits", "cores_at_most_source");
    uint64_t throttled = report_u64(s, "limits", "throttled_ns");
    double limit = report_fact(s, "limits", "cores_at_most").real;
    if (report_is_limit(source)) {
        buf_str(b, report_fact(s, "limits", "cores").absent ? "at most " : "");
        report_cores(b, limit);
        buf_str(b, limit == 1 ? " core" : " cores");
        by(l, b, source);
    }
    if (throttled >= NS_PER_MS)
        buf_printf(b, "%sheld back %s%s", b->len ? ", " : "", DURATION(throttled),
                   strncmp(source, "cgroup ", 7) == 0 ? "" : " by a quota");
    lines_part(l, b);
}

static void put_memory_limit(struct lines *l, const struct baro_summary *s, struct buf *b)
{
    const char *source = report_text(s, "limits", "memory_at_most_source");
    double group, job;
    if (!report_is_limit(source))
        return;
    buf_str(b, report_fact(s, "limits", "memory_bytes").absent ? "at most " : "");
    fmt_limit(b, report_u64(s, "limits", "memory_at_most_bytes"));
    if (strncmp(source, "RLIMIT_", 7) == 0)
        buf_str(b, strcmp(source, "RLIMIT_AS") == 0 ? " of address space a process" : " of data a process");
    by(l, b, source);
    if (strcmp(source, "RLIMIT_DATA") == 0)
        buf_str(b, ", which no sample counts");
    /* the group holds more than the job */
    if (report_has_real(s, "limits", "memory_group_ratio", &group) &&
        (!report_has_real(s, "limits", "memory_peak_ratio", &job) || group > job))
        buf_printf(b, ", %s full", PERCENT(group));
    lines_part(l, b);
}

static void hidden(struct buf *b, const struct baro_summary *s)
{
    bool of_cores = report_is(s, "limits", "cores_is_hidden"), of_memory = report_is(s, "limits", "memory_is_hidden");
    if (of_cores || of_memory)
        buf_printf(b, "%s%s%s not known: a control group out of sight may limit %s", of_cores ? "cores" : "",
                   of_cores && of_memory ? ", " : "", of_memory ? "memory" : "", of_cores && of_memory ? "them" : "it");
}

void report_kills(struct buf *b, const char *before, uint64_t n, const char *after)
{
    buf_printf(b, "%s%s process%s%s", before, COUNT(n), n == 1 ? "" : "es", after);
}

/* OOM kills: the job's (certain, probable or possible), then those of other processes in its control group. */
static void kills(struct lines *l, struct buf *b, const struct baro_summary *s)
{
    struct baro_value likely = report_fact(s, "limits", "oom_kills");
    uint64_t least = report_u64(s, "limits", "oom_kills_at_least"), most = report_u64(s, "limits", "oom_kills_at_most"),
             counted = report_u64(s, "limits", "oom_kills_in_group");
    if (likely.u64)
        report_kills(b, likely.u64 > least ? "probably " : "", likely.u64, " OOM-killed");
    lines_part(l, b);
    if (most > likely.u64)
        report_kills(b, likely.u64 ? "at most " : "perhaps of the job: at most ", most, " OOM-killed");
    lines_part(l, b);
    if (counted > most)
        report_kills(b, "", counted - most, " of others in its control group OOM-killed");
    lines_part(l, b);
}

static void forks(struct lines *l, const struct baro_summary *s, struct buf *b, uint64_t refused)
{
    const char *source = report_text(s, "limits", "pids_at_most_source");
    uint64_t pids = report_u64(s, "limits", "pids_at_most");
    if (refused) {
        buf_printf(b, "%s fork%s refused", COUNT(refused), refused == 1 ? "" : "s");
        if (pids && report_is_limit(source)) {
            buf_printf(b, ": at most %s threads", COUNT(pids));
            by(l, b, source);
        }
    }
    lines_part(l, b);
}

void report_limits(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    uint64_t refused = report_u64(s, "limits", "forks_refused");
    bool any_limit = report_is_limit(report_text(s, "limits", "cores_at_most_source")) ||
                     report_is_limit(report_text(s, "limits", "memory_at_most_source")),
         any_hidden = report_is(s, "limits", "cores_is_hidden") || report_is(s, "limits", "memory_is_hidden"),
         any_refused = report_u64(s, "limits", "throttled_ns") >= NS_PER_MS ||
                       report_u64(s, "limits", "oom_kills_at_most") || report_u64(s, "limits", "oom_kills_in_group") ||
                       refused;
    if (!any_limit && !any_hidden && !any_refused)
        return;
    lines_begin(l, "limits", any_refused ? TONE_WARN : TONE_FAINT);
    cores(l, s, &b);
    put_memory_limit(l, s, &b);
    hidden(&b, s);
    lines_part(l, &b);
    kills(l, &b, s);
    forks(l, s, &b, refused);
    lines_finish(l, &b);
}
