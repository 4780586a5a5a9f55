/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts: rule by rule with evidence typed by hand, at its thresholds and just below them; and docs/verdicts.md,
 * whose rules and examples are made from the table and from the evidence here (BARO_GOLDEN_WRITE=1 writes them).
 */
#include <math.h>
#include <signal.h>

#include "unit.h"
#include "baro/text.h"
#include "baro/verdict.h"
#include "base/buf.h"
#include "base/fmt.h"
#include "libbaro/sample/sample.h"
#include "libbaro/verdict/verdict_rule.h"
#include "libbaro/verdict/verdict.h"
#include "verdict_world.h"

static struct world w;

/* ---- applying a rule ---- */

static bool says(const char *name)
{
    struct finding f = {.begin_ns = w.e.job.begin_ns, .end_ns = w.e.job.end_ns};
    bool is = find_rule(name)->apply(&w.e, &w.e.job, &f);
    if (is)
        assert_true(f.title.len > 0);
    finding_done(&f);
    return is;
}

/* ---- tests ---- */

TEST(table)
{
    assert_int_equal(baro_verdict_rule_count(), MADE);
    assert_null(baro_verdict_rule(-1));
    assert_null(baro_verdict_rule(MADE));
    for (int i = 0; i < MADE; i++) {
        const struct baro_rule *r = baro_verdict_rule(i);
        assert_string_equal(r->name, made[i].rule);
        assert_true(r->help[0]);
        for (size_t t = 0; t < r->threshold_count; t++)
            assert_true(r->thresholds[t].help[0] && r->thresholds[t].value > 0);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(r->name, made[j].rule);
    }
    assert_string_equal(baro_verdict_weight_name(BARO_VERDICT_PROBLEM), "problem");
    assert_string_equal(baro_verdict_weight_name((enum baro_verdict_weight)77), "unknown");
}

/* Each rule has a verdict on the evidence made for it, and none on empty evidence. */
TEST(each)
{
    for (int i = 0; i < MADE; i++) {
        world_init(&w);
        assert_false(says(made[i].rule));
        made[i].make(&w);
        if (!says(made[i].rule))
            fail_msg("%s", made[i].rule);
    }
}

/* All that was measured may be too small. */
static void flag_all(struct evidence *e)
{
#define FLAG(member, section, name) e->flags.member = BARO_VALUE_LOWER_BOUND;
    VERDICT_FACTS(FLAG)
#undef FLAG
    e->flags.wall_ns = e->flags.cores = e->flags.memory_limit_bytes = e->flags.exit_status = 0; /* these are known */
    for (int i = 0; i < FOLD_COUNTERS; i++)
        e->job.flags[i] = BARO_VALUE_LOWER_BOUND;
    for (int i = 0; i < (int)COMMANDS_MOST; i++)
        e->command[i].flags = BARO_VALUE_LOWER_BOUND;
    e->contender.flags = BARO_VALUE_LOWER_BOUND;
}

static bool is_marked(const struct buf *text)
{
    static const char *const marks[] = {"at least ", "At least ", "at most ", "about ", "About ", "≥", "≤", "≈"};
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
        if (memmem(text->at, text->len, marks[i], strlen(marks[i])))
            return true;
    }
    return false;
}

/* What a sentence quotes has the mark of the number: in the sentence, and in the evidence as text and as flags. */
TEST(marks_of_quoted_numbers)
{
    for (int i = 0; i < MADE; i++) {
        struct finding f = {.end_ns = 100 * SECOND};
        bool any = false;
        world_init(&w);
        made[i].make(&w);
        flag_all(&w.e);
        assert_true(find_rule(made[i].rule)->apply(&w.e, &w.e.job, &f));
        for (size_t k = 0; k < f.n_rows; k++) {
            bool of_advice = strncmp(f.row[k].name, "ask_", 4) == 0;
            any = any || (f.row[k].flags && !of_advice);
            if (!isnan(f.row[k].value) && is_marked(&f.row[k].text) != (f.row[k].flags != 0))
                fail_msg("%s: %s is %.*s", made[i].rule, f.row[k].name, (int)f.row[k].text.len, f.row[k].text.at);
        }
        if (any && !is_marked(&f.title))
            fail_msg("%s: %.*s", made[i].rule, (int)f.title.len, f.title.at);
        finding_done(&f);
    }
}

