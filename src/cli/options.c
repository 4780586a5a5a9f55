/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "base/span.h"
#include "command/options.h"
#include "command/settings.h"
#include "metric/ids.h"

/* ---- values ---- */

static int take_interval(void *at, const char *text, struct baro_error *err)
{
    uint64_t ns;
    if (strcmp(text, "auto") == 0) {
        *(uint64_t *)at = 0;
        return 0;
    }
    int code = parse_duration(text, &ns, err);
    if (code < 0)
        return code;
    if (ns < 10 * NS_PER_MS || ns > 3600 * NS_PER_SEC)
        return error_set(err, BARO_E_RANGE, "%s is outside of 10ms to 1h", text);
    *(uint64_t *)at = ns;
    return 0;
}

static int take_for(void *at, const char *text, struct baro_error *err)
{
    uint64_t ns;
    int code = parse_duration(text, &ns, err);
    if (code < 0)
        return code;
    if (ns == 0 || ns > 3660 * 24 * 3600 * NS_PER_SEC)
        return error_set(err, BARO_E_RANGE, "invalid time to record for %s: 1ns to 3660d", text);
    *(uint64_t *)at = ns;
    return 0;
}

static int take_tape(void *at, const char *text, struct baro_error *err)
{
    if (strcmp(text, "-") == 0)
        return error_set(err, BARO_E_SYNTAX, "a tape can't go to standard output; name a file (./- is one called -)");
    if (!*text)
        return error_set(err, BARO_E_SYNTAX, "its FILE is empty");
    *(const char **)at = text;
    return 0;
}

static int take_overhead(void *at, const char *text, struct baro_error *err)
{
    uint64_t ppm;
    if (strcmp(text, "off") == 0) {
        *(uint64_t *)at = 0;
        return 0;
    }
    int code = parse_percent(text, &ppm, err);
    if (code < 0)
        return code;
    if (ppm == 0 || ppm > 1000000)
        return error_set(err, BARO_E_RANGE, "%s is not more than 0%% and at most 100%%; \"off\" lifts the limit", text);
    *(uint64_t *)at = ppm;
    return 0;
}

/* Names of metrics for a suggestion. */
static const char *near_metric(const char *text)
{
    const char *names[2 * PROCESS_MAX + 1];
    char word[64];
    size_t n = 0, len = 0;
    for (int i = 0; i < PROCESS_MAX; i++) {
        names[n++] = baro_metric_get(BARO_KIND_PROCESS, i)->stem;
        names[n++] = baro_metric_get(BARO_KIND_PROCESS, i)->name;
    }
    names[n] = NULL;
    for (; *text; text += len + (text[len] == ',')) {
        len = strcspn(text, ",");
        size_t skip = *text == '-';
        int known = baro_metric_find(BARO_KIND_PROCESS, text + skip, len - skip);
        bool group = (len == 3 && !memcmp(text, "all", 3)) || (len == 7 && !memcmp(text, "default", 7));
        if (known >= 0 || group || len >= sizeof(word))
            continue;
        memcpy(word, text + skip, len - skip);
        word[len - skip] = 0;
        return opt_nearest(word, names);
    }
    return NULL;
}

static int take_metrics(void *at, const char *text, struct baro_error *err)
{
    struct baro_error inner = BARO_ERROR_INIT;
    int code = metric_parse_list(text, at, &inner);
    if (code >= 0)
        return 0;
    const char *near = near_metric(text);
    if (near)
        return error_set(err, code, "%s; did you mean %s?", inner.text, near);
    return error_set(err, code, "%s", inner.text);
}

static int take_pid(void *at, const char *text, struct baro_error *err)
{
    struct record_settings *s = at;
    int32_t pid;
    int code = parse_pid(text, &pid, err);
    if (code < 0)
        return code;
    if (s->n_pids == SETTINGS_PIDS_MAX)
        return error_set(err, BARO_E_RANGE, "more than %d of them", SETTINGS_PIDS_MAX);
    for (int i = 0; i < s->n_pids; i++) {
        if (s->pids[i] == pid)
            return 0;
    }
    s->pids[s->n_pids++] = pid;
    return 0;
}

