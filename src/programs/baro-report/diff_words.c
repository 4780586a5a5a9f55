/* SPDX-License-Identifier: Apache-2.0 */
/* Words and numbers of a comparison. */
#include <math.h>
#include <string.h>

#include "base/fmt.h"
#include "output/rows/escaped.h"
#include "output/text/read_fact.h"
#include "programs/baro-report/diff.h"

static const struct {
    const char *fact, *label, *used; /* used: of the sentence, with the amount before it */
} labels[] = {
    {"wall_ns", "wall", "more wall time"},
    {"cpu_ns", "cpu", "more CPU"},
    {"rss_peak_bytes", "memory", "more memory"},
    {"process_rss_peak_bytes", "largest process", NULL},
    {"io_rchar_bytes", "read()", "more read"},
    {"io_wchar_bytes", "write()", "more written"},
    {"io_read_bytes", "disk read", NULL},
    {"io_write_bytes", "disk written", NULL},
    {"processes_started", "processes", "more processes"},
    {"processes", "processes", NULL},
    {"wait_status", "status", NULL},
    {"busy_job_ns", "gpu busy", "more GPU time"},
    {"memory_job_peak_bytes", "gpu memory", "more GPU memory"},
};
#define LABELS (sizeof(labels) / sizeof(*labels))

static size_t label_of(const struct baro_difference *d)
{
    size_t i = 0;
    while (i + 1 < LABELS && strcmp(labels[i].fact, d->fact->name) != 0)
        i++;
    return i;
}

const char *diff_label(const struct baro_difference *d)
{
    return labels[label_of(d)].label;
}

static double size_of(const struct baro_difference *d)
{
    double from = isnan(d->before) ? 0 : d->before, to = isnan(d->after) ? 0 : d->after;
    return to - from; /* of the medians that stand beside it; the answer comes from the estimate of the shift */
}

void diff_value(struct buf *b, const struct baro_difference *d, double value)
{
    if (isnan(value))
        buf_byte(b, '-');
    else if (strcmp(d->fact->name, "wait_status") == 0)
        report_status((int)value, b);
    else {
        buf_str(b, baro_value_prefix(d->flags, BARO_PREFIX_SYMBOL));
        report_format(d->fact)(b, whole_of(value + 0.5));
    }
}

static void put_amount(struct buf *b, const struct baro_difference *d, double size)
{
    report_format(d->fact)(b, whole_of((size < 0 ? -size : size) + 0.5));
}

void diff_shift(struct buf *b, const struct baro_difference *d)
{
    double size = size_of(d);
    if (strcmp(d->fact->name, "wait_status") == 0)
        return;
    buf_str(b, size < 0 ? "-" : "+");
    put_amount(b, d, size);
}

void diff_percent(struct buf *b, const struct baro_difference *d)
{
    double percent = d->before > 0 ? 100 * size_of(d) / d->before : 0;
    if (isnan(d->before) || isnan(d->after) || !(d->before > 0) || strcmp(d->fact->name, "wait_status") == 0)
        return;
    buf_str(b, percent < 0 ? "-" : "+");
    percent = percent < 0 ? -percent : percent;
    fmt_decimal(b, percent, percent < 9.95 ? 1 : 0);
    buf_str(b, " %");
}

void diff_answer(struct buf *b, const struct baro_difference *d)
{
    if (d->answer != BARO_ANSWER_UNKNOWN)
        buf_str(b, baro_answer_name(d->answer));
    else if (d->more_runs)
        buf_printf(b, "%u runs would tell", d->more_runs);
    else if (d->flags & (BARO_VALUE_LOWER_BOUND | BARO_VALUE_UPPER_BOUND))
        buf_str(b, "only a bound");
    else
        buf_str(b, "cannot tell");
}

bool diff_is_shown(const struct baro_difference *d)
{
    double size = size_of(d), least = d->fact->unit == BARO_UNIT_NS ? 10e6 : d->fact->unit == BARO_UNIT_BYTES ? 1e6 : 1;
    bool is_much = size >= least || -size >= least;
    if (strcmp(d->scope, "job") == 0) /* not what was never used */
        return d->before != 0 || d->after != 0 || strcmp(d->fact->name, "wait_status") == 0;
    if (d->answer == BARO_ANSWER_NEW || d->answer == BARO_ANSWER_GONE)
        return is_much && strcmp(d->fact->name, "rss_peak_bytes") != 0;
    return d->answer == BARO_ANSWER_CHANGED || (d->answer == BARO_ANSWER_UNKNOWN && is_much);
}

/* ---- the sentence ---- */

static const struct baro_difference *find_row(const struct baro_runset *set, const char *scope, const char *name,
                                              const char *fact)
{
    for (size_t i = 0; i < baro_difference_count(set); i++) {
        const struct baro_difference *d = baro_difference_get(set, i);
        if (strcmp(d->scope, scope) == 0 && strcmp(d->name, name) == 0 && strcmp(d->fact->name, fact) == 0)
            return d;
    }
    return NULL;
}