TEST(words_with_marks)
{
    assert_string_equal(words_duration(9.8e9, BARO_VALUE_LOWER_BOUND).at, "at least 9.80 s");
    assert_string_equal(words_percent(0.5, inverted(BARO_VALUE_LOWER_BOUND)).at, "at most 50 %");
    assert_string_equal(words_cores(2, BARO_VALUE_LOWER_BOUND | inverted(BARO_VALUE_LOWER_BOUND)).at, "about 2");
    assert_string_equal(words_first(words_count(3, BARO_VALUE_ESTIMATE)).at, "About 3");
    assert_string_equal(words_bytes(5, 0).at, "5 B");
    assert_string_equal(baro_value_prefix(BARO_VALUE_ESTIMATE, BARO_PREFIX_ASCII), "~");
    assert_string_equal(baro_value_prefix(BARO_VALUE_UPPER_BOUND, BARO_PREFIX_SYMBOL), "\342\211\244");
    assert_string_equal(baro_value_prefix(0, BARO_PREFIX_WORDS), "");
    /* What may be too large is no lower bound, in text as in JSON. */
    for (unsigned flags = 0; flags < 8; flags++)
        assert_int_equal(!strcmp(baro_value_prefix(flags, BARO_PREFIX_WORDS), "about "),
                         baro_value_mark(flags) && !strcmp(baro_value_mark(flags), "estimate"));
    assert_string_equal(baro_value_prefix(BARO_VALUE_LOWER_BOUND | BARO_VALUE_ESTIMATE, BARO_PREFIX_ASCII), "~");
}

/* Each problem of a job has one cause: no other rule of that weight has a verdict. */
TEST(no_other)
{
    for (int i = 0; i < MADE; i++) {
        world_init(&w);
        made[i].make(&w);
        for (int j = 0; j < MADE; j++) {
            const struct baro_rule *r = baro_verdict_rule(j);
            if (j != i && r->weight != BARO_VERDICT_NOTE && says(r->name))
                fail_msg("%s: %s as well", made[i].rule, r->name);
        }
    }
}

/* A number of the evidence, at its threshold and just short of it. */
static void check_edge(int i, size_t offset, double at, double off)
{
    for (int short_of = 0; short_of < 2; short_of++) {
        world_init(&w);
        made[i].make(&w);
        *(double *)((char *)&w.e + offset) = short_of ? off : at;
        if (says(made[i].rule) == short_of)
            fail_msg("%s: %s", made[i].rule, short_of ? "short of its threshold" : "at its threshold");
        /* a value that is not known is no evidence */
        *(double *)((char *)&w.e + offset) = NAN;
        assert_false(says(made[i].rule));
    }
}