static int take_group(void *at, const char *text, struct baro_error *err)
{
    struct record_settings *s = at;
    if (s->cgroup)
        return error_set(err, BARO_E_RANGE, "given twice; one control group is recorded at a time");
    s->cgroup = text;
    return 0;
}

/* Names that rows of a tape have already, and `all`. */
static bool is_taken(const struct record_settings *s, const char *name)
{
    for (int i = 0; i < s->n_programs; i++) {
        if (strcmp(s->programs[i].name, name) == 0)
            return true;
    }
    return baro_kind_find(name) >= 0 || strcmp(name, "event") == 0 || strcmp(name, "all") == 0;
}

static int take_collect(void *at, const char *text, struct baro_error *err)
{
    struct record_settings *s = at;
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (text[n] != '=' || n == 0 || *text < 'a' || *text > 'z' || n >= SETTINGS_PROGRAM_NAME)
        return error_set(err, BARO_E_SYNTAX,
                         "'%.80s' is not NAME=COMMAND; a NAME has a-z, 0-9 and _, and begins with a letter", text);
    if (!text[n + 1 + strspn(text + n + 1, " \t\n")])
        return error_set(err, BARO_E_SYNTAX, "'%.80s' has no command", text);
    if (s->n_programs == SETTINGS_PROGRAMS_MAX)
        return error_set(err, BARO_E_RANGE, "more than %d of them", SETTINGS_PROGRAMS_MAX);
    struct program_setting *p = &s->programs[s->n_programs];
    memcpy(p->name, text, n);
    p->name[n] = 0;
    p->command = text + n + 1;
    if (is_taken(s, p->name))
        return error_set(err, BARO_E_RANGE, "%s is the name of another kind; choose a new one", p->name);
    s->n_programs++;
    return 0;
}

void settings_init(struct settings *s)
{
    settings_init_reading(s);
    /* BARO_NO_BUDGET is for tests: a recorder built with sanitizers uses many times the CPU time of an ordinary one. */
    s->record = (struct record_settings){.cmdline = true,
                                         .overhead_ppm = getenv("BARO_NO_BUDGET") ? 0 : 10000,
                                         .subreaper = true,
                                         .children = true,
                                         .host = true};
    metric_parse_list("default", &s->record.wanted, NULL);
}

/* ---- rows that tables share ---- */

