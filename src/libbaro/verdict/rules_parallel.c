/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about cores that the job did not use: one at a time, a slow start, a serial tail. */
#include <math.h>
#include <string.h>

#include "base/command_line.h"
#include "libbaro/verdict/verdict_rule.h"

#define WINDOWS 50

/* Threads that ran or could have run, in each fiftieth of a stretch. */
struct windows {
    double demand[WINDOWS];
    double length_ns;
};

static uint64_t window_ns(const struct stretch *s, int i)
{
    return s->begin_ns + whole_of(s->wall_ns * i / WINDOWS);
}

/* False if one of them is not known. */
static bool windows_of(const struct evidence *e, const struct stretch *s, struct windows *ret)
{
    ret->length_ns = s->wall_ns / WINDOWS;
    return e->history && stretch_demands(e, s, WINDOWS, ret->demand);
}

static double mean(const struct windows *w, int from, int to)
{
    double sum = 0;
    for (int i = from; i < to; i++)
        sum += w->demand[i];
    return sum / (to - from);
}

/* ---- one-core ---- */

#define ONE_DEMAND_LEAST 0.8
#define ONE_DEMAND_MOST 1.2
#define ONE_TIME 0.9
#define ONE_CORES 1.9

static bool one_core(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    struct windows w;
    double one = 0;
    if (!(e->cores >= ONE_CORES && stretch_demand(s) >= ONE_DEMAND_LEAST) || !stretch_demand_is_known(s) ||
        is_contended(e, s) || is_throttled(e, s) || is_short_of_memory(e, s) || (!s->phase && is_feeding_gpu(e, s)) ||
        !windows_of(e, s, &w))
        return false;
    for (int i = 0; i < WINDOWS; i++)
        one += w.demand[i] <= ONE_DEMAND_MOST ? 1.0 / WINDOWS : 0;
    if (!(one >= ONE_TIME && stretch_demand(s) <= ONE_DEMAND_MOST))
        return false;
    find_title(f, "One thread at a time had work, for %s of the time, and it might have used %s cores.",
               words_percent(one, BARO_VALUE_ESTIMATE).at, words_cores(FACT(e, cores)).at);
    find_advice(f, "Run its steps in parallel (make -j%s, xargs -P%s, threads), or ask for 1 core.",
                words_cores(whole_down(e->cores), 0).at, words_cores(whole_down(e->cores), 0).at);
    find_brief(f, "at most one thread had work for %s of the time", words_percent(one, BARO_VALUE_ESTIMATE | SIGNS).at);
    find_hint(f, "run steps in parallel, or ask for 1 core");
    find_number(f, "demand_cores", stretch_demand(s), stretch_demand_flags(s), BARO_UNIT_REAL);
    find_number(f, "one_thread_ratio", one, BARO_VALUE_ESTIMATE, BARO_UNIT_RATIO);
    find_number(f, s->phase ? "cpu_ns" : "job.cpu_ns", GROWN(s, FOLD_CPU), BARO_UNIT_NS);
    find_number(f, "limits.cores", FACT(e, cores), BARO_UNIT_REAL);
    return true;
}

static const struct baro_threshold one_thresholds[] = {
    {"threads that ran or could have run, on average: at least", ONE_DEMAND_LEAST, BARO_UNIT_REAL},
    {"the same: at most", ONE_DEMAND_MOST, BARO_UNIT_REAL},
    {"share of the time in which there were so few", ONE_TIME, BARO_UNIT_RATIO},
    {"cores that it may use", ONE_CORES, BARO_UNIT_REAL},
};
const struct verdict_rule rule_one_core = {
    {"one-core", BARO_VERDICT_ADVICE,
     "One thread at a time had work, and the job may use more cores. Time in which that "
     "thread waited for a core counts "
     "as work, so this is true on a busy machine as well.",
     THRESHOLDS(one_thresholds)},
    one_core,
    RULE_OF_PHASES | RULE_NEEDS_HISTORY};

/* ---- serial-tail, slow-start ---- */

#define EDGE_SHARE 0.15
#define EDGE_TIME_NS (1 * SECOND_NS)
#define EDGE_POINTS 5
#define EDGE_BLOCKED 0.3 /* named in the sentence only; decides nothing */
#define EDGE_WORK 0.5    /* a tail with less slept; of a slow start it decides the advice only */
#define EDGE_STEP 0.5    /* a step that took this share of the tail is named */
#define NAME_MOST 48u    /* bytes of a name */
#define EDGE_SERIAL 1.3
#define EDGE_PARALLEL 1.6
#define EDGE_IDLE 0.3
#define EDGE_BUSY 0.7

