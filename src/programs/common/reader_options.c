/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the commands that read tapes. */
#include <string.h>

#include "baro/runset.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fmt.h"
#include "base/span.h"
#include "output/rows/dialect.h"
#include "programs/common/options.h"
#include "programs/common/settings.h"

/* "all" or a number; 0 stands for as many as fit. */
static int take_count(void *at, const char *text, struct baro_error *err)
{
    struct span s = span_str(text);
    uint64_t v = UINT32_MAX;
    if (strcmp(text, "all") != 0 && (!scan_u64(&s, &v) || s.len || v == 0 || v > UINT32_MAX))
        return error_set(err, BARO_E_SYNTAX, "invalid number '%s': write 10, or all", text);
    *(uint32_t *)at = (uint32_t)v;
    return 0;
}

void settings_init_reading(struct settings *s)
{
    *s = (struct settings){
        .dialect = -1, .report_format = -1, .compare.runs = 10, .check.unknown = -1, .by = BY_NOTHING, .group_by = -1};
}

const char *const export_formats[] = {"csv", "jsonl", "trace", "arrow", "parquet", "sqlite", NULL};
static const char *const diff_bys[] = {"step", NULL};
#define GROUPS "service", "container", "user", "command", "cgroup", NULL
const char *const group_by_names[] = {GROUPS};
static const char *const bys[] = {"phase", "task", "step", GROUPS};
#define ROW_KIND(name, what) name,
static const char *const kinds[] = {
#include "programs/common/row_kinds.def"
    NULL};
#undef ROW_KIND
static const char *const picks[] = {"before", "nearest", "after", NULL};

const struct opt options_summary[] = {
    SETS("verbose", 'v', verbose, "print all that is known, not 15 lines at most"),
    CHOICE("by", 0, "WHAT", by, bys,
           "phase: what was used in each phase of the job (baro help phase); task: by each task (baro help record); "
           "step: by each step, such as a compile, with the chain that held the job up; service, container, user, "
           "command, "
           "cgroup: by each of those that processes are of"),
    STRETCH_OPTIONS,
    PARSED("carbon", 0, "GRAMS", carbon, take_carbon,
           "what a kWh of your grid emits, 350g/kWh: also says what that is for the energy that was recorded"),
    TASK_OPTIONS,
    JSON_OPTION,
    END,
};

const struct opt options_show[] = {
    TEXT("at", 'a', "TIME", at, "the moment: peak (of memory), " MOMENT_FORMS " (default: end)"),
    CHOICE("pick", 0, "WHICH", pick, picks,
           "which sample, if none is at TIME: the one before (the default), the nearest, or the one after"),
    STRETCH_OPTIONS,
    SETS("follow", 'f', follow, "print the newest sample again and again until the recording ends"),
    PARSED("top", 'n', "N", count, take_count,
           "print the N processes that use most CPU, or all (default: all; with --follow as many as fit)"),
    GROUP_BY_OPTION,
    PARSED("task", 0, "NAME[=REGEX]", tasks, take_task_shown,
           "NAME: print the processes of this task alone; NAME=REGEX: what fits, and what it starts, is the task NAME"),
    JSON_OPTION,
    END,
};

const struct opt options_top[] = {
    SETS("once", 0, once, "print the view once, and end"),
    TEXT("at", 'a', "TIME", at, "begin at this moment: peak (of memory), " MOMENT_FORMS),
    STRETCH_OPTIONS,
    PARSED("lines", 'n', "N", count, take_count, "print this many processes, or all (default: 25)"),
    GROUP_BY_OPTION,
    TASK_OPTIONS,
    END,
};

static int take_since(void *at, const char *text, struct baro_error *err)
{
    struct span s = span_str(text);
    uint64_t n = 0;
    if (scan_u64(&s, &n) && (span_equal(s, "d") || span_equal(s, "w")) && n && n < 10000) {
        *(uint64_t *)at = n * (span_equal(s, "d") ? 1 : 7) * 24 * 3600 * NS_PER_SEC;
        return 0;
    }
    int code = parse_duration(text, at, NULL);
    bool is_time = code >= 0 && *(uint64_t *)at;
    return is_time ? 0 : error_set(err, BARO_E_SYNTAX, "'%.40s' is no time: write 12h, 7d or 4w", text);
}