/* The command that differs most in the same direction: ": cc1 +2.9 s in 12 more processes". */
static void put_cause(struct buf *b, const struct baro_runset *set, const struct baro_difference *of)
{
    const struct baro_difference *most = NULL;
    for (size_t i = 0; i < baro_difference_count(set); i++) {
        const struct baro_difference *d = baro_difference_get(set, i);
        if (strcmp(d->scope, "command") != 0 || strcmp(d->fact->name, of->fact->name) != 0 ||
            (size_of(d) < 0) != (size_of(of) < 0))
            continue;
        double size = size_of(d), largest = most ? size_of(most) : 0;
        most = (size < 0 ? -size : size) > (largest < 0 ? -largest : largest) ? d : most;
    }
    if (!most || !diff_is_shown(most))
        return;
    buf_str(b, ": ");
    text_escaped(b, *most->name ? most->name : "(not known)", strlen(*most->name ? most->name : "(not known)"));
    buf_byte(b, ' ');
    diff_shift(b, most);
    double share = size_of(most) / size_of(of);
    if (share < 0.995)
        buf_printf(b, " (%.0f %% of it)", share * 100);
    const struct baro_difference *n = find_row(set, "command", most->name, "processes");
    double more = n && !n->flags ? size_of(n) : 0;
    if (more >= 1 || more <= -1) {
        buf_str(b, " in ");
        fmt_count(b, whole_of(more < 0 ? -more : more));
        buf_printf(b, " %s processes", more < 0 ? "fewer" : "more");
    }
}

/* "3.10 s (12 %) more CPU: cc1 +2.90 s (94 % of it) in 12 more processes" */
static void put_change(struct buf *b, const struct baro_runset *set, const struct baro_difference *d)
{
    double size = size_of(d);
    put_amount(b, d, size);
    if (d->before > 0) {
        double percent = 100 * (size < 0 ? -size : size) / d->before;
        buf_str(b, " (");
        fmt_decimal(b, percent, percent < 9.95 ? 1 : 0);
        buf_str(b, " %)");
    }
    buf_str(b, size > 0 ? " more" : d->fact->unit == BARO_UNIT_NONE ? " fewer" : " less");
    buf_str(b, labels[label_of(d)].used + sizeof("more") - 1);
    if (strcmp(d->fact->name, "cpu_ns") == 0 || strcmp(d->fact->name, "rss_peak_bytes") == 0)
        put_cause(b, set, d);
}

/* Lists the facts of the job with an answer: "memory, read() and write()". */
static size_t put_names(struct buf *b, const struct baro_runset *set, enum baro_answer answer)
{
    size_t n = 0, at = 0;
    for (int way = 0; way < 2; way++) {
        for (size_t i = 0; i < baro_difference_count(set); i++) {
            const struct baro_difference *d = baro_difference_get(set, i);
            if (*d->name || strcmp(d->scope, "job") != 0 || d->answer != answer || !labels[label_of(d)].used)
                continue;
            if (!way) {
                n++;
                continue;
            }
            buf_str(b, at ? at + 1 == n ? " and " : ", " : "");
            buf_str(b, diff_label(d));
            at++;
        }
    }
    return n;
}

/* Names the phase with the largest change of CPU time, where the job's change can't be told. */
static bool put_part(struct buf *b, const struct baro_runset *set)
{
    const struct baro_difference *job = find_row(set, "job", "", "cpu_ns"), *most = NULL;
    for (size_t i = 0; i < baro_difference_count(set); i++) {
        const struct baro_difference *d = baro_difference_get(set, i);
        if (strcmp(d->scope, "phase") == 0 && d->answer == BARO_ANSWER_CHANGED &&
            strcmp(d->fact->name, "cpu_ns") == 0 && (!most || size_of(d) * size_of(d) > size_of(most) * size_of(most)))
            most = d;
    }
    if (!most || !job || job->answer == BARO_ANSWER_CHANGED)
        return false;
    buf_str(b, "Phase ");
    text_escaped(b, most->name, strlen(most->name));
    buf_str(b, " used ");
    put_amount(b, most, size_of(most));
    buf_str(b, size_of(most) < 0 ? " less CPU. " : " more CPU. ");
    return true;
}

void diff_sentence(const struct baro_runset *set, struct buf *ret)
{
    size_t changes = 0;
    const struct baro_difference *status = find_row(set, "job", "", "wait_status");
    if (status && status->answer == BARO_ANSWER_CHANGED) {
        buf_str(ret, "It ended with ");
        diff_value(ret, status, status->after);
        buf_str(ret, " instead of ");
        diff_value(ret, status, status->before);
        buf_str(ret, ". ");
    }
    for (size_t i = 0; i < baro_difference_count(set); i++) {
        const struct baro_difference *d = baro_difference_get(set, i);
        if (strcmp(d->scope, "job") != 0 || d->answer != BARO_ANSWER_CHANGED || !labels[label_of(d)].used)
            continue;
        buf_str(ret, changes ? "; " : "After used ");
        put_change(ret, set, d);
        changes++;
    }
    buf_str(ret, changes ? ". " : "");
    if (!put_part(ret, set) && !changes)
        buf_str(ret, "No change is certain. ");
    struct buf same = {0}, unknown = {0};
    if (put_names(&same, set, BARO_ANSWER_SAME)) {
        buf_str(ret, "The same: ");
        buf_add(ret, same.at, same.len);
        buf_str(ret, ". ");
    }
    if (put_names(&unknown, set, BARO_ANSWER_UNKNOWN)) {
        buf_str(ret, "Cannot tell: ");
        buf_add(ret, unknown.at, unknown.len);
        buf_byte(ret, '.');
    }
    while (ret->len && ret->at[ret->len - 1] == ' ')
        ret->len--;
    ret->failed = ret->failed || same.failed || unknown.failed;
    buf_done(&same);
    buf_done(&unknown);
}