/* Returns how many windows at one end of the job have a demand of at most `low`, smoothed over three windows. */
static int edge(const struct windows *w, bool at_end, double low)
{
    int n = 0;
    while (n < WINDOWS) {
        int from = at_end ? WINDOWS - n - 3 : n, to = from + 3;
        if (mean(w, from < 0 ? 0 : from, to > WINDOWS ? WINDOWS : to) > low)
            break;
        n++;
    }
    /* Smoothing loses up to two windows at the border: adds them if they are low themselves. */
    for (int i = 0; i < 2 && n < WINDOWS && w->demand[at_end ? WINDOWS - 1 - n : n] <= low; i++)
        n++;
    return n;
}

static bool is_edge(const struct windows *w, bool at_end, double low, double high, int *ret)
{
    int n = edge(w, at_end, low);
    *ret = n;
    return WINDOWS - n >= EDGE_SHARE * WINDOWS && n >= EDGE_SHARE * WINDOWS && n * w->length_ns >= EDGE_TIME_NS &&
           (at_end ? mean(w, 0, WINDOWS - n) : mean(w, n, WINDOWS)) >= high;
}

/* Is it a task with an end, not a service? A service has no first or last step. */
static bool is_batch(const struct evidence *e)
{
    return strcmp(e->mode, "attach") != 0 && !e->is_running;
}

static void put_step(const struct baro_step *step, struct buf *ret)
{
    struct command_line c;
    struct span label = span_str("");
    if (step->cmdline) {
        command_line_read(step->cmdline, strlen(step->cmdline), &c);
        label = command_line_label(&c, NAME_MOST);
    }
    buf_add(ret, step->name, strnlen(step->name, NAME_MOST));
    buf_str(ret, label.len ? " " : "");
    buf_add(ret, label.at, label.len);
    if (!label.len && step->occurrences > 1)
        buf_printf(ret, " #%u", step->occurrence);
}

/*
 * Names the step that the job waited for in its tail: the link of the chain (baro/steps.h) that took most of it.
 * Returns false if the chain is not known there. Example: the tail is from 20 to 33 s, and the chain has cc1
 * amalgamation.c from 18.6 to 31 s and ld from 31 to 33 s: cc1 amalgamation.c, for which ld waited 12.4 s.
 */
static bool name_step(const struct evidence *e, struct finding *f)
{
    const struct baro_step_link *link, *most = NULL;
    double most_ns = EDGE_STEP * (double)(f->end_ns - f->begin_ns);
    for (size_t i = 0; e->steps && (link = baro_steps_link(e->steps, i)); i++) {
        double within = (double)(link->end_ns < f->end_ns ? link->end_ns : f->end_ns) -
                        (double)(link->begin_ns > f->begin_ns ? link->begin_ns : f->begin_ns);
        if (link->step < 0 || baro_steps_get(e->steps, (size_t)link->step)->is_driver || within < most_ns)
            continue;
        most = link;
        most_ns = within;
    }
    if (!most)
        return false;
    struct buf name = {0};
    put_step(baro_steps_get(e->steps, (size_t)most->step), &name);
    buf_byte(&name, 0);
    const char *text = name.failed ? "" : (const char *)name.at;
    double took = (double)(most->end_ns - most->begin_ns), saving = (double)most->saving_most_ns;
    find_title(f, "; it waited for %s, %s", text, words_duration(took, 0).at);
    find_brief(f, ", %s", text);
    if (saving > 0) {
        find_advice(f, "Starting %s first saves up to %s, unless it needs what others make.", text,
                    words_duration(saving, 0).at);
        find_hint(f, "start it first: saves ≤%s", words_duration(saving, 0).at);
    }
    find_text(f, "step", text);
    find_number(f, "step_ns", took, 0, BARO_UNIT_NS);
    find_number(f, "saving_ns", saving > 0 ? saving : NAN, BARO_VALUE_UPPER_BOUND, BARO_UNIT_NS);
    buf_done(&name);
    return true;
}

