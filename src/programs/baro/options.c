/* SPDX-License-Identifier: Apache-2.0 */
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
                                         .gpu = "auto"};
    metric_parse_list("default", &s->record.wanted, NULL);
}

/* ---- rows that tables share ---- */

#define RECORDING                                                                                                      \
    PARSED("output", 'o', "FILE", record.output, take_tape,                                                            \
           "write the tape to FILE, which must not exist (default: among the kept runs)", .completes = OPT_A_FILE),    \
        PARSED("keep", 0, "TIME|SIZE", record, take_keep, "keep only the newest part of the tape, e.g. 1h or 512MB",   \
               MORE("FILE is then a folder of segments, each a tape by itself; the oldest are removed. All commands "  \
                    "read it like any other tape. At least TIME is kept, and at most a sixteenth more; never more "    \
                    "than SIZE. Give it twice for both. The job's totals still count from the beginning.")),           \
        SETS("force", 0, record.force, "replace FILE if it exists",                                                    \
             MORE("The old file is kept beside it as FILE.old-... until the recording has begun.")),                   \
        SETS("quiet", 'q', record.quiet, "print no summary at the end"),                                               \
        PARSED("interval", 'i', "TIME", record.interval_ns, take_interval,                                             \
               "time between samples: auto (the default), or 10ms to 1h",                                              \
               MORE("auto samples densely at first: the interval is a hundredth of the time since the start, but at "  \
                    "least 10 ms and at most 1 s. So a run of any length has a curve. The interval is longer where "   \
                    "sampling would cost more than --overhead allows, and up to 1 s while the job is idle; it is "     \
                    "shorter while a control group of the job fills its memory. Units are ns, us, ms, s, min, h and "  \
                    "d.")),                                                                                            \
        PARSED("metrics", 'm', "LIST", record.wanted, take_metrics,                                                    \
               "record these metrics of processes, e.g. cpu,rss or -pss,-uss (default: all but tcp)",                  \
               .completes = OPT_A_METRIC,                                                                              \
               MORE("baro metrics lists them. A leading - removes a metric; a list that begins with one starts from "  \
                    "the default. tcp stands for tcp_sent, tcp_received, tcp_connections and tcp_listening: "          \
                    "default,tcp adds them, and the job's TCP traffic. They are not in the default, as each "          \
                    "descriptor is read. A metric that is not in the list is not read. The job's totals need "         \
                    "cpu, faults, rss, state and threads: these are always recorded.")),                               \
        PARSED("du", 0, "DIR", record, take_directory,                                                                 \
               "record what DIR and all below it take on the disk; can be given more than once",                       \
               .completes = OPT_A_FILE,                                                                                \
               MORE("A process beside the recorder walks it every --du-every, at the lowest priority, with pauses: "   \
                    "at most a tenth of a core, and at most half of the time waiting for the disk. Bytes allocated, "  \
                    "sizes, files and directories are counted; a file with several names once; other mounts are not "  \
                    "entered. Each value has the time at which its walk ended. At the end of the recording DIR is "    \
                    "walked once more if that takes less than 100 ms. What can't be read makes the values lower "      \
                    "bounds. baro export --entity directory has all values.")),                                        \
        PARSED("du-every", 0, "TIME", record.directories_every_ns, take_every,                                         \
               "time between two walks of --du: 1s to 24h (default: 60s, and longer if walks take more CPU time than " \
               "--overhead allows)"),                                                                                  \
        PARSED(                                                                                                        \
            "gpu", 0, "auto|off|LIST", record.gpu, take_gpu,                                                           \
            "record GPUs: those that the job may use (auto, the default), none, or numbers and UUIDs",                 \
            MORE("If there is a driver of NVIDIA, a program beside the recorder asks it once a second; otherwise "     \
                 "nothing is started. auto are those of CUDA_VISIBLE_DEVICES, or all. A LIST has numbers in the "      \
                 "driver's order, and beginnings of UUIDs, with commas between: 0,GPU-8932f937. baro export --entity " \
                 "gpu and --entity gpu_process have all values, docs/gpu.md what they mean. Meters of energy of CPUs " \
                 "and memory, if they may be read, are --entity energy; off leaves them out, too.")),                  \
        CLEARS("no-cmdline", 0, record.cmdline, "record no command lines",                                             \
               MORE("Without this option command lines are recorded, but passwords, tokens and the like are replaced " \
                    "before they reach the tape.")),                                                                   \
        PARSED(                                                                                                        \
            "overhead", 0, "SHARE", record.overhead_ppm, take_overhead,                                                \
            "most CPU that sampling may use, as a share of a core: 1% (the default), or off",                          \
            MORE("To stay within it, expensive reads (pss, uss) are done less often, and samples are delayed or, "     \
                 "with a fixed interval, left out. The tape and the summary say how many were left out. A job that "   \
                 "keeps more than two cores busy pays half of SHARE of what it uses: with 1% a compile on 16 cores "   \
                 "8% of a core. The start of a recording takes up to 12 ms of CPU time in addition, and a process "    \
                 "that begins and ends 10 to 30 us."))

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

