/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of page faults and of processes. */
#include "base/fmt.h"
#include "output/text/parts.h"
#include "output/text/read_fact.h"

/* "at least 5 major"; "major not known" */
static void put_count(struct buf *b, struct baro_value v, const char *of)
{
    if (report_says_nothing(v))
        buf_printf(b, "%s ", of);
    report_marked(b, v, fmt_count);
    if (!report_says_nothing(v))
        buf_printf(b, " %s", of);
}

static void two_counts(struct lines *l, const char *what, struct baro_value one, const char *of_one,
                       struct baro_value other, const char *of_other)
{
    struct buf b = {0};
    if (!one.absent && !other.absent) {
        buf_str(&b, what);
        put_count(&b, one, of_one);
        buf_str(&b, ", ");
        put_count(&b, other, of_other);
    }
    lines_part(l, &b);
    buf_done(&b);
}

void report_faults(struct lines *l, const struct baro_summary *s)
{
    struct baro_value minor = report_fact(s, "job", "faults_minor"),
                      voluntary = report_fact(s, "job", "switches_voluntary");
    if (minor.absent && voluntary.absent)
        return;
    lines_begin(l, "faults", TONE_FAINT);
    two_counts(l, "pages ", minor, "minor", report_fact(s, "job", "faults_major"), "major");
    two_counts(l, "context switches ", voluntary, "voluntary", report_fact(s, "job", "switches_involuntary"),
               "involuntary");
    lines_end(l);
}

/* Is there an upper bound of how many processes began? */
bool report_started_range(const struct baro_summary *s, uint64_t *ret_most)
{
    struct baro_value most = report_fact(s, "job", "processes_started_at_most");
    *ret_most = most.u64;
    return (report_fact(s, "job", "processes_started").flags & BARO_VALUE_LOWER_BOUND) && !most.absent;
}

/* "at least 280", or, where there is a bound, "280 to 301". */
static void started_count(struct buf *b, const struct baro_summary *s, struct baro_value v)
{
    uint64_t most;
    bool both = report_started_range(s, &most);
    v.flags = both ? 0 : v.flags;
    report_marked(b, v, fmt_count);
    if (both)
        buf_printf(b, " to %s", COUNT(most));
}

static void started(struct buf *b, const struct baro_summary *s)
{
    struct baro_value v = report_fact(s, "job", "processes_started");
    struct baro_value peak = report_fact(s, "job", "processes_peak");
    if (report_says_nothing(v)) {
        buf_str(b, "not known");
        return;
    }
    started_count(b, s, v);
    buf_str(b, " started");
    if (!peak.absent)
        buf_printf(b, ", peak %s at once", MARKED(peak, fmt_count));
}

void report_processes(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    struct baro_value threads = report_fact(s, "job", "threads_peak");
    uint64_t survivors = report_u64(s, "job", "survivors");
    struct baro_value survivor = report_fact(s, "job", "survivor_name");
    lines_begin(l, "processes", TONE_FAINT);
    started(&b, s);
    lines_part(l, &b);
    if (threads.u64 > report_u64(s, "job", "processes_peak")) /* each process has one */
        lines_say(l, "%s threads", MARKED(threads, fmt_count));
    if (survivors) {
        buf_printf(&b, "%s outlive%s it: ", COUNT(survivors), survivors == 1 ? "s" : "");
        lines_name(l, &b, survivor.absent ? "(not known)" : survivor.text, 24);
        buf_str(&b, survivors == 1 ? "" : ", ...");
    }
    lines_finish(l, &b);
}