#define RECORDING                                                                                                      \
    {.name = "output",                                                                                                 \
     .letter = 'o',                                                                                                    \
     .argument = "FILE",                                                                                               \
     .type = OPT_PARSED,                                                                                               \
     .offset = AT(record.output),                                                                                      \
     .parse = take_tape,                                                                                               \
     .completes = OPT_A_FILE,                                                                                          \
     .help = "write the tape to FILE, which must not exist (default: among the kept runs)"},                           \
        {.name = "force",                                                                                              \
         .type = OPT_TRUE,                                                                                             \
         .offset = AT(record.force),                                                                                   \
         .help = "replace FILE if it is there",                                                                        \
         .more = "Until the recording has begun the old one is kept beside it, as FILE.old-..."},                      \
        {.name = "quiet",                                                                                              \
         .letter = 'q',                                                                                                \
         .type = OPT_TRUE,                                                                                             \
         .offset = AT(record.quiet),                                                                                   \
         .help = "print no summary at the end"},                                                                       \
        {.name = "interval",                                                                                           \
         .letter = 'i',                                                                                                \
         .argument = "TIME",                                                                                           \
         .type = OPT_PARSED,                                                                                           \
         .offset = AT(record.interval_ns),                                                                             \
         .parse = take_interval,                                                                                       \
         .help = "time between samples: auto (the default), or 10ms to 1h",                                            \
         .more =                                                                                                       \
             "With auto, samples are dense at first and then come every hundredth of the time passed, between 10 ms "  \
             "and 1 s, so that a run of any length has a curve; further apart where they would cost more than "        \
             "--overhead allows, "                                                                                     \
             "and up to 1 s apart while the job does nothing. Units are ns, us, ms, s, min, h and d."},                \
        {.name = "metrics",                                                                                            \
         .letter = 'm',                                                                                                \
         .argument = "LIST",                                                                                           \
         .type = OPT_PARSED,                                                                                           \
         .offset = AT(record.wanted),                                                                                  \
         .parse = take_metrics,                                                                                        \
         .completes = OPT_A_METRIC,                                                                                    \
         .help = "record these metrics of processes, e.g. cpu,rss or -pss,-uss (default: all)",                        \
         .more =                                                                                                       \
             "A leading - takes a metric away; a list that begins with one starts from all. What is not wanted is "    \
             "not read. What the job's totals need, and what comes with it, is recorded in any case: cpu, faults, "    \
             "rss, state and "                                                                                         \
             "threads. baro metrics lists them."},                                                                     \
        {.name = "collect",                                                                                            \
         .argument = "NAME=COMMAND",                                                                                   \
         .type = OPT_PARSED,                                                                                           \
         .offset = AT(record),                                                                                         \
         .parse = take_collect,                                                                                        \
         .help = "run COMMAND beside the job and record what it prints; may be given more than once",                  \
         .more =                                                                                                       \
             "COMMAND is run by sh. It prints OpenMetrics text that ends with a line \"# EOF\", or an object of JSON " \
             "for each reading, as often as it likes; a command that ends after a reading is started again a second "  \
             "after its start, or at each --interval. Its rows are a kind called NAME: baro export --entity NAME. "   \
             "One that fails is started again 1 s later, then 2 s, up to a minute. Whatever it does, the job is not "  \
             "affected, and it ends with the recording. BARO_INTERVAL tells it the seconds between readings, BARO_PID "\
             "the first process of the job. 128 columns and 4096 rows are kept; what is left out is reported. What it "\
             "uses is part of what the recording costs, but not of --overhead."},                                      \
        {.name = "no-cmdline",                                                                                         \
         .type = OPT_FALSE,                                                                                            \
         .offset = AT(record.cmdline),                                                                                 \
         .help = "keep no command lines",                                                                              \
         .more =                                                                                                       \
             "Without it, passwords, tokens and the like are blotted out before a command line reaches the tape."},    \
    {                                                                                                                  \
        .name = "overhead", .argument = "SHARE", .type = OPT_PARSED, .offset = AT(record.overhead_ppm),                \
        .parse = take_overhead,                                                                                        \
        .help = "most CPU that sampling may take, as a share of a core: 1% (the default), or off",                     \
        .more = "To stay within it, costly reads (pss, uss) thin out, and samples come later or, with a fixed "        \
                "interval, are left out. What was "                                                                    \
                "left out is on the tape and said in the summary. Starting takes up to 12 ms of CPU time besides."     \
    }

static const char *const own_groups[] = {"auto", "own", "none", NULL}; /* in the order of enum own_mode */

const struct opt options_run[] = {
    RECORDING,
    {.name = "cgroup",
     .argument = "WHICH",
     .type = OPT_CHOICE,
     .offset = AT(record.own_group),
     .choices = own_groups,
     .help = "a control group for the command: auto (the default), own or none",
     .more = "In a group of its own the command's CPU time and processes are the kernel's own count at every moment. "
             "With auto it gets one where ours was "
             "handed over (v2; Delegate=yes of systemd, systemd-run --user --scope), with own wherever one can be "
             "made. Where baro is alone in that group and it "
             "has the memory controller, the memory of the command's is counted, too: its peak is the kernel's own "
             "mark. Where memory and threads are v1's, own "
             "makes groups there as well, and where there is no v2, v1 counts the CPU time."},
    {.name = "no-subreaper",
     .type = OPT_FALSE,
     .offset = AT(record.subreaper),
     .help = "leave orphans to init instead of taking them over"},
    {.name = "no-host",
     .type = OPT_FALSE,
     .offset = AT(record.host),
     .help = "record the command and its control groups, not the machine"},
    {.name = "top",
     .type = OPT_TRUE,
     .offset = AT(record.top),
     .help = "show the job with baro top while it runs; its output must go elsewhere, as in `>log 2>&1`",
     .more = "^C and ^Z reach the command as ever; all other keys are the view's, so a command that reads the terminal "
             "should not be run with it. q ends the view, and the command goes on. The view ends with the command."},
    HELP,
    END,
};