TEST(thresholds)
{
#define OF(member) offsetof(struct evidence, member)
#define OF_GROWN(curve) (OF(job.grown) + sizeof(double) * (curve))
    static const struct {
        const char *rule;
        size_t offset;
        double at, off;
    } edges[] = {
        {"oom", OF(oom_kills), 1, 0},
        {"pids-limit", OF(forks_refused), 1, 0},
        {"swap", OF(swap_peak_bytes), 16e6, 15.9e6},
        {"swap", OF(host_swap_in_bytes), 16e6, 15.9e6},
        {"memory-limit", OF_GROWN(FOLD_GROUP_MEMORY), 10e9, 9.9e9},
        {"memory-limit", OF(group[0].limit_hits), 20, 19},
        {"page-cache", OF_GROWN(FOLD_READ), 1024e6, 1023e6},
        {"page-cache", OF(group[0].anon_most), 307.2e6, 308e6},
        {"page-cache", OF_GROWN(FOLD_FAULTS), 10000, 9900},
        {"page-cache", OF_GROWN(FOLD_BLOCKED), 20e9, 19.9e9},
        {"cpu-quota", OF(throttled_ns), 50e9 / 9 + 1, 50e9 / 9 - 1e6}, /* 50 s of CPU time */
        {"io-wait", OF_GROWN(FOLD_BLOCKED), 20e9, 19.9e9},
        {"lock-contention", OF(contender.switches), 100000, 99999},
        {"lock-contention", OF(contender.threads), 2, 1},
        {"lock-contention", OF(contender.read_write_bytes), 2.4e6, 2.41e6},
        {"lock-contention", OF(processes_started), 240000, 240001},
        {"lock-contention", OF_GROWN(FOLD_RUN_DELAY), 210e9, 211e9}, /* 280 s of 4 cores */
        {"cpu-neighbour", OF(host_others_cores), 0.5, 0.49},         /* 50 s: what was lost to others is no more */
        {"cpu-neighbour", OF(host_mean_cores), 3.2, 3.1},
        {"cpu-neighbour", OF_GROWN(FOLD_RUN_DELAY), 50e9, 49e9}, /* 200 s of CPU time */
        {"cpu-steal", OF(host_steal_ratio), 0.05, 0.049},
        {"memory-near-limit", OF(memory_peak_ratio), 0.9, 0.89},
        {"one-core", OF(cores), 2, 1},
        {"one-core", OF_GROWN(FOLD_RUN_DELAY), 30e9, 31e9},      /* 90 s of CPU time */
        {"many-processes", OF(processes_started), 23500, 23400}, /* 94 s of CPU time */
        {"few-cores", OF_GROWN(FOLD_RUN_DELAY), 210e9, 209e9},   /* 390 s of CPU time */
        {"few-cores", OF_GROWN(FOLD_CPU), 320e9, 100e9},
        {"failed", OF(exit_status), 1, 0},
        {"network-wait", OF_GROWN(FOLD_SWITCHES), 500, 499},
        {"network-wait", OF_GROWN(FOLD_PACKETS), 0.3 * 4812, 0.29 * 4812},
        {"network-wait", OF_GROWN(FOLD_CPU), 10e9, 11e9},
        {"idle", OF_GROWN(FOLD_CPU), 10e9, 11e9},
        {"dominates", OF(command[0].cpu_ns), 35.2e9, 35.1e9},
    };
    for (size_t k = 0; k < sizeof(edges) / sizeof(*edges); k++) {
        int i = 0;
        while (strcmp(made[i].rule, edges[k].rule) != 0)
            i++;
        check_edge(i, edges[k].offset, edges[k].at, edges[k].off);
    }
}

/* The limit was lowered after the group was read last. */
TEST(limit_that_was_lowered)
{
    struct finding f = {0};
    world_init(&w);
    make_oom(&w);
    w.e.memory_limit_bytes = 1200 * MB;
    assert_true(find_rule("oom")->apply(&w.e, &w.e.job, &f));
    buf_byte(&f.title, 0);
    assert_non_null(strstr((char *)f.title.at, "the limit is 1.20 GB (cgroup /job memory.max)"));
    finding_done(&f);
}

TEST(group_that_was_not_read_near_its_limit)
{
    static const struct {
        double anon, file;
        bool says;
    } seen[] = {
        {0.02, 0.01, true}, /* read before it grew, and after it ended */
        {0.1, 0.85, false}, /* most of it was files */
        {0.8, 0.1, true},
        {0.1, NAN, false},
    };
    for (size_t i = 0; i < sizeof(seen) / sizeof(*seen); i++) {
        world_init(&w);
        struct group *g = add_group(&w, "/job");
        make_near_limit(&w);
        g->memory_limit = w.e.memory_limit_bytes;
        g->anon_most = seen[i].anon * g->memory_limit;
        g->file_most = seen[i].file * g->memory_limit;
        assert_int_equal(says("memory-near-limit"), seen[i].says);
    }
}

/* What the signal means of the command, of the process that failed first, and where a shell's status is all that is
 * known. Only a process that had used up its limit of CPU time was killed for that. */
