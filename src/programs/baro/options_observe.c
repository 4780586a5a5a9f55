/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/options_values.h"
#include "programs/common/options.h"
#include "programs/common/settings.h"

static int take_pattern(void *at, const char *text, struct baro_error *err)
{
    struct observe_settings *s = at;
    if (!*text)
        return error_set(err, BARO_E_SYNTAX, "its PATTERN is empty");
    if (s->n_patterns == SETTINGS_PATTERNS_MAX)
        return error_set(err, BARO_E_RANGE, "more than %d of them", SETTINGS_PATTERNS_MAX);
    s->patterns[s->n_patterns++] = text;
    return 0;
}

const struct opt options_observe[] = {
    {.name = "cgroup",
     .argument = "PATTERN",
     .type = OPT_PARSED,
     .offset = AT(observe),
     .parse = take_pattern,
     .completes = OPT_A_FILE,
     .help = "each control group that matches is a job; can be given more than once",
     .more = "PATTERN is a path with *, ? and [...], which match no slash. It is relative to the root of the hierarchy "
             "of control groups, as paths in /proc/PID/cgroup are: system.slice/*.service is "
             "/sys/fs/cgroup/system.slice/*.service, or /sys/fs/cgroup/unified/system.slice/*.service where both "
             "versions are mounted; a path that begins with /sys/fs/cgroup/ is taken as it is. One line says so if "
             "nothing matches at the start; what appears later is recorded. A group that is removed and made again is "
             "another job. Groups are searched for twice a second; those that were removed before they could be "
             "recorded are counted, and the count is a line on standard error."},
    {.name = "tasks",
     .argument = "DIR",
     .type = OPT_TEXT,
     .offset = AT(observe.tasks),
     .completes = OPT_A_FILE,
     .help = "each task file *.yaml or *.yml in DIR is a job with the tasks that it names",
     .more = "From when it appears until it is changed or removed; a file that was changed is another job. Each file "
             "that baro record --task takes is one: commands are read once for all jobs, by one process. A file with "
             "an error is read again when it has changed. Write it elsewhere and move it into DIR: then it is never "
             "read half written."},
    {.name = "dir",
     .argument = "DIR",
     .type = OPT_TEXT,
     .offset = AT(observe.dir),
     .completes = OPT_A_FILE,
     .help = "the folder of the tapes, which is made (default: jobs in that of the kept runs)",
     .more = "If it is removed or replaced while jobs are recorded, one line says so, it is made again, and each job "
             "begins a new tape in it. A link that has taken its place is not followed."},
    {.name = "keep",
     .argument = "TIME|SIZE",
     .type = OPT_PARSED,
     .offset = AT(record),
     .parse = take_keep,
     .help = "keep only the newest part of each tape, e.g. 1d or 64MB",
     .more = "At least TIME is kept, and at most a sixteenth more; never more than SIZE. Give it twice for both."},
    {.name = "total",
     .argument = "SIZE",
     .type = OPT_PARSED,
     .offset = AT(observe.total_bytes),
     .parse = take_total,
     .help = "keep all tapes together within SIZE, e.g. 2GB (default: no limit)",
     .more = "Checked every ten seconds. The oldest tapes of jobs that are over are removed first, and then the first "
             "segments of the largest tapes. Without --keep, no tape gets larger than a quarter of SIZE."},
    {.name = "interval",
     .letter = 'i',
     .argument = "TIME",
     .type = OPT_PARSED,
     .offset = AT(record.interval_ns),
     .parse = take_interval,
     .help = "time between two samples of a job: auto (the default), or 10ms to 1h"},
    {.name = "du-every",
     .argument = "TIME",
     .type = OPT_PARSED,
     .offset = AT(record.directories_every_ns),
     .parse = take_every,
     .help = "time between two walks of the sandboxes that task files name: 1s to 24h (default: 60s, and longer if "
             "walks take more CPU time than --overhead allows)"},
    {.name = "gpu",
     .argument = "auto|off|LIST",
     .type = OPT_PARSED,
     .offset = AT(record.gpu),
     .parse = take_gpu,
     .help = "record GPUs, as for baro record: auto (the default), off, or numbers and UUIDs",
     .more = "One program beside the observer reads them for all jobs. Each tape has all devices, and of each what its "
             "job's processes use. What a job used after the last reading, at most a second before its end, is not on "
             "its tape."},
    {.name = "metrics",
     .letter = 'm',
     .argument = "LIST",
     .type = OPT_PARSED,
     .offset = AT(record.wanted),
     .parse = take_metrics,
     .completes = OPT_A_METRIC,
     .help = "record these metrics of processes, as for baro record (default: all)"},
    {.name = "no-cmdline", .type = OPT_FALSE, .offset = AT(record.cmdline), .help = "record no command lines"},
    {.name = "no-host", .type = OPT_FALSE, .offset = AT(record.host), .help = "make no tape of the machine"},
    {.name = "overhead",
     .argument = "SHARE",
     .type = OPT_PARSED,
     .offset = AT(record.overhead_ppm),
     .parse = take_overhead,
     .help = "most CPU that all jobs together may cost, as a share of a core: 1% (the default), or off",
     .more = "While it does not allow all samples that are due, the job that has waited longest is sampled next. The "
             "tapes say how many samples were left out."},
    HELP,
    END,
};
