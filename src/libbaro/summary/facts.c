/* SPDX-License-Identifier: Apache-2.0 */
/* The table of facts, and how it is read: include/baro/summary.h. */
#include "libbaro/summary/facts.h"

#include <math.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "libbaro/summary/groups.h"
#include "libbaro/summary/limits.h"

/* ---- commands ---- */

/* Marks of the facts of commands. */

static bool command_tcp_is_bound(const struct baro_summary *s, const struct command *c)
{
    bool is_short = !s->finished.tcp_is_exact || s->finished.tcp_is_of_living || c->tcp_is_short ||
                    c->covered[COMMAND_TCP_SENT] < c->processes;
    return c->covered[COMMAND_TCP_SENT] && !s->finished.tcp_is_whole && is_short;
}

/* Is a part more than the error that reading a clock may have? */
static bool is_much(uint64_t part, uint64_t all)
{
    return part > 5 * NS_PER_MS + all / 100;
}

/* May processes of this name be missing that used something? Processes that were not seen, or whose name is not
 * known, may have this name. Example: of a job of 350 ms, three sh used 20 ms, and 193 ms belong to a process whose
 * name is not known. */
static bool lacks_some(const struct baro_summary *s, const struct command *c)
{
    uint64_t others = s->finished.rest_ns + (*c->name ? s->finished.nameless_ns : 0);
    return summary_command_may_have_more(s, c) && is_much(others, c->value[COMMAND_CPU]);
}

/* Is the peak of a command a lower bound? It is exact if no process of the job held more. Example: 248 MB were read
 * for python3, which has ended, and no process of the job held more than 248 MB: that is its peak. If wait4(2)
 * reports a process with 258 MB, the 248 MB are a lower bound. */
static bool command_rss_is_bound(const struct baro_summary *s, const struct command *c)
{
    bool is_largest = summary_is_run(s) && s->rows.job_absent[JOB_process_rss_peak] == BARO_PRESENT &&
                      !summary_mark_is_bound(s) && c->value[COMMAND_RSS_PEAK] >= s->rows.job[JOB_process_rss_peak];
    return !is_largest && (c->rss_is_short || c->covered[COMMAND_RSS_PEAK] < c->processes || lacks_some(s, c));
}

/* Is the CPU time of a command an estimate? It may be too large, if the part that is unsure is not small. It may be
 * too small if perf reported it, because perf's clock does not count the time for switching to a process. Example: a
 * pipeline switched 34,000 times and used 480 ms; by perf its commands used 459 ms. */
static bool command_cpu_is_estimate(const struct baro_summary *s, const struct command *c)
{
    return is_much(c->cpu_unsure_ns, c->value[COMMAND_CPU]) ||
           (c->cpu_is_of_perf && is_much(s->finished.rest_ns, s->rows.job[JOB_cpu]));
}

/* May the CPU time lack what freeing the memory of its processes took? Example: the one child of a job, with 400 MB,
 * has 180 ms by taskstats, and the job has 191 ms: up to 10 of the other 11 ms were spent on freeing its memory. If
 * the total is a lower bound, it may lack that time, too. */
#define TEARDOWN_MOST 8u /* times the expected time */
static bool lacks_teardown(const struct baro_summary *s, const struct command *c)
{
    uint64_t most = TEARDOWN_MOST * c->teardown_ns;
    uint64_t lacking = fact_cpu_is_bound(s)         ? 2 * c->teardown_ns
                       : most < s->finished.rest_ns ? most
                                                    : s->finished.rest_ns;
    return is_much(lacking, c->value[COMMAND_CPU]);
}

static bool command_cpu_is_bound(const struct baro_summary *s, const struct command *c)
{
    bool is_short = c->cpu_is_short || c->covered[COMMAND_CPU] < c->processes;
    return is_short || lacks_some(s, c) || lacks_teardown(s, c);
}

static bool command_io_lacks_some(const struct baro_summary *s, const struct command *c)
{
    return command_io_is_bound(c) || lacks_some(s, c);
}

/* The index of each fact, and of the first one of each section. A section's first enumerator does not count. */
enum {
#define SECTION(id, name, is_table, help) FIRST_##id, BEFORE_##id = FIRST_##id - 1,
#define FACT(id, name, type, unit, semantics, trend, value, help) FACT_##id##_##name,
#define END(id) END_##id, LAST_##id = END_##id - 1,
#include "libbaro/summary/facts.def"
    FACTS
};

enum {
#define SECTION(id, name, is_table, help) SECTION_##id,
#include "libbaro/summary/facts.def"
    SECTIONS
};