TEST(signal_has_its_cause)
{
    static const struct {
        int signal;
        uint64_t limit_ns;
        const char *killed, *first, *not_known;
    } cases[] = {
        {SIGKILL, SECOND, "SIGKILL ended it after 1 min 40 s: it used up its limit of CPU time, 1.00 s (RLIMIT_CPU,",
         "perl failed first, with SIGKILL at +1.07 s; it used up its limit of CPU time, 1.00 s (RLIMIT_CPU, `ulimit "
         "-t`).",
         "SIGKILL ended. What failed first is not known, as the statuses of its processes are not; the last that ended "
         "before it was perl at +1.07 s; it used up its limit of CPU time, 1.00 s (RLIMIT_CPU, `ulimit -t`)."},
        {SIGKILL, 0, "no OOM kill was seen, so somebody else sent it", "SIGKILL at +1.07 s.", "perl at +1.07 s."},
        {SIGXCPU, 0, "it used up its limit of CPU time (RLIMIT_CPU, `ulimit -t`).",
         "SIGXCPU at +1.07 s; it used up its limit of CPU time (RLIMIT_CPU", "SIGXCPU ended; it used up its limit of"},
        {SIGXFSZ, 0, "it wrote a file up to the limit of its size (RLIMIT_FSIZE, `ulimit -f`).",
         "SIGXFSZ at +1.07 s; it wrote a file up to the", "SIGXFSZ ended; it wrote a file up to the limit of its"},
        {SIGUSR1, 0, "SIGUSR1 ended it after 1 min 40 s.", "SIGUSR1 at +1.07 s.", "SIGUSR1 ended. What"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct failure why = {.first = {.process = {4711, 1},
                                        .t_ns = 1070000000,
                                        .status_known = true,
                                        .status = cases[i].signal,
                                        .name = "perl",
                                        .cpu_limit_ns = cases[i].limit_ns}};
        const char *const wanted[] = {cases[i].killed, cases[i].first, cases[i].not_known};
        for (int way = 0; way < 3; way++) {
            struct finding f = {0};
            world_init(&w);
            w.e.failure = &why;
            w.e.exit_signal = way ? "" : baro_signal_name(cases[i].signal);
            w.e.exit_status = way ? 128.0 + cases[i].signal : (double)NAN;
            why.is_of_child = way;
            why.first.status_known = way < 2;
            assert_true(find_rule(way ? "failed" : "killed")->apply(&w.e, &w.e.job, &f));
            if (!memmem(f.title.at, f.title.len, wanted[way], strlen(wanted[way])))
                fail_msg("%.*s", (int)f.title.len, (const char *)f.title.at);
            finding_done(&f);
        }
    }
}

/* ---- rules that read the history ---- */

/* 3.8 or 1.4 cores until `from`, and then a tail. What computed can begin earlier or be divided; what waited can't. */
static void assert_says(const struct buf *b, const char *text)
{
    assert_int_equal(b->len, strlen(text));
    assert_memory_equal(b->len ? (const char *)b->at : "", text, b->len);
}

TEST(tail)
{
    static const char first[] = "Start the longest steps first, or divide the last one.";
    static const struct {
        unsigned from;
        double before, cores, delayed;
        const char *advice; /* NULL: no verdict */
    } cases[] = {
        {88, 3.8, 1, 0, NULL},      /* an eighth of the time: too short */
        {70, 1.4, 1, 0, NULL},      /* the part before had little more */
        {70, 3.8, 0.2, 0.8, first}, /* one thread that waits for a core is not idle */
        {70, 3.8, 1, 0, first},     {70, 3.8, 0.4, 0, NULL}, {70, 3.8, 0, 0, NULL}, /* it slept */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct finding f = {.end_ns = 100 * SECOND};
        world_init(&w);
        demand(&w, 0, cases[i].from, cases[i].before, 0);
        demand(&w, cases[i].from, 100, cases[i].cores, cases[i].delayed);
        assert_int_equal(find_rule("serial-tail")->apply(&w.e, &w.e.job, &f), cases[i].advice != NULL);
        if (cases[i].advice)
            assert_says(&f.advice, cases[i].advice);
        assert_false(says("slow-start"));
        finding_done(&f);
    }
}

static double cores_asked(void)
{
    struct finding f = {0};
    double cores = NAN;
    assert_true(find_rule("right-size")->apply(&w.e, &w.e.job, &f));
    for (size_t i = 0; i < f.n_rows; i++)
        cores = strcmp(f.row[i].name, "ask_cores") == 0 ? f.row[i].value : cores;
    finding_done(&f);
    return cores;
}

/* What timeout(1) or a signal ended would have run longer: no time is advised. */
TEST(no_time_after_a_time_limit)
{
    static const double statuses[] = {0, 1, 124, 137, 255};
    for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
        struct finding f = {0};
        bool has_time = false;
        world_init(&w);
        make_right_size(&w);
        w.e.exit_status = statuses[i];
        assert_true(find_rule("right-size")->apply(&w.e, &w.e.job, &f));
        for (size_t k = 0; k < f.n_rows; k++)
            has_time = has_time || strcmp(f.row[k].name, "ask_time_ns") == 0;
        assert_int_equal(has_time, i != 2 && i != 3);
        finding_done(&f);
    }
}

