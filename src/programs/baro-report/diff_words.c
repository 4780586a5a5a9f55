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
    {"processes", "processes", "more processes"},
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

/* "5.1 %", "93 %"; of much more "41 times" */
static void put_share(struct buf *b, double percent)
{
    percent = percent < 0 ? -percent : percent;
    fmt_decimal(b, percent < 1000 ? percent : percent / 100, percent < 9.95 ? 1 : 0);
    buf_str(b, percent < 1000 ? " %" : " times");
}

void diff_percent(struct buf *b, const struct baro_difference *d)
{
    double percent = d->before > 0 ? 100 * size_of(d) / d->before : 0;
    if (isnan(d->before) || isnan(d->after) || !(d->before > 0) || strcmp(d->fact->name, "wait_status") == 0)
        return;
    if (percent > -0.05 && percent < 0.05) /* not "-0.0 %" */
        return;
    buf_str(b, percent < 0 ? "-" : "+");
    put_share(b, percent);
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

static double absolute(double v)
{
    return v < 0 ? -v : v;
}

static bool is_certain(const struct baro_difference *d)
{
    return d->answer == BARO_ANSWER_CHANGED || d->answer == BARO_ANSWER_NEW || d->answer == BARO_ANSWER_GONE;
}

/* Returns the row of a scope and a fact that differs most, of those that are certain if there are any; NULL: none. way:
 * 1, -1: only those that grew, or shrank; 0: both. */
static const struct baro_difference *largest(const struct baro_runset *set, const char *scope, const char *fact,
                                             int way)
{
    const struct baro_difference *most = NULL;
    for (size_t i = 0; i < baro_difference_count(set); i++) {
        const struct baro_difference *d = baro_difference_get(set, i);
        if (strcmp(d->scope, scope) != 0 || strcmp(d->fact->name, fact) != 0 || way * size_of(d) < 0)
            continue;
        if (!most ||
            (is_certain(d) == is_certain(most) ? absolute(size_of(d)) > absolute(size_of(most)) : is_certain(d)))
            most = d;
    }
    return most;
}

/* The command that differs most in the same direction: ": cc1 +2.9 s in 12 more processes". */
static void put_cause(struct buf *b, const struct baro_runset *set, const struct baro_difference *of)
{
    bool is_count = of->fact->unit == BARO_UNIT_NONE;
    const struct baro_difference *most =
        largest(set, "command", is_count ? "processes" : of->fact->name, size_of(of) < 0 ? -1 : 1);
    if (!most || most->answer == BARO_ANSWER_SAME || !(diff_is_shown(most) || is_certain(most)))
        return;
    buf_str(b, ": ");
    text_escaped(b, *most->name ? most->name : "(not known)", strlen(*most->name ? most->name : "(not known)"));
    buf_byte(b, ' ');
    diff_shift(b, most);
    double share = size_of(most) / size_of(of);
    if (share < 0.995)
        buf_printf(b, " (%.0f %% of it)", share * 100);
    const struct baro_difference *n = find_row(set, "command", most->name, "processes");
    double more = n && !n->flags && !is_count ? size_of(n) : 0;
    if (more >= 1 || more <= -1) {
        buf_str(b, " in ");
        fmt_count(b, whole_of(absolute(more)));
        buf_printf(b, " %s process%s", more < 0 ? "fewer" : "more", absolute(more) < 1.5 ? "" : "es");
    }
}

/* "3.10 s (12 %) more CPU: cc1 +2.90 s (94 % of it) in 12 more processes" */
static void put_change(struct buf *b, const struct baro_runset *set, const struct baro_difference *d)
{
    double size = size_of(d);
    put_amount(b, d, size);
    if (d->before > 0) {
        buf_str(b, " (");
        put_share(b, 100 * size / d->before);
        buf_byte(b, ')');
    }
    buf_str(b, size > 0 ? " more" : d->fact->unit == BARO_UNIT_NONE ? " fewer" : " less");
    const char *used = labels[label_of(d)].used + sizeof("more") - 1;
    bool is_one = d->fact->unit == BARO_UNIT_NONE && absolute(size) < 1.5; /* "1 more process" */
    buf_printf(b, "%.*s", (int)(strlen(used) - (is_one ? strlen("es") : 0)), used);
    if (strcmp(d->scope, "command") != 0 && strcmp(d->fact->name, "wall_ns") != 0)
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

/* Names the phase, or the command, that changed most where no change of the job is certain: 5 % more CPU time of one
 * command of forty is 0.1 % of the job's. Returns whether there is one. */
static bool put_parts(struct buf *b, const struct baro_runset *set)
{
    static const char *const facts[][2] = {
        {"cpu_ns", "cpu_ns"}, {"rss_peak_bytes", "rss_peak_bytes"}, {"processes_started", "processes"}};
    static const char *const scopes[][2] = {{"phase", "Phase "}, {"command", "Command "}};
    bool is_any = false;
    for (size_t k = 0; k < sizeof(facts) / sizeof(*facts); k++) {
        const struct baro_difference *job = find_row(set, "job", "", facts[k][0]), *most = NULL;
        size_t i = 0;
        for (; i < 2 && !(most && most->answer == BARO_ANSWER_CHANGED); i++)
            most = largest(set, scopes[i][0], facts[k][1], 0);
        if ((job && job->answer == BARO_ANSWER_CHANGED) || !most || most->answer != BARO_ANSWER_CHANGED)
            continue;
        buf_str(b, scopes[i - 1][1]);
        text_escaped(b, *most->name ? most->name : "(not known)", strlen(*most->name ? most->name : "(not known)"));
        buf_str(b, " used ");
        put_change(b, set, most);
        buf_str(b, ". ");
        is_any = true;
    }
    return is_any;
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
    if (!put_parts(ret, set) && !changes)
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