#define NO_NOTE                                                                                                        \
    {                                                                                                                  \
        .name = "quiet", .letter = 'q', .type = OPT_TRUE, .offset = AT(record.quiet),                                  \
        .help = "no note where there is no recording",                                                                 \
    }

const struct opt options_mark[] = {
    {.name = "begin", .type = OPT_TRUE, .offset = AT(begins), .help = "a phase of this name begins"},
    {.name = "end", .type = OPT_TRUE, .offset = AT(ends), .help = "the phase of this name ends that began last"},
    NO_NOTE,
    HELP,
    END,
};

const struct opt options_phase[] = {NO_NOTE, HELP, END};

const struct opt options_record[] = {
    {.name = "pid",
     .letter = 'p',
     .argument = "PID",
     .type = OPT_PARSED,
     .offset = AT(record),
     .parse = take_pid,
     .completes = OPT_A_PID,
     .help = "record this process; may be given more than once"},
    {.name = "host",
     .type = OPT_TRUE,
     .offset = AT(record.machine),
     .help = "record the machine; without --pid and --cgroup the machine alone, until INT or TERM"},
    {.name = "for",
     .argument = "TIME",
     .type = OPT_PARSED,
     .offset = AT(record.for_ns),
     .parse = take_for,
     .help = "record for this long, e.g. 10min or 1h, instead of until the last process ended"},
    {.name = "cgroup",
     .argument = "PATH",
     .type = OPT_PARSED,
     .offset = AT(record),
     .parse = take_group,
     .completes = OPT_A_FILE,
     .help = "record all that is in this control group and below it: a service, a container, a pod",
     .more = "PATH is its folder, such as /sys/fs/cgroup/system.slice/cron.service or, below /sys/fs/cgroup, "
             "system.slice/cron.service; or as it stands in /proc/PID/cgroup; "
             "v1 and v2. Such a path is searched for in every hierarchy: its members are those of the hierarchy that "
             "counts CPU time "
             "(v2, else cpuacct), and where others are in a "
             "group of that path elsewhere, a folder is to be given. CPU time is the group's own count, if it counts "
             "any. The recording ends when nobody is left in it, or "
             "it is gone."},
    {.name = "events",
     .argument = "FILE",
     .type = OPT_TEXT,
     .offset = AT(record.events),
     .completes = OPT_A_FILE,
     .help = "record the lines that are appended to FILE as marks and phases",
     .more = "FILE is a regular file, and is made if it does not exist. Lines are as in $BARO_EVENTS (baro-mark(1)); "
             "lines that it has before are not recorded. With BARO_EVENTS=FILE in their environment, baro mark and "
             "baro phase write to it."},
    {.name = "no-children", .type = OPT_FALSE, .offset = AT(record.children), .help = "leave out its descendants"},
    RECORDING,
    {.name = "no-host",
     .type = OPT_FALSE,
     .offset = AT(record.host),
     .help = "record the processes and their control groups, not the machine"},
    HELP,
    END,
};

const struct opt options_doctor[] = {
    {.name = "metrics",
     .letter = 'm',
     .type = OPT_TRUE,
     .offset = AT(metrics),
     .help = "a line for each metric of the machine and of control groups"},
    JSON_OPTION,
    HELP,
    END,
};