/* No more cores are advised than there are, and no more than threads waited for or used at once. */
TEST(cores_to_ask_for)
{
    static const struct {
        double used, delayed, may_use, machine, peak, asked;
    } cases[] = {
        {0.31, 2.5, NAN, 2, NAN, 2}, /* how many it may use is not known */
        {0.31, 2.5, 4, 2, NAN, 2},   /* more than there are */
        {0.31, 2.5, 2, 2, 0.97, 1},  /* it never used more than one */
        {0.31, 2.5, 4, 4, 1.9, 2},   {1.9, 0, 4, 4, 2, 2},
        {1.95, 6, 2, 2, 2, 2},  /* few-cores, on a machine that has no more */
        {1.95, 6, 2, 16, 2, 8}, /* few-cores, by a limit */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        world_init(&w);
        demand(&w, 0, 100, cases[i].used, cases[i].delayed);
        w.e.memory_peak_bytes = w.e.memory_at_most_bytes = 213 * MB;
        w.e.cores = cases[i].may_use;
        w.e.host_cores = cases[i].machine;
        w.e.cores_peak = cases[i].peak;
        if (cores_asked() != cases[i].asked)
            fail_msg("case %zu: asks for %g", i, cores_asked());
    }
}

/* What waited for cores that neighbours used may have had nothing to do without them. */
TEST(cores_beside_neighbours)
{
    static const struct {
        double used, delayed, others, asked;
    } cases[] = {
        {0.5, 1.2, 1.5, NAN}, /* a pipeline: 0.5 to 1.7 */
        {0.2, 0.8, 1.8, 1},   /* one thread, whoever waits */
        {0.5, 1.2, 0.24, 2},  /* too few to matter */
        {1.4, 0.5, 0.6, 2},   /* it used two */
        {0.9, 1.6, 0.3, 2},   /* it would have waited without them: 2.2 */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        world_init(&w);
        demand(&w, 0, 100, cases[i].used, cases[i].delayed);
        w.e.memory_peak_bytes = w.e.memory_at_most_bytes = 213 * MB;
        w.e.cores = w.e.host_cores = 2;
        w.e.host_others_cores = cases[i].others;
        double asked = cores_asked();
        if (isnan(cases[i].asked) ? !isnan(asked) : asked != cases[i].asked)
            fail_msg("case %zu: asks for %g", i, asked);
    }
}

/* 3.9 of 4 cores, and 4.1 threads that waited: the advice is to allow the machine's cores that it may not use yet. */
TEST(few_cores_of_the_machine)
{
    static const struct {
        double machine;
        const char *advice;
    } cases[] = {
        {16, "Ask for 8 cores; or start at most 4 threads at a time"},
        {6, "Ask for 6 cores; or start at most 4 threads at a time"},
        {4, "Start at most 4 threads at a time, which takes as long and needs less memory; or use a machine with 8 "},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct finding f = {0};
        world_init(&w);
        demand(&w, 0, 100, 3.9, 4.1);
        w.e.host_cores = cases[i].machine;
        assert_true(find_rule("few-cores")->apply(&w.e, &w.e.job, &f));
        assert_memory_equal(f.advice.at, cases[i].advice, strlen(cases[i].advice));
        finding_done(&f);
    }
}

