/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "libbaro/metric/ids.h"
#include "programs/baro/options_select.h"
#include "programs/baro/options_values.h"
#include "programs/common/options.h"
#include "programs/common/settings.h"

#define TASK_NAME_LONGEST 63u

/* ---- values ---- */

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

int take_overhead(void *at, const char *text, struct baro_error *err)
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

/* Names of metrics, for suggestions. */
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
        if (len >= sizeof(word))
            continue;
        memcpy(word, text + skip, len - skip);
        word[len - skip] = 0;
        bool known = baro_metric_find(BARO_KIND_PROCESS, word) >= 0;
        bool group = (len == 3 && (!memcmp(text, "all", 3) || !memcmp(text, "tcp", 3))) ||
                     (len == 7 && !memcmp(text, "default", 7));
        if (!known && !group)
            return opt_nearest(word, names);
    }
    return NULL;
}

int take_metrics(void *at, const char *text, struct baro_error *err)
{
    struct baro_error inner = BARO_ERROR_INIT;
    int code = metric_parse_list(text, at, &inner);
    if (code >= 0)
        return 0;
    const char *near = near_metric(text);
    if (near)
        return error_set(err, code, "%s; did you mean %s?", inner.text, near);
    return error_wrap(err, code, &inner, "%s", "");
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

/* A number, the beginning of a UUID (hexadecimal without a prefix: ROCm's), a card of DRM, or all of them. */
static bool is_gpu(const char *item, size_t n)
{
    static const char digits[] = "0123456789";
    if (strncmp(item, "GPU-", 4) == 0 || strncmp(item, "MIG-", 4) == 0)
        return strspn(item, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-/:") == n;
    if (strncmp(item, "card", 4) == 0)
        return n > 4 && strspn(item + 4, digits) == n - 4;
    return n && (strspn(item, "0123456789abcdefABCDEF") == n || (n == 3 && strncmp(item, "all", 3) == 0));
}

int take_gpu(void *at, const char *text, struct baro_error *err)
{
    bool is_word = strcmp(text, "auto") == 0 || strcmp(text, "off") == 0, is_list = strlen(text) <= 400;
    for (const char *item = text; is_list && !is_word;) {
        size_t n = strcspn(item, ",");
        is_list = is_gpu(item, n);
        if (!item[n])
            break;
        item += n + 1;
    }
    if (!is_word && !is_list)
        return error_set(err, BARO_E_SYNTAX,
                         "'%.80s' is not auto, off, all, or numbers, UUIDs (GPU-..., MIG-...) and cards (card0) with "
                         "commas between",
                         text);
    *(const char **)at = text;
    return 0;
}

static int take_directory(void *at, const char *text, struct baro_error *err)
{
    struct record_settings *s = at;
    if (!*text)
        return error_set(err, BARO_E_SYNTAX, "its DIR is empty");
    if (s->n_directories == SETTINGS_DIRECTORIES_MAX)
        return error_set(err, BARO_E_RANGE, "more than %d of them", SETTINGS_DIRECTORIES_MAX);
    s->directories[s->n_directories++] = text;
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
                                         .host = true,
                                         .gpu = "auto",
                                         .limit_signal = SIGTERM,
                                         .limit_grace_ns = 10 * NS_PER_SEC};
    metric_parse_list("default", &s->record.wanted, NULL);
}

/* ---- rows that tables share ---- */

#define RECORDING                                                                                                      \
    PARSED(                                                                                                            \
        "output", 'o', "FILE", record.output, take_tape,                                                               \
        "write the tape to FILE, which must not exist; %j, %r, %N and the like stand for job, rank, node (default: "   \
        "among the kept runs)",                                                                                        \
        .completes = OPT_A_FILE),                                                                                      \
        PARSED("keep", 0, "TIME|SIZE", record, take_keep, "keep only the newest part of the tape, e.g. 1h or 512MB"),  \
        SETS("force", 0, record.force, "replace FILE if it exists"), TAG_OPTION, NOTE_OPTION,                          \
        SETS("quiet", 'q', record.quiet, "print no summary at the end"),                                               \
        SETS("verbose", 'v', record.verbose, "print all of the summary at the end, not 15 lines at most"),             \
        PARSED("interval", 'i', "TIME", record.interval_ns, take_interval,                                             \
               "time between samples: auto (the default), or 10ms to 1h"),                                             \
        PARSED("metrics", 'm', "LIST", record.wanted, take_metrics,                                                    \
               "record these metrics of processes, e.g. cpu,rss or -pss,-uss (default: all but tcp)",                  \
               .completes = OPT_A_METRIC),                                                                             \
        PARSED("push", 0, "URL", record.push, take_push,                                                               \
               "send what is recorded to URL while it is recorded, as baro push does (default: $BARO_PUSH)"),          \
        PARSED("du", 0, "DIR", record, take_directory,                                                                 \
               "record what DIR and all below it take on the disk; can be given more than once",                       \
               .completes = OPT_A_FILE),                                                                               \
        PARSED("du-every", 0, "TIME", record.directories_every_ns, take_every,                                         \
               "time between two walks of --du: 1s to 24h (default: 60s, and longer if walks take more CPU time than " \
               "--overhead allows)"),                                                                                  \
        PARSED("gpu", 0, "auto|off|LIST", record.gpu, take_gpu,                                                        \
               "record GPUs: those that the job may use (auto, the default), none, or numbers and UUIDs"),             \
        CLEARS("no-cmdline", 0, record.cmdline, "record no command lines"),                                            \
        PARSED("overhead", 0, "SHARE", record.overhead_ppm, take_overhead,                                             \
               "most CPU that sampling may use, as a share of a core: 1% (the default), or off")

static const char *const untils[] = {"target", "all", NULL};
static const char *const own_groups[] = {"auto", "own", "none", NULL}; /* in the order of enum own_mode */

static int take_task_option(void *at, const char *text, struct baro_error *err)
{
    struct record_settings *s = at;
    if (task_rule_text(text))
        return select_take_task(s, text, err);
    if (!*text || strlen(text) > TASK_NAME_LONGEST)
        return error_set(err, BARO_E_RANGE, "the name of a task has 1 to %u bytes", TASK_NAME_LONGEST);
    s->task = text;
    return 0;
}

static int take_repeat(void *at, const char *text, struct baro_error *err)
{
    struct compare_settings *s = at;
    s->is_set = true;
    return take_runs(&s->runs, text, err);
}

const struct opt options_run[] = {
    RECORDING,
    NAME_OPTION,
    PARSED(
        "task", 0, "NAME[=REGEX]", record, take_task_option,
        "NAME=REGEX: what fits, and what it starts, is a task; NAME, inside of a recording: the command is a task of "
        "it"),
    CHOICE("cgroup", 0, "WHICH", record.own_group, own_groups,
           "a control group for the command: auto (the default), own or none"),
    PARSED("limit", 0, "NAME=MOST", record, take_limit,
           "end the job at memory=SIZE (the kernel's), rss=SIZE, cpu=TIME, wall=TIME or processes=N; may be repeated"),
    PARSED(
        "on-limit", 0, "term|kill|mark[:GRACE]", record, take_on_limit,
        "at a limit: SIGTERM (or another signal), and SIGKILL after GRACE (term:10s, the default); SIGKILL; note it"),
    PARSED("runs", 'n', "N", compare, take_repeat,
           "run it N times and print the median and the range of what it used; -o is a folder then"),
    PARSED("warmup", 'w', "N", compare.warmup, take_warmup, "with -n: run it N times before, unrecorded"),
    TEXT("prepare", 'p', "COMMAND", compare.prepare, "with -n: a shell command before each run"),
    SETS("wait-all", 0, record.wait_all, "return when all that the command started has ended, too"),
    CLEARS("no-subreaper", 0, record.subreaper, "leave orphans to init instead of adopting them"),
    CLEARS("no-host", 0, record.host, "record the command and its control groups, not the machine"),
    SETS("top", 0, record.top,
         "show the job with baro top while it runs; redirect the command's output, as in `>log 2>&1`"),
    TEXT("check", 0, "FILE", record.check,
         "check the limits of this budget at the end (baro help check); of a command that succeeds the status is the "
         "check's",
         .completes = OPT_A_FILE),
    SETS("mlflow", 0, record.mlflow, "send what is recorded to MLflow while it is recorded"),
    END,
};

#define NO_NOTE SETS("quiet", 'q', record.quiet, "print no note if there is no recording")

const struct opt options_mark[] = {
    SETS("begin", 0, begins, "begin a phase with this name"),
    SETS("end", 0, ends, "end the phase with this name that began last"),
    NO_NOTE,
    END,
};

const struct opt options_phase[] = {NO_NOTE, END};

const struct opt options_record[] = {
    PARSED("pid", 'p', "PID", record, take_pid, "record this process; can be given more than once",
           .completes = OPT_A_PID),
    CHOICE("until", 0, "WHICH", record.until_all, untils,
           "end with the last --pid (target, the default), or when all that they started has ended, too (all)"),
    SETS("host", 0, record.machine,
         "record the machine; without --pid and --cgroup nothing else, until SIGINT or SIGTERM"),
    SETS("all", 0, record.all, "record the machine and all its processes, until SIGINT or SIGTERM"),
    PARSED("for", 0, "TIME", record.for_ns, take_for, "end the recording after this time, e.g. 10min or 1h"),
    PARSED("cgroup", 0, "PATH", record, take_group,
           "record all processes in this control group and below it: a service, a container, a pod",
           .completes = OPT_A_FILE),
    OPTIONS_SELECT,
    TEXT("events", 0, "FILE", record.events, "record the lines that are appended to FILE as marks and phases",
         .completes = OPT_A_FILE),
    CLEARS("no-children", 0, record.children, "do not record descendants, nor what they use"),
    SETS("background", 0, record.background,
         "return at once and record in the background; when it has begun, print a line of JSON"),
    RECORDING,
    CLEARS("no-host", 0, record.host, "record the processes and their control groups, not the machine"),
    END,
};

const struct opt options_doctor[] = {
    SETS("metrics", 'm', metrics, "print a line for each metric"),
    JSON_OPTION,
    END,
};