const struct opt options_export[] = {
    CHOICE("format", 'F', "FORMAT", format, export_formats,
           "csv (the default), jsonl, trace: the whole tape for ui.perfetto.dev and chrome://tracing, arrow: rows for "
           "pandas, polars and DuckDB (an Arrow IPC stream), "
           "parquet: the same as a file, or sqlite: a database with a table for each kind of rows"),
    SETS("safe", 0, safe, "CSV for spreadsheets: no text is taken for a formula"),
    TEXT("entity", 'e', "WHAT", entity,
         "what a row is: a process at a sample (the default), the job at a sample (job), an event, an exit, or a "
         "reading of the machine (host) or of an entity such as cpu or disk; --list has all",
         .choices = kinds),
    CHOICE("dialect", 'd', "NAME", dialect, dialect_names,
           "CSV as another program writes it, such as spare-cores (of process or host), pytyche-cpu or oasislmf; "
           "--list has all"),
    STRETCH_OPTIONS,
    GROUP_BY_OPTION,
    TASK_OPTIONS,
    SETS("smi-rounding", 0, smi_rounding,
         "with --dialect: GPU values as nvidia-smi rounds them, whole percents and whole MiB of each device"),
    TEXT("columns", 'c', "LIST", columns,
         "these columns, in this order, e.g. time,pid,name,rss (default: all that are recorded, and cores)",
         .completes = OPT_A_METRIC),
    SETS("jobstats", 0, jobstats,
         "a job as jobstats keeps it in Slurm's AdminComment: of a folder of ranks, or a tape"),
    TEXT("fleet", 0, "DIR", fleet,
         "add a row for each job, command, phase, GPU and tag of these tapes to the Parquet files in DIR, for queries "
         "over the jobs of many machines (docs/fleet.md); what is there already is left out",
         .completes = OPT_A_FILE),
    SETS("all", 0, all,
         "with --fleet: all kept runs (the default), and those of this machine whose tapes are elsewhere"),
    PARSED("since", 0, "TIME", log.since_ns, take_since, "with --fleet: jobs that began in the last 12h, 7d, 4w, ..."),
    SETS("list", 0, list, "list formats, dialects and kinds of rows"),
    TEXT("output", 'o', "FILE", output, "write to FILE, which must not exist (default, and -: standard output)",
         .completes = OPT_A_FILE),
    SETS("force", 0, force, "replace FILE if it exists"),
    SETS("follow", 'f', follow, "continue while the tape grows, until its end"),
    END,
};

/* As in programs/baro-report/cmd_report.c. */
static const char *const report_format_names[] = {"html", "markdown", "json", NULL};

const struct opt options_report[] = {
    TEXT("output", 'o', "FILE", output,
         "write to FILE.html, FILE.md or FILE.json, which must not exist, or to the folder DIR/ (-: standard output; "
         "default: the tape's name with .html)",
         .completes = OPT_A_FILE),
    CHOICE("format", 'F', "FORMAT", report_format, report_format_names,
           "html, markdown or json (default: by the end of FILE)"),
    STRETCH_OPTIONS,
    GROUP_BY_OPTION,
    TASK_OPTIONS,
    SETS("github", 0, github, "append Markdown to the job summary of GitHub Actions: the file in $GITHUB_STEP_SUMMARY"),
    SETS("force", 0, force, "replace FILE if it exists"),
    END,
};

static int take_pattern(const char **list, size_t *n, const char *text, struct baro_error *err)
{
    if (*n == SIDES_MOST)
        return error_set(err, BARO_E_RANGE, "at most %u of them", SIDES_MOST);
    list[(*n)++] = text;
    return 0;
}

static int take_before(void *at, const char *text, struct baro_error *err)
{
    struct diff_settings *d = at;
    return take_pattern(d->before, &d->n_before, text, err);
}

static int take_after(void *at, const char *text, struct baro_error *err)
{
    struct diff_settings *d = at;
    return take_pattern(d->after, &d->n_after, text, err);
}