/* Of a hundred readings those in between are changed. */
TEST(leak)
{
    static const struct {
        size_t from, to;
        double rss, step, wall_ns;
        bool is;
    } cases[] = {
        {40, 1000, 600 * MB, 0, 100e9, false},      /* it grew and then held */
        {78, 84, 200 * MB, 0, 100e9, false},        /* it gave some back */
        {72, 1000, 964 * MB, 4 * MB, 100e9, false}, /* the last third: at a third of the rate */
        {96, 1000, NAN, 0, 100e9, true},            /* its processes had ended at the last samples */
        {0, 0, 0, 0, 60e9, true},
        {0, 0, 0, 0, 59e9, true}, /* so short a job may fill its memory once: a note */
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
        world_init(&w);
        make_leak(&w);
        w.e.job.wall_ns = cases[k].wall_ns;
        for (size_t i = cases[k].from; i < cases[k].to && i < w.history.n; i++)
            set_point(&w, i, FOLD_RSS, cases[k].rss + cases[k].step * (double)(i - cases[k].from));
        struct finding f = {.weight = BARO_VERDICT_ADVICE};
        if (find_rule("leak")->apply(&w.e, &w.e.job, &f) != cases[k].is)
            fail_msg("case %zu", k);
        assert_int_equal(f.weight, cases[k].wall_ns < 60e9 ? BARO_VERDICT_NOTE : BARO_VERDICT_ADVICE);
        finding_done(&f);
    }
}

/* A history keeps its first and its last point, and sums do not change. */
TEST(history)
{
    struct points h;
    struct fold f;
    fold_init(&f);
    assert_int_equal(points_init(&h), 0);
    assert_true(isnan(points_at(&h, FOLD_CPU, 5)));
    for (uint64_t t = 0; t <= 100000; t++) {
        f.row.t_ns = t * SECOND;
        set_term(&f.row, FOLD_CPU, (double)f.row.t_ns / 2);
        set_term(&f.row, FOLD_READ, t < 50000 ? NAN : (double)t);
        points_add(&h, &f);
    }
    assert_true(h.n <= POINTS_MOST && h.n >= POINTS_MOST / 4);
    assert_int_equal(h.at[0].row.t_ns, 0);
    assert_int_equal(h.at[h.n - 1].row.t_ns, 100000 * SECOND);
    assert_true(fabs(points_growth(&h, FOLD_CPU, 1000 * SECOND, 3000 * SECOND) - 1000e9) < 1);
    assert_true(points_at(&h, FOLD_READ, 0) >= 50000); /* known later: taken where it is known */
    assert_true(points_at(&h, FOLD_READ, 999999 * SECOND) == 100000);
    assert_int_equal(points_last_ns(&h, FOLD_CPU), 100000 * SECOND);
    assert_int_equal(points_within(&h, 0, 0), 1);
    points_done(&h);
}

/* ---- judging ---- */