const struct opt options_run[] = {
    RECORDING,
    NAME_OPTION,
    PARSED(
        "task", 0, "NAME[=REGEX]", record, take_task_option,
        "NAME=REGEX: what fits, and what it starts, is a task; NAME, inside of a recording: the command is a task of "
        "it",
        MORE("With REGEX, which may be repeated, it is a rule for those who read the tape, as --task of baro summary. "
             "With NAME alone: "
             "The command and all that it starts are the task NAME of the recording in which baro run is called, with "
             "totals, peaks and a curve of their own; nothing else is recorded, and the other options have no effect. "
             "Commands with equal names are one task. In a task another one may be started; what that one uses is its "
             "own alone. baro summary --by task shows the tasks. If that recording has ended, the command just runs. "
             "Outside of a recording, the command is recorded, and NAME is the one task of the recording.")),
    CHOICE("cgroup", 0, "WHICH", record.own_group, own_groups,
           "a control group for the command: auto (the default), own or none",
           MORE("In a group of its own, the kernel itself counts the CPU time and the processes of the command. auto "
                "makes a group where baro's own group is delegated to it (v2: Delegate=yes of systemd, as with "
                "systemd-run --user --scope). own makes one wherever that is possible. If baro is alone in its group "
                "and this group has the memory controller, the kernel counts the command's memory, too, and its peak "
                "is exact. If memory and pids are v1 hierarchies, own makes groups there as well; without v2, a v1 "
                "group counts the CPU time.")),
    SETS("wait-all", 0, record.wait_all, "return when all that the command started has ended, too",
         MORE("The exit status is the command's. Once the command has ended, SIGINT (^C), SIGTERM, SIGHUP or SIGQUIT "
              "ends the wait: baro run returns, and what is left runs on and is named as a survivor. What starts "
              "outside, as a service or a container does, is not waited for.")),
    CLEARS("no-subreaper", 0, record.subreaper, "leave orphans to init instead of adopting them"),
    CLEARS("no-host", 0, record.host, "record the command and its control groups, not the machine"),
    SETS(
        "top", 0, record.top,
        "show the job with baro top while it runs; redirect the command's output, as in `>log 2>&1`",
        MORE(
            "^C and ^Z reach the command as usual. All other keys go to the view, so this does not suit a command that "
            "reads from the terminal. q ends the view, and the command goes on. The view ends with the command.")),
    SETS(
        "mlflow", 0, record.mlflow, "send what is recorded to MLflow while it is recorded",
        MORE("The Python package barograph does it (docs/python.md), in a process beside the job: the interpreter that "
             "the command is, if its name begins with python, else python3; BAROGRAPH_PYTHON names another one. The "
             "run is the one of MLFLOW_RUN_ID, else the first that the command begins with mlflow.start_run(), else "
             "one that is made after the end. Nothing waits for the server: what it has not got yet is on the tape, "
             "and python3 -m barograph.mlflow log TAPE goes on. MLFLOW_TRACKING_URI and the like say where to.")),
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
    PARSED("for", 0, "TIME", record.for_ns, take_for, "end the recording after this time, e.g. 10min or 1h"),
    PARSED("cgroup", 0, "PATH", record, take_group,
           "record all processes in this control group and below it: a service, a container, a pod",
           .completes = OPT_A_FILE,
           MORE("PATH is its folder, such as /sys/fs/cgroup/system.slice/cron.service. It can also be relative to "
                "/sys/fs/cgroup, or as in /proc/PID/cgroup, with or without the slash in front. It is looked up in "
                "every hierarchy, v1 and v2. The members are those of the hierarchy that counts CPU time (v2, else "
                "cpuacct). If a group with this "
                "path has other members in another hierarchy, give the folder. CPU time is the group's own count, if "
                "it has one. The recording ends 100 ms after the group's last process; its status is that of "
                "the last one to end of those that came into the group from elsewhere: a container's first process. If "
                "the group was removed before it was read after that, the total is its last reading and what the "
                "processes are known to have used since, at least where that may not be all.")),
    OPTIONS_SELECT,
    TEXT("events", 0, "FILE", record.events, "record the lines that are appended to FILE as marks and phases",
         .completes = OPT_A_FILE,
         MORE("FILE is a regular file. It is created if it does not exist. Its lines are as in $BARO_EVENTS "
              "(baro-mark(1)). Lines that were in it before are not recorded. With BARO_EVENTS=FILE in the "
              "environment, baro mark and baro phase write to it.")),
    CLEARS("no-children", 0, record.children, "do not record descendants, nor what they use"),
    SETS("background", 0, record.background,
         "return at once and record in the background; when it has begun, print a line of JSON",
         MORE("The line has the recorder's pid and start_ticks, the path of the tape, and events: the file of "
              "--events, else one that is made for this recording and removed at its end, for BARO_EVENTS. It is "
              "printed after the first sample, and standard output is closed then: line=$(baro record --background "
              "--pid $$) waits for it. If nothing can be recorded there is no line, and standard error and the exit "
              "status say so as they do without --background. No summary is printed. SIGTERM to that pid ends the "
              "recording.")),
    RECORDING,
    CLEARS("no-host", 0, record.host, "record the processes and their control groups, not the machine"),
    END,
};

const struct opt options_doctor[] = {
    SETS("metrics", 'm', metrics, "print a line for each metric"),
    JSON_OPTION,
    END,
};