static const struct baro_section sections[SECTIONS] = {
#define SECTION(id, name, is_table, help) {name, help, is_table, FIRST_##id, END_##id - FIRST_##id},
#include "libbaro/summary/facts.def"
};

static const struct baro_fact facts[FACTS] = {
#define FACT(id, name, type, unit, semantics, trend, value, help)                                                      \
    FACT_ROW(SECTION_##id, #name, type, unit, semantics, trend, true, help),
#define FACT_NOT_IN_JSON(id, name, type, unit, semantics, trend, value, help)                                          \
    FACT_ROW(SECTION_##id, #name, type, unit, semantics, trend, false, help),
#include "libbaro/summary/facts.def"
};

/* ---- the words of facts.def: why a value is absent (0: it is not), and the value ---- */

/* What functions return through a pointer, while a value is got. */
union got {
    uint64_t u64;
    double real;
    const char *text;
    struct baro_value value;
    struct summary_rss rss;
    struct summary_memory memory;
    struct summary_oom_kills kills;
    struct summary_split split;
    struct gpus_sum gpus;
    struct meters_sum meters;
};

#define IS(v) BARO_PRESENT, v
#define GIVEN(text) *(text) ? BARO_PRESENT : BARO_ABSENT_NONE, text
#define IF(is, reason, v) (is) ? BARO_PRESENT : BARO_ABSENT_##reason, v
#define UNLESS(reason, v) reason, v
#define BY(function, member) function(s, &got.member), got.member
#define BY_ROW(function, member) function(s, row, &got.member), got.member
#define VALUE(v) (got.value = (v)).absent, got.value.real

#define JOB(metric) s->rows.job_absent[JOB_##metric], s->rows.job[JOB_##metric]
#define JOB_HAS(metric) summary_job_has(s, JOB_##metric)
#define RECORDER(metric) s->rows.self_absent[RECORDER_##metric], s->rows.self[RECORDER_##metric]
#define TERM(term, how) s->fold.cell[FOLD_##term].absent, s->fold.cell[FOLD_##term].how
/* The value is made of the growth of this cell: for `fell` in the rows of marks. */
#define NOTE_FALL(cell) (fell = fell || (cell).fell)
#define NOTE_TERM(term) NOTE_FALL(s->fold.cell[FOLD_##term])
#define GREW(cell) (NOTE_FALL(cell), (cell).absent)
#define GROWN(term) (NOTE_TERM(term), summary_machine_grown(s, FOLD_##term, &got.u64)), got.u64
#define SHARE(term) (NOTE_TERM(term), fold_share(&s->fold, FOLD_##term, &got.real)), got.real
#define CPU_SHARE(term)                                                                                                \
    (NOTE_TERM(term), NOTE_TERM(HOST_ALL), summary_machine_share(s, FOLD_##term, &got.real)), got.real
#define BUSY(function) (NOTE_TERM(HOST_BUSY), function(s, &got.real)), got.real

#define CELL(kind, metric) s->fold.kind.at[row].cell[metric]
#define NOW(kind, metric) CELL(kind, metric).absent_now, CELL(kind, metric).last
#define DIRECTORY(metric) NOW(directories, DIRECTORY_##metric)
#define TASK(metric, how) CELL(tasks, TASK_##metric).absent, CELL(tasks, TASK_##metric).how
#define TASK_COUNT(metric) GREW(CELL(tasks, TASK_##metric)), task_counted(&CELL(tasks, TASK_##metric))
#define TASK_MEMORY(metric) task_memory_absent(s, row, TASK_##metric), CELL(tasks, TASK_##metric).most
/* A limit that was reached. */
#define REACHED (&s->reached.at[row])
#define GPU_ROW &s->fold.gpus.at[row]
#define GPU(metric, how) CELL(gpus, GPU_##metric).absent, CELL(gpus, GPU_##metric).how
#define GPU_GROWN(metric) GREW(CELL(gpus, GPU_##metric)), CELL(gpus, GPU_##metric).grown
#define GPU_REAL(metric)                                                                                               \
    CELL(gpus, GPU_##metric).absent,                                                                                   \
        baro_metric_real(baro_metric_get(KIND_gpu, GPU_##metric), CELL(gpus, GPU_##metric).most)
#define GPU_SHARE(metric) (NOTE_FALL(CELL(gpus, GPU_##metric)), gpu_share(GPU_ROW, GPU_##metric, &got.real)), got.real
#define GPUS_OF(member) (gpus_sum(s, &got.gpus), got.gpus.member)
#define GPUS(has, member)                                                                                              \
    GPUS_OF(has) ? BARO_PRESENT : got.gpus.n ? BARO_ABSENT_UNSUPPORTED : BARO_ABSENT_NONE, got.gpus.member
#define ENERGY(member) meters_sum(s, &got.meters), got.meters.member
#define ENERGY_OF(member) (meters_sum(s, &got.meters), got.meters.member)
#define CARBON(section, fact) carbon_of(s, section, fact, &got.real), got.real

#define PEAK(sum_of, member) s->peaks.sum[PEAK_##sum_of].absent, s->peaks.sum[PEAK_##sum_of].member
#define RSS_OF(member) (summary_rss_peak(s, &got.rss), got.rss.member)
#define RSS(why, member) RSS_OF(why), got.rss.member
#define MEMORY_OF(member) (summary_memory(s, &got.memory), got.memory.member)
#define MEMORY(why, v) MEMORY_OF(absent) ? got.memory.absent : (why), v
#define OOM(member) summary_oom_kills(s, &got.kills), got.kills.member
#define OOM_OF(member) (summary_oom_kills(s, &got.kills), got.kills.member)
#define LIMIT(what) summary_##what##_limit(s, &got.text)
#define LIMIT_SOURCE(what) (LIMIT(what), got.text)

#define COMMAND(of)                                                                                                    \
    command->covered[COMMAND_##of] ? BARO_PRESENT : command->absent[COMMAND_##of], command->value[COMMAND_##of]
#define SPLIT_OF(member) (summary_command_split(s, command, &got.split), got.split.member)
#define SPLIT(member) SPLIT_OF(absent), got.split.member
#define COURSE(of, job, unit)                                                                                          \
    s->course.is_known[COURSE_##of] ? s->rows.job_absent[job] : BARO_ABSENT_UNKNOWN,                                   \
        course_rate(&s->course, COURSE_##of, row) / unit
#define EXIT(is, v) fact_exit_absent(s, is), v
/* A time, since the start of the command. */
#define AGE(...) AGE_(__VA_ARGS__)
#define AGE_(why, t_ns) why, fact_since_start(s, t_ns)

#define PUT(type, ...) PUT_(MEMBER_##type, __VA_ARGS__)
#define PUT_(member, why, v)                                                                                           \
    ret->absent = (enum baro_absent)(why);                                                                             \
    if (!ret->absent)                                                                                                  \
    ret->member = v
#define MEMBER_UNSIGNED u64
#define MEMBER_BOOLEAN u64
#define MEMBER_REAL real
#define MEMBER_TEXT text
#define MEMBER_TIME i64

/* Returns whether a counter fell of whose growth the value is made. */
static bool get_value(const struct baro_summary *s, int fact, size_t row, struct baro_value *ret)
{
    const struct command *command = summary_command(s, row);
    union got got;
    bool fell = false;
    switch (fact) {
#define FACT(id, name, type, unit, semantics, trend, value, help)                                                      \
    case FACT_##id##_##name:                                                                                           \
        PUT(type, value);                                                                                              \
        break;
#include "libbaro/summary/facts.def"
    }
    return fell;
}

/* Is the name one of the words of `covers`? A word that ends with _ covers all names that begin with it, * all. */
static bool is_covered(const char *covers, const char *name)
{
    for (const char *word = covers; *word; word += strcspn(word, " "), word += *word == ' ') {
        size_t n = 0;
        while (name[n] && word[n] == name[n])
            n++;
        if (*word == '*' || ((!word[n] || word[n] == ' ') && (!name[n] || (n && word[n - 1] == '_'))))
            return true;
    }
    return false;
}

static void get_marks(const struct baro_summary *s, int fact, size_t row, bool fell, struct baro_value *ret)
{
    const struct command *command = summary_command(s, row);
    union got got;
#define UNLESS_ESTIMATE(when) !(ret->flags & BARO_VALUE_ESTIMATE) && (when)
#define SECTION(id, name, is_table, help) if (facts[fact].section == SECTION_##id) {
#define MARK(id, covers, flag, when, help)                                                                             \
    if (is_covered(covers, facts[fact].name) && (when))                                                                \
        ret->flags |= BARO_VALUE_##flag;
#define END(id) }
#include "libbaro/summary/facts.def"
}

/* ---- flags ---- */

enum mark { EXACT, AT_LEAST, ABOUT, AT_MOST };

static enum mark mark_of(unsigned flags)
{
    bool least = flags & BARO_VALUE_LOWER_BOUND, most = flags & BARO_VALUE_UPPER_BOUND;
    return (least && most) || flags & BARO_VALUE_ESTIMATE ? ABOUT : least ? AT_LEAST : most ? AT_MOST : EXACT;
}

const char *baro_value_prefix(unsigned flags, enum baro_prefix as)
{
    static const char *const marks[][3] = {{"", "", ""},
                                           {"at least ", ">=", "\342\211\245"},
                                           {"about ", "~", "\342\211\210"},
                                           {"at most ", "<=", "\342\211\244"}};
    return marks[mark_of(flags)][as >= BARO_PREFIX_WORDS && as <= BARO_PREFIX_SYMBOL ? as : BARO_PREFIX_WORDS];
}

const char *baro_value_mark(unsigned flags)
{
    static const char *const marks[] = {NULL, "lower_bound", "estimate", "upper_bound"};
    return marks[mark_of(flags)];
}

int baro_summary_section_count(void)
{
    return SECTIONS;
}

const struct baro_section *baro_summary_section(int section)
{
    return section >= 0 && section < SECTIONS ? &sections[section] : NULL;
}

int baro_summary_section_find(const char *name)
{
    for (int i = 0; i < SECTIONS; i++) {
        if (strcmp(sections[i].name, name) == 0)
            return i;
    }
    return -1;
}

int baro_summary_fact_count(void)
{
    return FACTS;
}

const struct baro_fact *baro_summary_fact(int fact)
{
    return fact >= 0 && fact < FACTS ? &facts[fact] : NULL;
}

int baro_summary_fact_find(const char *section, const char *name)
{
    const struct baro_section *in = baro_summary_section(baro_summary_section_find(section));
    for (int i = in ? in->first_fact : FACTS; in && i < in->first_fact + in->fact_count; i++) {
        if (strcmp(facts[i].name, name) == 0)
            return i;
    }
    return -1;
}

/* The key is the first fact of each table. */
int baro_summary_key(int section)
{
    const struct baro_section *s = baro_summary_section(section);
    return s && s->is_table && section != SECTION_command ? s->first_fact : -1;
}

size_t baro_summary_rows(const struct baro_summary *s, int section)
{
    switch (section) {
    case SECTION_command: return s->subject.n_argv;
    case SECTION_targets: return s->subject.n_targets;
    case SECTION_pss_peak_held_by:
        return s->peaks.sum[PEAK_PSS].absent == BARO_PRESENT ? s->peaks.sum[PEAK_PSS].n_top : 0;
    case SECTION_rss_peak_held_by: return summary_rss_holders(s);
    case SECTION_directories: return s->fold.directories.n;
    case SECTION_limits_reached: return s->reached.n;
    case SECTION_gpus: return s->fold.gpus.n;
    case SECTION_commands: return s->finished.n_order;
    case SECTION_tasks: return s->fold.tasks.n;
    case SECTION_course: return course_buckets(&s->course);
    default: return section >= 0 && section < SECTIONS;
    }
}

enum baro_absent baro_summary_value(const struct baro_summary *s, int fact, size_t row, struct baro_value *ret)
{
    *ret = (struct baro_value){.absent = BARO_ABSENT_UNSUPPORTED};
    if (fact < 0 || fact >= FACTS || row >= baro_summary_rows(s, facts[fact].section))
        return ret->absent;
    *ret = (struct baro_value){0};
    bool fell = get_value(s, fact, row, ret);
    if (ret->absent == BARO_PRESENT)
        get_marks(s, fact, row, fell, ret);
    return ret->absent;
}

const char *baro_fact_semantics_name(enum baro_fact_semantics semantics)
{
    static const char *const names[] = {"property", "instant", "sum", "peak", "least", "mean", "share"};
    return (unsigned)semantics < sizeof(names) / sizeof(*names) ? names[semantics] : "unknown";
}

const char *baro_fact_trend_name(enum baro_fact_trend trend)
{
    static const char *const names[] = {"none", "more_is_worse", "more_is_better"};
    return (unsigned)trend < sizeof(names) / sizeof(*names) ? names[trend] : "unknown";
}

ptrdiff_t baro_summary_row_find(const struct baro_summary *s, int section, const char *key)
{
    int fact = baro_summary_key(section);
    struct baro_value v;
    for (size_t row = 0; fact >= 0 && row < baro_summary_rows(s, section); row++)
        if (baro_summary_value(s, fact, row, &v) == BARO_PRESENT && v.text && strcmp(v.text, key) == 0)
            return (ptrdiff_t)row;
    return -1;
}

double baro_fact_real(const struct baro_fact *fact, const struct baro_value *value)
{
    if (value->absent != BARO_PRESENT)
        return NAN;
    switch (fact->type) {
    case BARO_FACT_UNSIGNED:
    case BARO_FACT_BOOLEAN: return (double)value->u64;
    case BARO_FACT_SIGNED:
    case BARO_FACT_TIME: return (double)value->i64;
    case BARO_FACT_REAL: return value->real;
    case BARO_FACT_TEXT: break;
    }
    return NAN;
}