/* Storage held up one of two phases: the verdict is about that phase. Then the whole job, and no phase. */
TEST(phases)
{
    struct stretch phases[2];
    struct baro_verdicts *v = verdicts_new();
    assert_non_null(v);
    world_init(&w);
    demand(&w, 0, 100, 0.5, 0);
    w.e.exit_status = NAN;
    for (size_t i = 0; i < w.history.n; i++) {
        set_point(&w, i, FOLD_BLOCKED, i < 85 ? 0 : (double)(i - 85) * 0.8e9);
        set_point(&w, i, FOLD_READ, (double)i * MB);
        set_point(&w, i, FOLD_WRITTEN, 0);
    }
    stretch_fill(&w.e.job, &w.history, NULL, 0, 100 * SECOND);
    stretch_fill(&phases[0], &w.history, "compute", 0, 85 * SECOND);
    stretch_fill(&phases[1], &w.history, "save", 85 * SECOND, 100 * SECOND);
    assert_int_equal(verdicts_judge(v, &w.e, phases, 2), 0);
    assert_int_equal(baro_verdicts_count(v), 1);
    assert_string_equal(baro_verdicts_get(v, 0)->rule, "io-wait");
    assert_string_equal(baro_verdicts_get(v, 0)->phase, "save");
    assert_int_equal(baro_verdicts_get(v, 0)->begin_ns, 85 * SECOND);
    assert_null(baro_verdicts_get(v, 1));

    w.e.job.grown[FOLD_BLOCKED] = 30e9;
    assert_int_equal(verdicts_judge(v, &w.e, phases, 2), 0);
    assert_int_equal(baro_verdicts_count(v), 1);
    assert_null(baro_verdicts_get(v, 0)->phase);

    w.e.samples = 9; /* too few for that; certain verdicts are there */
    w.e.exit_signal = "SIGTERM";
    assert_int_equal(verdicts_judge(v, &w.e, phases, 2), 0);
    assert_int_equal(baro_verdicts_count(v), 1);
    assert_string_equal(baro_verdicts_get(v, 0)->rule, "killed");
    verdicts_free(v);
}

/* Epochs: one verdict, with the figures of the longest one that has it. */
TEST(phases_of_one_name)
{
    struct stretch phases[5];
    struct baro_verdicts *v = verdicts_new();
    assert_non_null(v);
    world_init(&w);
    demand(&w, 0, 100, 0.5, 0);
    w.e.exit_status = NAN;
    for (size_t i = 0; i < w.history.n; i++) {
        set_point(&w, i, FOLD_BLOCKED, 0);
        set_point(&w, i, FOLD_READ, (double)i * MB);
        set_point(&w, i, FOLD_WRITTEN, 0);
    }
    stretch_fill(&w.e.job, &w.history, NULL, 0, 100 * SECOND);
    for (uint64_t i = 0; i < 5; i++) {
        stretch_fill(&phases[i], &w.history, i == 3 ? "check" : "epoch", i * 20 * SECOND, (i * 20 + 10 + i) * SECOND);
        phases[i].grown[FOLD_BLOCKED] = i == 4 ? 0 : 5e9; /* the last epoch did not wait */
    }
    assert_int_equal(verdicts_judge(v, &w.e, phases, 5), 0);
    assert_int_equal(baro_verdicts_count(v), 2);
    const struct baro_verdict *one = baro_verdicts_get(v, 0);
    assert_string_equal(one->phase, "epoch");
    assert_int_equal(one->begin_ns, 40 * SECOND);
    assert_non_null(strstr(one->advice, " It was so in 3 phases of this name;"));
    assert_string_equal(one->evidence[one->evidence_count - 1].name, "phases");
    one = baro_verdicts_get(v, 1);
    assert_string_equal(one->phase, "check");
    assert_null(strstr(one->advice, "phases of this name"));
    verdicts_free(v);
}

/* 20 epochs of 2 s with 2 s between them, readings each second. In the epochs one process waits for storage. */
static void make_epochs(struct piece *epoch)
{
    demand(&w, 0, 100, 0.5, 0);
    w.e.exit_status = NAN;
    for (size_t i = 0; i < w.history.n; i++) {
        set_point(&w, i, FOLD_BLOCKED, (double)(i / 4 * 2 + (i % 4 < 2 ? i % 4 : 2)) * 1e9);
        set_point(&w, i, FOLD_READ, (double)i * MB);
        set_point(&w, i, FOLD_WRITTEN, 0);
    }
    for (size_t i = 0; i < 20; i++)
        epoch[i] = (struct piece){i * 4 * SECOND, (i * 4 + 2) * SECOND};
}

