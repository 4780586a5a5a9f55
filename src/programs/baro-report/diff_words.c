/* SPDX-License-Identifier: Apache-2.0 */
/* Words and numbers of a comparison. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/sorted.h"
#include "output/rows/escaped.h"
#include "output/text/read_fact.h"
#include "programs/baro-report/diff.h"

static const struct {
    const char *fact, *label, *verb, *what; /* verb, what: of the sentence: "wrote" 3 MB more "" */
} labels[] = {
    {"wall_ns", "wall", "took", " wall time"},
    {"cpu_ns", "cpu", "used", " CPU"},
    {"rss_peak_bytes", "memory", "used", " memory"},
    {"process_rss_peak_bytes", "largest process", NULL, NULL},
    {"io_rchar_bytes", "read()", "read", ""},
    {"io_wchar_bytes", "write()", "wrote", ""},
    {"io_read_bytes", "disk read", NULL, NULL},
    {"io_write_bytes", "disk written", NULL, NULL},
    {"processes_started", "processes", "started", " processes"},
    {"processes", "processes", "started", " processes"},
    {"wait_status", "status", NULL, NULL},
    {"busy_job_ns", "gpu busy", "used", " GPU time"},
    {"memory_job_peak_bytes", "gpu memory", "used", " GPU memory"},
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
    if (d->answer == BARO_ANSWER_SMALL) {
        buf_str(b, "below ");
        put_amount(b, d, d->floor);
    } else if (d->answer == BARO_ANSWER_OTHERS)
        buf_str(b, "others used the cores");
    else if (d->answer != BARO_ANSWER_UNKNOWN)
        buf_str(b, baro_answer_name(d->answer));
    else if (d->more_runs)
        buf_printf(b, "needs %u runs", d->more_runs);
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
    if (!d->n_before || !d->n_after) /* a name that only some runs of a side have */
        return false;
    return d->answer == BARO_ANSWER_CHANGED || d->answer == BARO_ANSWER_OTHERS ||
           (d->answer == BARO_ANSWER_UNKNOWN && is_much);
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

static bool is_of_one(const struct baro_difference *d)
{
    return d->n_before < 2 || d->n_after < 2;
}

/* Returns the row of a scope and a fact that differs most, of those that are certain if there are any; NULL: none. way:
 * 1, -1: only those that grew, or shrank; 0: both. least: what differs by less is not looked for. Of one run each, of
 * which little is certain, the largest one counts. */
static const struct baro_difference *largest(const struct baro_runset *set, const char *scope, const char *fact,
                                             int way, double least)
{
    const struct baro_difference *most = NULL;
    for (size_t i = 0; i < baro_difference_count(set); i++) {
        const struct baro_difference *d = baro_difference_get(set, i);
        if (strcmp(d->scope, scope) != 0 || strcmp(d->fact->name, fact) != 0 || way * size_of(d) < 0 ||
            absolute(size_of(d)) < least || d->answer == BARO_ANSWER_SAME || d->answer == BARO_ANSWER_SMALL ||
            !(diff_is_shown(d) || is_certain(d)))
            continue;
        bool is_alike = !most || is_of_one(d) || is_certain(d) == is_certain(most);
        if (!most || (is_alike ? absolute(size_of(d)) > absolute(size_of(most)) : is_certain(d)))
            most = d;
    }
    return most;
}

static void put_name(struct buf *b, const char *name)
{
    name = *name ? name : "(not known)";
    text_escaped(b, name, strlen(name));
}

/* ---- causes ---- */

#define PART_LEAST (1.0 / 3) /* a cause explains so much of a difference */
#define PART_MOST 1.2
#define ALIKE_LEAST 5u /* commands */

/* The median of runs, of which those that lack the row have 0. */
static double median_of(const struct baro_runset *set, size_t row, size_t from, size_t to)
{
    double *room = calloc(to - from, sizeof(*room));
    size_t n = room ? diff_values(set, row, from, to, to, room) : 0;
    for (; room && n < to - from; n++)
        room[n] = 0;
    if (room)
        sort_numbers(room, n);
    double median = room ? sorted_median(room, n) : 0;
    free(room);
    return median;
}

/* The command that held more, or less, at the job's peak of memory, with a good part of the difference. A command that
 * ran before or after the peak is no cause of it, however large it is. Returns whether it is known who held it. */
static bool put_holder(struct buf *b, const struct baro_runset *set, const struct baro_difference *of, size_t before)
{
    double most = 0, least = 0, size = size_of(of);
    const char *name = "", *other = "";
    bool is_known = false;
    for (size_t i = 0; i < baro_runset_rows(set); i++) {
        const struct baro_runset_row *row = baro_runset_row(set, i);
        if (strcmp(row->scope, "holder") != 0)
            continue;
        double more = median_of(set, i, before, baro_runset_runs(set)) - median_of(set, i, 0, before);
        is_known = true;
        if (more / size > most / size) {
            most = more;
            name = row->name;
        } else if (more / size < least / size) {
            least = more;
            other = row->name;
        }
    }
    if (most / size < PART_LEAST)
        return is_known;
    buf_str(b, ": ");
    put_name(b, name);
    buf_str(b, size < 0 ? " -" : " +");
    put_amount(b, of, most);
    if (most / size < 0.995)
        buf_printf(b, " (%.0f %% of it)", most / size * 100);
    if (most / size > PART_MOST && *other) { /* which had the peak before */
        buf_str(b, size < 0 ? ", but +" : ", but -");
        put_amount(b, of, least);
        buf_str(b, " of ");
        put_name(b, other);
    }
    return true;
}

/* Says that most commands use more, or less, alike, where that is so: of three quarters of them the difference is
 * beyond half of the middle one. */
static void put_alike(struct buf *b, const struct baro_runset *set, bool is_more)
{
    double *ratio;
    size_t n = diff_ratios(set, &ratio);
    double middle = n >= ALIKE_LEAST ? sorted_median(ratio, n) - 1 : 0;
    double quarter = n ? ratio[is_more ? n / 4 : n - 1 - n / 4] - 1 : 0;
    if (is_more ? middle > 0.02 && quarter > middle / 2 : middle < -0.02 && quarter < middle / 2)
        buf_printf(b, ": most commands alike, %+.0f %% in the middle", 100 * middle);
    free(ratio);
}

#define EQUAL_PART 0.05 /* what differs by less than so much more is no larger cause */

/* Names the command, and all others that differ as much. Returns how many they are. Example: "cc1, ld and as". */
static size_t put_equals(struct buf *b, const struct baro_runset *set, const struct baro_difference *most)
{
    size_t n = 1, at = 1;
    put_name(b, most->name);
    for (int way = 0; way < 2; way++) {
        for (size_t i = 0; i < baro_difference_count(set); i++) {
            const struct baro_difference *d = baro_difference_get(set, i);
            double part = d->fact == most->fact ? size_of(d) / size_of(most) : 0;
            if (d == most || strcmp(d->scope, most->scope) != 0 || !(part >= 1 - EQUAL_PART))
                continue;
            if (!way) {
                n++;
                continue;
            }
            buf_str(b, ++at == n ? " and " : ", ");
            put_name(b, d->name);
        }
    }
    return n;
}

/* The command, or else the phase, that differs most in the same direction: ": cc1 +2.9 s in 12 more processes". */
static void put_cause(struct buf *b, const struct baro_runset *set, const struct baro_difference *of, size_t before)
{
    static const char *const parts[][2] = {
        {"processes_started", "processes"}, {"io_wchar_bytes", "io_write_bytes"}, {"io_rchar_bytes", "io_read_bytes"}};
    bool is_count = of->fact->unit == BARO_UNIT_NONE, is_command = true;
    const char *fact = of->fact->name;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        fact = strcmp(parts[i][0], fact) == 0 ? parts[i][1] : fact;
    if (strcmp(fact, "rss_peak_bytes") == 0 && strcmp(of->scope, "job") == 0 && put_holder(b, set, of, before))
        return;
    double size = size_of(of), least = absolute(size) * PART_LEAST;
    const struct baro_difference *most = largest(set, "command", fact, size < 0 ? -1 : 1, least);
    if (!most && strcmp(of->scope, "phase") != 0) {
        most = largest(set, "phase", fact, size < 0 ? -1 : 1, least);
        is_command = false;
    }
    if (!most && strcmp(fact, "cpu_ns") == 0)
        put_alike(b, set, size > 0);
    double share = most ? size_of(most) / size : 0;
    if (!most || (share > PART_MOST && of->fact->semantics == BARO_FACT_PEAK))
        return;
    buf_str(b, is_command ? ": " : ": phase ");
    size_t equals = 1;
    if (is_command) /* an equal phase may be within the other one */
        equals = put_equals(b, set, most);
    else
        put_name(b, most->name);
    buf_byte(b, ' ');
    diff_shift(b, most);
    buf_str(b, equals > 1 ? " each" : "");
    share *= (double)equals;
    struct buf note = {0};
    if (share < 0.995)
        buf_printf(&note, "%.0f %% of it%s", share * 100, equals > 1 ? " together" : "");
    else if (share > PART_MOST)
        buf_printf(&note, "others %s", size < 0 ? "more" : "less");
    if (!is_certain(most)) {
        buf_str(&note, note.len ? "; " : "");
        diff_answer(&note, most);
    }
    if (note.len)
        buf_printf(b, " (%.*s)", (int)note.len, (const char *)note.at);
    buf_done(&note);
    const struct baro_difference *n = find_row(set, "command", most->name, "processes");
    double more = n && !n->flags && is_certain(n) && is_command && equals == 1 && !is_count ? size_of(n) : 0;
    if (more >= 1 || more <= -1) {
        buf_str(b, " in ");
        fmt_count(b, whole_of(absolute(more)));
        buf_printf(b, " %s process%s", more < 0 ? "fewer" : "more", absolute(more) < 1.5 ? "" : "es");
    }
}

/* "3.10 s (12 %) more CPU: cc1 +2.90 s (94 % of it) in 12 more processes" */
static void put_change(struct buf *b, const struct baro_runset *set, const struct baro_difference *d, size_t before)
{
    double size = size_of(d);
    put_amount(b, d, size);
    if (d->before > 0) {
        buf_str(b, " (");
        put_share(b, 100 * size / d->before);
        buf_byte(b, ')');
    }
    buf_str(b, size > 0 ? " more" : d->fact->unit == BARO_UNIT_NONE ? " fewer" : " less");
    const char *what = labels[label_of(d)].what;
    bool is_one = d->fact->unit == BARO_UNIT_NONE && absolute(size) < 1.5; /* "1 more process" */
    buf_printf(b, "%.*s", (int)(strlen(what) - (is_one ? strlen("es") : 0)), what);
    if (strcmp(d->scope, "command") != 0 && strcmp(d->fact->name, "wall_ns") != 0)
        put_cause(b, set, d, before);
}

/* ---- the sentence ---- */

/* Lists the facts of the job with an answer: "memory, read() and write()". */
static size_t put_names(struct buf *b, const struct baro_runset *set, enum baro_answer answer)
{
    size_t n = 0, at = 0;
    for (int way = 0; way < 2; way++) {
        for (size_t i = 0; i < baro_difference_count(set); i++) {
            const struct baro_difference *d = baro_difference_get(set, i);
            if (*d->name || strcmp(d->scope, "job") != 0 || d->answer != answer || !labels[label_of(d)].verb)
                continue;
            if (!way) {
                n++;
                continue;
            }
            buf_str(b, at ? at + 1 == n ? " and " : ", " : "");
            buf_str(b, diff_label(d));
            if (answer == BARO_ANSWER_SMALL) {
                buf_byte(b, ' ');
                diff_shift(b, d);
            }
            at++;
        }
    }
    return n;
}

static void put_part(struct buf *b, const struct baro_runset *set, const struct baro_difference *d, size_t before)
{
    put_name(b, d->name);
    buf_printf(b, " %s ", labels[label_of(d)].verb);
    put_change(b, set, d, before);
}

/* Names the phase, or the command, that changed most where no change of the job is certain: 5 % more CPU time of one
 * command of forty is 0.1 % of the job's. Returns whether there is one. */
static bool put_parts(struct buf *b, const struct baro_runset *set, size_t before)
{
    static const char *const facts[][2] = {
        {"processes_started", "processes"}, {"cpu_ns", "cpu_ns"}, {"rss_peak_bytes", "rss_peak_bytes"}};
    static const char *const scopes[] = {"phase", "command"};
    bool is_any = false;
    for (size_t k = 0; k < sizeof(facts) / sizeof(*facts); k++) {
        const struct baro_difference *job = find_row(set, "job", "", facts[k][0]), *most = NULL;
        for (size_t i = 0; i < 2 && !(most && most->answer == BARO_ANSWER_CHANGED); i++)
            most = largest(set, scopes[i], facts[k][1], 0, 0);
        if ((job && job->answer == BARO_ANSWER_CHANGED) || !most || most->answer != BARO_ANSWER_CHANGED)
            continue;
        buf_str(b, strcmp(most->scope, "phase") == 0 ? "Phase " : "Command ");
        put_part(b, set, most, before);
        buf_str(b, ". ");
        is_any = true;
    }
    return is_any;
}

/* Where no change is certain, the command whose CPU time differs most, as a number of these runs. */
static void put_uncertain(struct buf *b, const struct baro_runset *set, size_t before)
{
    const struct baro_difference *most = largest(set, "command", "cpu_ns", 0, 0);
    if (!most || is_certain(most) || !(absolute(size_of(most)) > 0.1 * most->before))
        return;
    buf_str(b, "What differs most: command ");
    put_part(b, set, most, before);
    buf_str(b, " (");
    diff_answer(b, most);
    buf_str(b, "). ");
}

static void put_status(struct buf *b, const struct baro_runset *set, size_t before)
{
    const struct baro_difference *d = find_row(set, "job", "", "wait_status");
    if (!d || d->answer != BARO_ANSWER_CHANGED)
        return;
    for (int side = 1; side >= 0; side--) { /* after, before */
        struct buf status = {0};
        const char *limit = baro_runset_circumstance(set, side ? before : 0, "limit reached");
        diff_value(&status, d, side ? d->after : d->before);
        bool is_killed = status.len > 6 && memcmp(status.at, "killed", 6) == 0;
        if (is_killed && limit && strcmp(limit, "none") != 0 && strcmp(limit, "not known") != 0) {
            buf_str(b, side ? "It reached the limit " : "reaching the limit ");
            put_name(b, limit);
        } else {
            buf_str(b, side ? is_killed ? "It was " : "It ended with " : is_killed ? "being " : "");
            buf_add(b, status.at, status.len);
        }
        buf_str(b, side ? " instead of " : ". ");
        buf_done(&status);
    }
}

/* Says that others made the job slower, or how long it waited for cores where that is a good part of a certain change
 * of wall time. Returns whether others did. */
static bool put_waits(struct buf *b, const struct baro_runset *set, size_t before)
{
    const struct baro_difference *wall = find_row(set, "job", "", "wall_ns");
    size_t row = diff_job_row(set, "run_delay_ns");
    bool is_of_others = wall && wall->answer == BARO_ANSWER_OTHERS;
    double size = wall ? size_of(wall) : 0;
    if (!wall || row == baro_runset_rows(set) || !(is_of_others || wall->answer == BARO_ANSWER_CHANGED))
        return false;
    double more = median_of(set, row, before, baro_runset_runs(set)) - median_of(set, row, 0, before);
    if (is_of_others) {
        buf_str(b, size > 0 ? "Slower because others used the cores: it took "
                            : "Faster because others left it the cores: it took ");
        put_change(b, set, wall, before);
        buf_str(b, ", and waited ");
    } else if (more / size < PART_LEAST)
        return false;
    else
        buf_str(b, "It waited ");
    put_amount(b, wall, more);
    buf_printf(b, " %s for cores. ", more > 0 ? "more" : "less");
    return is_of_others;
}

/* A change that is exact may be as small as that: it stands in the table alone. */
static bool is_small(const struct baro_difference *d)
{
    double size = absolute(size_of(d));
    return d->fact->unit == BARO_UNIT_BYTES && (size < 64e3 || size < 0.01 * d->before);
}

/* What is known best comes first. Returns how many changes the sentence has. */
static size_t put_changes(struct buf *b, const struct baro_runset *set, size_t before, size_t *ret_small)
{
    static const char *const facts[] = {"processes_started", "io_wchar_bytes", "io_rchar_bytes",        "cpu_ns",
                                        "busy_job_ns",       "rss_peak_bytes", "memory_job_peak_bytes", "wall_ns"};
    const char *verb = "";
    size_t n = 0;
    for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
        const struct baro_difference *d = find_row(set, "job", "", facts[i]);
        if (!d || d->answer != BARO_ANSWER_CHANGED)
            continue;
        if (is_small(d)) {
            ++*ret_small;
            continue;
        }
        buf_str(b, n++ ? "; " : "After ");
        if (strcmp(verb, labels[label_of(d)].verb) != 0)
            buf_printf(b, "%s ", labels[label_of(d)].verb);
        verb = labels[label_of(d)].verb;
        put_change(b, set, d, before);
    }
    buf_str(b, n ? ". " : "");
    return n;
}