const struct opt options_diff[] = {
    PARSED(
        "before", 0, "TAPES", diff, take_before,
        "tapes of the runs before: a tape, a folder of tapes, or a quoted pattern such as 'main-*.baro'; can be given "
        "more than once",
        .completes = OPT_A_FILE),
    PARSED("after", 0, "TAPES", diff, take_after, "the same of the runs after", .completes = OPT_A_FILE),
    TEXT("at", 'a', "TIME", at,
         "what moved on one tape at TIME, such as 12:31, against the hour before: three groups of processes, pressure, "
         "and what happened"),
    CHOICE(
        "by", 0, "WHAT", by, diff_bys,
        "step: the steps, such as compiles, of one run before and one after that are new, gone or used more CPU time"),
    STRETCH_OPTIONS,
    SETS("markdown", 0, markdown, "write Markdown, as for a pull request"),
    TEXT("output", 'o', "FILE", output,
         "write to FILE.html, a page with the curves of both over each other, FILE.md, FILE.json or FILE.txt, which "
         "must "
         "not exist",
         .completes = OPT_A_FILE),
    SETS("force", 0, force, "replace FILE if it exists"),
    JSON_OPTION,
    END,
};

static int take_number(void *at, const char *text, unsigned least, const char *what, struct baro_error *err)
{
    struct span s = span_str(text);
    uint64_t v = 0;
    if (!scan_u64(&s, &v) || s.len || v < least || v > 1000)
        return error_set(err, BARO_E_SYNTAX, "invalid number of %s '%s': write a number from %u to 1000", what, text,
                         least);
    *(uint32_t *)at = (uint32_t)v;
    return 0;
}

int take_runs(void *at, const char *text, struct baro_error *err)
{
    return take_number(at, text, 1, "runs", err);
}

int take_warmup(void *at, const char *text, struct baro_error *err)
{
    return take_number(at, text, 0, "runs", err);
}

static int take_list(void *at, const char *text, struct baro_error *err)
{
    const char *blank = strchr(text, ' ');
    if (!blank || blank == text || !blank[1])
        return error_set(err, BARO_E_SYNTAX, "invalid list '%s': write -L 'NAME a,b,c'", text);
    *(const char **)at = text;
    return 0;
}

const struct opt options_compare[] = {
    PARSED("runs", 'n', "N", compare.runs, take_runs, "run each command N times (default: 10)"),
    PARSED("warmup", 'w', "N", compare.warmup, take_warmup, "run each command N times before, unrecorded"),
    TEXT("prepare", 'p', "COMMAND", compare.prepare, "a shell command before each run"),
    PARSED("parameter-list", 'L', "'NAME a,b'", compare.list, take_list,
           "each command once for each value, which stands for {NAME} in it"),
    SETS("ignore-failure", 'i', compare.ignore_failure, "go on if a command fails"),
    SETS("show-output", 0, compare.show_output, "show what the commands print"),
    SETS("no-shell", 'x', compare.no_shell, "the operands are one command with its arguments, run without a shell"),
    TEXT("keep", 0, "DIR", compare.keep, "keep the tapes in DIR: a-001.baro, b-001.baro, ...", .completes = OPT_A_FILE),
    TEXT("export-json", 0, "FILE", compare.export_json,
         "write times in the layout of hyperfine's JSON (-: standard output)", .completes = OPT_A_FILE),
    END,
};

static int take_max(void *at, const char *text, struct baro_error *err)
{
    struct check_settings *c = at;
    if (c->n_max == LIMITS_GIVEN_MOST)
        return error_set(err, BARO_E_RANGE, "at most %u of them; a budget file has room for more", LIMITS_GIVEN_MOST);
    c->max[c->n_max++] = text;
    return 0;
}

static const char *const unknowns[] = {"warn", "fail", NULL}; /* as check_settings.unknown */

