/* SPDX-License-Identifier: Apache-2.0 */
/* Notes: what makes the figures of a summary incomplete, a line for each. */
#include <string.h>

#include "output/text/parts.h"
#include "output/text/read_fact.h"

#define LEFT_OUT_MUCH 4u /* fewer samples left out than a quarter of those taken are not mentioned */
#define LEFT_OUT_FEW 5u  /* nor are so few in total */
#define REMAINDER_SMALL 0.02
#define THINNED_MUCH 10u /* nor is less than one read left out per ten readings of a process */

static void put_note(struct lines *l, struct buf *b)
{
    if (!b->len)
        return;
    lines_begin(l, "note", TONE_WARN);
    lines_part(l, b);
    lines_end(l);
}

static void note_count(struct lines *l, struct buf *b, const char *before, uint64_t n, const char *one,
                       const char *many)
{
    if (!n)
        return;
    buf_printf(b, "%s%s%s", before, COUNT(n), n == 1 ? one : many);
    put_note(l, b);
}

static void note_times(struct lines *l, struct buf *b, const struct baro_summary *s)
{
    uint64_t suspended = report_u64(s, "", "suspended_ns");
    if (report_u64(s, "recorder", "gaps"))
        buf_printf(b, "nothing could be recorded for %s", DURATION(report_u64(s, "recorder", "gap_ns")));
    put_note(l, b);
    if (suspended)
        buf_printf(b, "the machine slept for %s", DURATION(suspended));
    put_note(l, b);
    if (report_u64(s, "", "clock_steps")) {
        buf_str(b, "the wall clock was set during the run; times here come from another clock");
        put_note(l, b);
    }
}

static void note_removed(struct lines *l, struct buf *b, const struct baro_summary *s)
{
    uint64_t removed;
    if (!report_has_u64(s, "", "removed_ns", &removed))
        return;
    buf_printf(b,
               "the first %s of the recording were removed (--keep, baro trim): totals are of all of it, peaks, "
               "curves and commands of the rest",
               DURATION(removed));
    put_note(l, b);
}

static void note_thinned(struct lines *l, struct buf *b, const struct baro_summary *s)
{
    uint64_t to;
    if (!report_has_u64(s, "", "thinned_to", &to))
        return;
    buf_printf(
        b,
        "what is old is thinned (--thin-after, baro thin): it has one of %llu samples; totals are exact, levels may "
        "have been higher in between",
        (unsigned long long)to);
    put_note(l, b);
}

/* Writes the distance between samples. Example: 152 samples in 17.4 s, with 172 left out and 27 missed: one each 114
 * ms instead of 49.6 ms. */
static void put_distance(struct buf *b, const struct baro_summary *s, uint64_t samples, uint64_t lacking)
{
    uint64_t wall_ns = report_u64(s, "", "wall_ns"), all;
    if (__builtin_add_overflow(samples, lacking, &all)) /* a damaged tape has any number */
        all = UINT64_MAX;
    buf_printf(b, "sampled every %s on average instead of %s", DURATION(wall_ns / samples), DURATION(wall_ns / all));
}

/* Writes what the reader lacks because samples and reads were left out: nothing, or one sentence. */
static void note_left_out(struct lines *l, struct buf *b, const struct baro_summary *s)
{
    uint64_t samples = report_u64(s, "recorder", "samples"), missed = report_u64(s, "recorder", "missed"),
             left_out = report_u64(s, "recorder", "left_out"), thinned = report_u64(s, "recorder", "thinned");
    bool rare = samples && missed + left_out > samples / LEFT_OUT_MUCH && missed + left_out > LEFT_OUT_FEW;
    bool thin = thinned > report_u64(s, "recorder", "process_samples") / THINNED_MUCH;
    if (!rare && !thin)
        return;
    if (rare)
        put_distance(b, s, samples, missed + left_out);
    if (thin)
        buf_str(b, rare ? ", and pss and threads more seldom" : "pss and threads were read more seldom than the rest");
    if (thin || left_out >= missed)
        buf_str(b, ", to stay within the overhead budget (--overhead)");
    else
        buf_str(b, ": the recorder was held up (no core, or a file system that does not answer)");
    put_note(l, b);
}

static void note_samples(struct lines *l, struct buf *b, const struct baro_summary *s)
{
    note_count(l, b, "events were lost in ", report_u64(s, "accounting", "lossy_intervals"),
               " interval: counts of processes are lower bounds, totals are not touched",
               " intervals: counts of processes are lower bounds, totals are not touched");
}

const char *report_perf_grant(const char *refused)
{
    static const char *const grants[][2] = {
        {"seccomp", "--cap-add PERFMON for the container, with older engines --security-opt seccomp=FILE"},
        {"seccomp despite CAP_PERFMON", "--security-opt seccomp=FILE for the container"},
        {"perf_event_paranoid", "sysctl kernel.perf_event_paranoid=2 on the host"},
    };
    for (size_t i = 0; i < sizeof(grants) / sizeof(*grants); i++) {
        if (strcmp(refused, grants[i][0]) == 0)
            return grants[i][1];
    }
    return "perf_event_open(2)";
}

/* Only where it matters: a job whose processes are all known lacks nothing. */
static void note_refused(struct lines *l, struct buf *b, const struct baro_summary *s)
{
    const char *refused = report_text(s, "accounting", "perf_refused");
    double remainder = 0;
    report_has_real(s, "accounting", "remainder_ratio", &remainder);
    if (!*refused ||
        (!(report_fact(s, "job", "processes_started").flags & BARO_VALUE_LOWER_BOUND) && remainder < REMAINDER_SMALL))
        return;
    buf_str(b, "processes may be missing, because perf is refused by ");
    lines_name(l, b, refused, 40);
    buf_printf(b, ". It would be granted by %s", report_perf_grant(refused));
    put_note(l, b);
}

void report_gaps(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    uint64_t damaged = report_u64(s, "recorder", "damaged_bytes");
    note_removed(l, &b, s);
    note_thinned(l, &b, s);
    note_times(l, &b, s);
    note_samples(l, &b, s);
    note_refused(l, &b, s);
    if (report_is(s, "recorder", "is_wrapper_lost")) {
        buf_str(&b, "the wrapper went away before the job: what it reaped after that is missing");
        put_note(l, &b);
    }
    if (damaged)
        buf_printf(&b, "%s of the tape are damaged and were stepped over", BYTES(damaged));
    put_note(l, &b);
    if (report_u64(s, "recorder", "warnings")) {
        lines_name(l, &b, report_text(s, "recorder", "warning"), 160);
        put_note(l, &b);
    }
    if (report_is(s, "", "is_incomplete")) {
        buf_str(&b, "out of memory: parts of this summary are missing");
        put_note(l, &b);
    }
    buf_done(&b);
}

void report_notes(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    report_gaps(l, s);
    note_left_out(l, &b, s);
    buf_done(&b);
}