/* "The same: cpu and memory. " */
static void put_list(struct buf *b, const struct baro_runset *set, enum baro_answer answer, const char *head,
                     const char *what)
{
    struct buf names = {0};
    if (put_names(&names, set, answer)) {
        buf_printf(b, "%s%s: ", head, what);
        buf_add(b, names.at, names.len);
        buf_str(b, ". ");
    }
    b->failed = b->failed || names.failed;
    buf_done(&names);
}

void diff_sentence(const struct baro_runset *set, size_t before, struct buf *ret)
{
    size_t small = 0;
    put_status(ret, set, before);
    size_t changes = put_changes(ret, set, before, &small);
    bool is_any = put_parts(ret, set, before), is_of_others = put_waits(ret, set, before);
    if (!is_any && !changes) {
        buf_str(ret, small          ? "Counts of bytes changed by next to nothing, and no other change is certain. "
                     : is_of_others ? "No other change is certain. "
                                    : "No change is certain. ");
        put_uncertain(ret, set, before);
    }
    const char *what = is_any ? " of the whole job" : "";
    put_list(ret, set, BARO_ANSWER_SMALL, "A small difference", what);
    put_list(ret, set, BARO_ANSWER_SAME, "The same", what);
    put_list(ret, set, BARO_ANSWER_UNKNOWN, "Cannot tell", what);
    while (ret->len && ret->at[ret->len - 1] == ' ')
        ret->len--;
}