const struct opt options_check[] = {
    TEXT("budget", 'b', "FILE", check.budget, "a file with a limit on each line (baro help check)",
         .completes = OPT_A_FILE),
    PARSED("max", 'm', "LIMIT", check, take_max,
           "a limit, such as 'rss_peak<2GB', 'phase:link cpu<30s' or 'cpu<=1.05*base'; can be given more than once"),
    TEXT("base", 0, "FILE", check.base, "what base stands for in limits (default: the name of the budget with .json)",
         .completes = OPT_A_FILE),
    SETS("update", 0, check.update, "write the values of these runs into the base; needs --why"),
    TEXT("why", 0, "TEXT", check.why, "why the base is written anew; it is in the file"),
    CHOICE("unknown", 0, "WHAT", check.unknown, unknowns,
           "what a limit does that can't be told: warn (the default), or fail with status 3"),
    SETS("verbose", 'v', verbose, "print the limits that are kept, too"),
    SETS("list", 0, list, "print the limits without reading tapes: is the budget well-formed?"),
    JSON_OPTION,
    SETS("markdown", 0, markdown, "write Markdown, as for a pull request"),
    SETS("github", 0, github,
         "print annotations, and append Markdown to the job summary of GitHub Actions: the file in "
         "$GITHUB_STEP_SUMMARY"),
    TEXT("junit", 0, "FILE", check.junit, "write JUnit XML, a test for each limit", .completes = OPT_A_FILE),
    TEXT("gitlab-metrics", 0, "FILE", check.gitlab_metrics, "write the values for a metrics report of GitLab",
         .completes = OPT_A_FILE),
    TEXT("gitlab-quality", 0, "FILE", check.gitlab_quality, "write what is broken for a code quality report of GitLab",
         .completes = OPT_A_FILE),
    TASK_OPTIONS,
    END,
};

#define SIZE_MOST 20000u

static int take_size(void *at, const char *text, unsigned least, struct baro_error *err)
{
    struct span s = span_str(text);
    uint64_t v = 0;
    if (!scan_u64(&s, &v) || s.len || v < least || v > SIZE_MOST)
        return error_set(err, BARO_E_SYNTAX, "invalid size '%s': write a number from %u to %u", text, least, SIZE_MOST);
    *(unsigned *)at = (unsigned)v;
    return 0;
}

static int take_width(void *at, const char *text, struct baro_error *err)
{
    return take_size(at, text, 10, err);
}

/* Three lines: fewer have no room for the ticks of values. */
static int take_height(void *at, const char *text, struct baro_error *err)
{
    return take_size(at, text, 3, err);
}

const struct opt options_plot[] = {
    TEXT("output", 'o', "FILE", output,
         "write to FILE.svg, FILE.png or FILE.txt, which must not exist (default: the terminal)",
         .completes = OPT_A_FILE),
    STRETCH_OPTIONS,
    PARSED("width", 0, "N", width, take_width,
           "columns in the terminal (default: its width), or pixels of a picture (default: 900)"),
    PARSED("height", 0, "N", height, take_height,
           "lines in the terminal (default: 12), or pixels of a picture (default: 320)"),
    SETS("list", 0, list, "list the figures"),
    SETS("force", 0, force, "replace FILE if it exists"),
    GROUP_BY_OPTION,
    TASK_OPTIONS,
    END,
};

/* As many as change points are looked for in. */
static int take_last(void *at, const char *text, struct baro_error *err)
{
    int code = take_count(at, text, err);
    if (code < 0 || strcmp(text, "all") == 0 || *(uint32_t *)at <= BARO_CHANGE_POINTS_MOST)
        return code;
    return error_set(err, BARO_E_RANGE, "%s runs are more than %u", text, (unsigned)BARO_CHANGE_POINTS_MOST);
}

static int take_risk(void *at, const char *text, struct baro_error *err)
{
    uint64_t ppm;
    int code = parse_percent(text, &ppm, err);
    if (code >= 0 && ppm > 500000)
        return error_set(err, BARO_E_RANGE, "%s is more than 50%%", text);
    if (code >= 0)
        *(double *)at = (double)ppm / 1e6;
    return code;
}

#define LOG_OPTIONS                                                                                                    \
    TEXT("command", 0, "REGEX", log.command, "those whose command or name fits"),                                      \
        PARSED("tag", 0, "KEY=VALUE", tags, take_tag, "those with this tag; given again, those with all of them"),     \
        PARSED("since", 0, "TIME", log.since_ns, take_since, "those that began in the last 12h, 7d, 4w, ...")
#define VERBOSE_LOG SETS("verbose", 'v', verbose, "say what the catalogue of tapes does")

static const char *const systems[] = {"slurm", "kubernetes", "systemd", "docker", "snakemake", "nextflow", NULL};

static int take_system(void *at, const char *text, struct baro_error *err)
{
    for (const char *const *s = systems; *s; s++) {
        if (strcmp(text, *s) == 0) {
            *(const char **)at = text;
            return 0;
        }
    }
    return error_set(err, BARO_E_SYNTAX, "'%.40s': write slurm, kubernetes, systemd, docker, snakemake or nextflow",
                     text);
}