static bool find_edge(const struct evidence *e, const struct stretch *s, bool at_end, struct finding *f)
{
    struct windows w;
    int n;
    bool serial = false;
    if (!is_batch(e) || !(e->cores >= ONE_CORES) || !windows_of(e, s, &w))
        return false;
    if (!is_edge(&w, at_end, EDGE_IDLE, EDGE_BUSY, &n)) {
        serial = true;
        if (!is_edge(&w, at_end, EDGE_SERIAL, EDGE_PARALLEL, &n))
            return false;
    }
    *(at_end ? &f->begin_ns : &f->end_ns) = window_ns(s, at_end ? WINDOWS - n : n);
    if (points_within(e->history, f->begin_ns, f->end_ns) < EDGE_POINTS)
        return false;
    double rest = at_end ? mean(&w, 0, WINDOWS - n) : mean(&w, n, WINDOWS), length = n * w.length_ns;
    double blocked = points_growth(e->history, FOLD_BLOCKED, f->begin_ns, f->end_ns) / length;
    bool worked = (at_end ? mean(&w, WINDOWS - n, WINDOWS) : mean(&w, 0, n)) >= EDGE_WORK;
    if (at_end && !worked && !(blocked >= EDGE_BLOCKED))
        return false; /* the job slept: nothing can begin earlier */
    const char *runner = e->history && e->fold ? points_runner(e->history, e->fold, f->begin_ns, f->end_ns) : "";
    find_title(f, "In about its %s %s (%s of the time) it %s, and %s %s cores %s", at_end ? "last" : "first",
               words_duration(length, 0).at, words_percent(length / s->wall_ns, BARO_VALUE_ESTIMATE).at,
               serial ? "had work for one core at most" : "did next to nothing", serial ? "for" : "had work for",
               words_cores(rest, BARO_VALUE_ESTIMATE).at, at_end ? "before that" : "after that");
    find_brief(f, "%s %s (%s) %s", at_end ? "last" : "first", words_duration(length, BARO_VALUE_ESTIMATE | SIGNS).at,
               words_percent(length / s->wall_ns, 0).at, serial ? "on one core" : "idle");
    bool is_named = at_end && name_step(e, f);
    if (blocked >= EDGE_BLOCKED)
        find_title(f, "; a process waited for storage %s of that time", words_percent(blocked, BARO_VALUE_ESTIMATE).at);
    else if (*runner && serial && !is_named)
        find_title(f, "; what ran then was mostly %s", runner);
    find_title(f, ".");
    if (*runner && serial && !is_named)
        find_brief(f, ", %s", runner);
    if (worked && !f->advice.len)
        find_advice(f, at_end ? "Start the longest steps first, or divide the last one."
                              : "Begin with what can run in parallel.");
    if (worked && !f->hint.len)
        find_hint(f,
                  at_end ? "start the longest steps first, or divide the last" : "begin with what can run in parallel");
    find_number(f, at_end ? "tail_ns" : "start_ns", length, BARO_VALUE_ESTIMATE, BARO_UNIT_NS);
    find_number(f, "rest_demand_cores", rest, BARO_VALUE_ESTIMATE, BARO_UNIT_REAL);
    find_number(f, "io_wait_ratio", blocked, BARO_VALUE_ESTIMATE, BARO_UNIT_RATIO);
    find_text(f, "command", runner);
    return true;
}

static bool serial_tail(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    return find_edge(e, s, true, f);
}

static bool slow_start(const struct evidence *e, const struct stretch *s, struct finding *f)
{
    return find_edge(e, s, false, f);
}

static const struct baro_threshold edge_thresholds[] = {
    {"how long it lasts, and how long the rest, as a share of the time", EDGE_SHARE, BARO_UNIT_RATIO},
    {"how long it lasts", EDGE_TIME_NS, BARO_UNIT_NS},
    {"samples in it", EDGE_POINTS, BARO_UNIT_NONE},
    {"serial: threads that ran or could have run in it, at most", EDGE_SERIAL, BARO_UNIT_REAL},
    {"and in the rest, at least", EDGE_PARALLEL, BARO_UNIT_REAL},
    {"idle: threads that ran or could have run in it, at most", EDGE_IDLE, BARO_UNIT_REAL},
    {"and in the rest, at least", EDGE_BUSY, BARO_UNIT_REAL},
    {"a tail: threads that ran or could have run in it, at least, unless it waited for storage", EDGE_WORK,
     BARO_UNIT_REAL},
};
const struct verdict_rule rule_serial_tail = {
    {"serial-tail", BARO_VERDICT_ADVICE,
     "The last part of the job had work for one core at most, or only waited for storage, and what was before it had "
     "work for more. It names the step that the job waited for, where that is known. Not of a job that slept at its "
     "end or runs still, nor of processes that ran before the recording, such as a service.",
     THRESHOLDS(edge_thresholds)},
    serial_tail,
    RULE_NEEDS_HISTORY};
const struct verdict_rule rule_slow_start = {
    {"slow-start", BARO_VERDICT_ADVICE,
     "The first part of the job had work for one core at most, or for none, and what followed for more. Not of a job "
     "that runs still, nor of processes that ran before the recording.",
     THRESHOLDS(edge_thresholds)},
    slow_start,
    RULE_NEEDS_HISTORY};