/* None of them is a tenth of the time; together they are. */
TEST(short_phases_together)
{
    struct piece epoch[20];
    struct stretch together;
    struct baro_verdicts *v = verdicts_new();
    assert_non_null(v);
    world_init(&w);
    make_epochs(epoch);
    stretch_fill(&w.e.job, &w.history, NULL, 0, 100 * SECOND);
    w.e.job.grown[FOLD_BLOCKED] = 0; /* not the whole job */
    stretch_fill_pieces(&together, &w.history, "epoch", epoch, 20);
    together.phases = 20;
    assert_int_equal(whole_of(together.wall_ns / 1e9 + 0.5), 40);
    assert_int_equal(whole_of(together.grown[FOLD_BLOCKED] / 1e9 + 0.5), 40);
    assert_int_equal(whole_of(together.grown[FOLD_CPU] / 1e9 + 0.5), 20);
    assert_true(isnan(together.grown[FOLD_PACKETS])); /* never read */
    assert_int_equal(verdicts_judge(v, &w.e, &together, 1), 0);
    assert_int_equal(baro_verdicts_count(v), 1);
    const struct baro_verdict *one = baro_verdicts_get(v, 0);
    assert_string_equal(one->rule, "io-wait");
    assert_string_equal(one->phase, "epoch");
    assert_int_equal(one->end_ns, 78 * SECOND);
    assert_non_null(strstr(one->advice, " The figures are those of all 20 phases of this name together."));
    assert_string_equal(one->evidence[one->evidence_count - 1].name, "phases");
    assert_true(one->evidence[one->evidence_count - 1].value == 20);
    verdicts_free(v);
}

/* Parts of a stretch that consists of pieces: from 1 to 3 s of it are the second half of the first epoch and the first
 * half of the second. */
TEST(pieces)
{
    struct piece epoch[20], between[2] = {{10 * SECOND + 400000000, 11 * SECOND - 400000000},
                                          {12 * SECOND + 400000000, 13 * SECOND - 400000000}};
    struct stretch s;
    world_init(&w);
    make_epochs(epoch);
    stretch_fill_pieces(&s, &w.history, "epoch", epoch, 20);
    assert_true(fabs(stretch_growth(&s, &w.history, FOLD_CPU, 1 * SECOND, 3 * SECOND) - 1e9) < 1);
    assert_true(fabs(stretch_growth(&s, &w.history, FOLD_BLOCKED, 1 * SECOND, 3 * SECOND) - 2e9) < 1);
    assert_true(isnan(stretch_growth(&s, &w.history, FOLD_PACKETS, 1 * SECOND, 3 * SECOND)));
    /* Readings at whole seconds say nothing about 0.2 s between them. */
    stretch_fill_pieces(&s, &w.history, "short", between, 2);
    assert_true(isnan(s.grown[FOLD_CPU]) && isnan(s.grown[FOLD_BLOCKED]));
}

/* ---- docs/verdicts.md ---- */

/* Only what has others do the work is noted. */
TEST(clients)
{
    static const struct {
        const char *name, *cmdline;
        bool is;
    } of[] = {
        {"docker", "docker run image", true},
        {"docker", "/usr/bin/docker -H tcp://a:1 compose -f b.yaml up", true},
        {"docker", "docker ps", false},
        {"docker", "docker inspect runner", false},
        {"docker", NULL, false},
        {"podman", "podman run image", false},
        {"podman-remote", "podman-remote exec a make", true},
        {"tmux: client", "tmux new-window make", true},
        {"tmux: client", "tmux ls", false},
        {"screen", "screen -S a -X stuff make", true},
        {"screen", "screen -dmS a make", false},
        {"sbatch", NULL, true},
        {"systemd-run", "systemd-run --user make", true},
        {"at", "at -l", false},
        {"ssh", "ssh host make", true},
        {"ssh", "ssh git@host 'git-upload-pack a'", false},
        {"ssh-agent", "ssh-agent", false},
    };
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        if ((client_note(of[i].name, of[i].cmdline) != 0) != of[i].is)
            fail_msg("%s", of[i].cmdline ? of[i].cmdline : of[i].name);
    }
    assert_true(client_note_server("tmux: server") & client_note("tmux: client", "tmux new make"));
    assert_true(client_note_server("slurmstepd") & client_note("srun", "srun ./app"));
    assert_int_equal(client_note_server(""), 0);
}