static const char *const trend_format_names[] = {"html", "svg", NULL};

const struct opt options_trend[] = {
    LOG_OPTIONS,
    PARSED("last", 0, "N", log.last, take_last, "the newest N runs (default: 500, the most)"),
    TEXT("output", 'o', "FILE", output,
         "write to FILE.html, a page, or FILE.svg, a picture, which must not exist (-: standard output)",
         .completes = OPT_A_FILE),
    CHOICE("format", 'F', "FORMAT", report_format, trend_format_names, "html or svg (default: by the end of FILE)"),
    SETS("force", 0, force, "replace FILE if it exists"),
    JSON_OPTION,
    VERBOSE_LOG,
    END,
};

const struct opt options_advise[] = {
    LOG_OPTIONS,
    PARSED("last", 0, "N", log.last, take_count, "the newest N runs (default: all)"),
    PARSED("risk", 0, "SHARE", log.risk, take_risk, "the share of runs that may fail with it, e.g. 5% (default: 0%)"),
    PARSED("for", 0, "SYSTEM", log.for_what, take_system,
           "only the lines for slurm, kubernetes, systemd, docker, snakemake or nextflow"),
    JSON_OPTION,
    VERBOSE_LOG,
    END,
};

const struct opt options_ls[] = {
    PARSED("lines", 'n', "N", count, take_count,
           "list the newest N, or all (default: as many as fit the terminal; without a terminal all)"),
    LOG_OPTIONS,
    SETS("failed", 0, log.failed, "those that failed, were killed or cut off"),
    TEXT("sort", 0, "WHAT", log.sort, "order by start, wall, bytes or a fact such as cpu or memory, the largest last"),
    TEXT("columns", 'c', "LIST", columns,
         "these columns: name, start, wall, state, bytes, tags, command, last (wall times of the last runs), note, "
         "commit, branch, tag.KEY and facts such as cpu, memory or job.io_read"),
    JSON_OPTION,
    VERBOSE_LOG,
    END,
};

const struct opt options_rm[] = {
    SETS("all", 0, all, "remove all kept runs; needs --yes"),
    SETS("yes", 'y', yes, "confirm --all; with names, remove also what is still being recorded"),
    END,
};

const struct opt options_tasks[] = {
    JSON_OPTION,
    SETS("in-folder", 0, in_folder,
         "check FILE.yaml as baro observe --tasks does: it is a regular file, no link, and belongs to root or to the "
         "owner of its folder"),
    END,
};

#define NEW_TAPE                                                                                                       \
    TEXT("output", 'o', "FILE", output, "write the new tape to FILE, which must not exist", .completes = OPT_A_FILE)

const struct opt options_trim[] = {
    TEXT("from", 0, "TIME", from, "begin at TIME: " MOMENT_FORMS " (default: start)"),
    TEXT("to", 0, "TIME", to, "end at TIME (default: end)"),
    TEXT("phase", 0, "NAME", phase, "the first phase of the job with this name"),
    TEXT("samples", 0, "FIRST:LAST", samples, "these samples, from 1 on, e.g. 100:200, or 100: to the end"),
    NEW_TAPE,
    SETS("force", 0, force, "replace FILE if it exists"),
    END,
};

static int take_age(void *at, const char *text, struct baro_error *err)
{
    int code = parse_duration(text, at, err);
    return code == 0 && !*(uint64_t *)at ? error_set(err, BARO_E_RANGE, "0 is no age: write 12h or 1d") : code;
}

const struct opt options_thin[] = {
    PARSED("after", 0, "TIME", thin_after_ns, take_age, "thin the segments that are older than TIME (default: 1d)"),
    END,
};

const struct opt options_anonymize[] = {
    NEW_TAPE,
    TEXT("key", 0, "KEYFILE", key,
         "with the same KEYFILE a word becomes the same one on each tape (default: words are numbered)",
         .completes = OPT_A_FILE),
    SETS("force", 0, force, "replace FILE if it exists"),
    END,
};

const struct opt options_metrics[] = {JSON_OPTION, END};
const struct opt options_none[] = {END};
