/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "programs/baro/options_values.h"
#include "programs/common/options.h"
#include "programs/common/settings.h"
#include "recorder/loop/record.h"

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

static int take_names(void *at, const char *text, struct baro_error *err)
{
    static const char *const words[] = {
        [RECORD_NAMES_AUTO] = "auto", [RECORD_NAMES_PATH] = "path", [RECORD_NAMES_OFF] = "off"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, words[i]) == 0) {
            *(int *)at = i;
            return 0;
        }
    }
    return error_set(err, BARO_E_SYNTAX, "it is auto, path or off");
}

const struct opt options_observe[] = {
    PARSED("cgroup", 0, "PATTERN", observe, take_pattern,
           "each control group that matches is a job; can be given more than once", .completes = OPT_A_FILE),
    PARSED("name-from", 0, "auto|path|off", observe.names, take_names,
           "where the names of containers, pods and units come from: the path of the group and the files of the engine "
           "(auto, the default), the path alone, or nowhere"),
    TEXT("tasks", 0, "DIR", observe.tasks,
         "each task file *.yaml or *.yml in DIR is a job with the tasks that it names", .completes = OPT_A_FILE),
    TEXT("dir", 0, "DIR", observe.dir,
         "the folder of the tapes, which is made (default: jobs in that of the kept runs)", .completes = OPT_A_FILE),
    TAG_OPTION,
    PARSED("keep", 0, "TIME|SIZE", record, take_keep, "keep only the newest part of each tape, e.g. 1d or 64MB"),
    THIN_OPTION,
    RESERVE_OPTION,
    PARSED("total", 0, "SIZE", observe.total_bytes, take_total,
           "keep all tapes together within SIZE, e.g. 2GB (default: no limit)"),
    PARSED("push", 0, "URL", record.push, take_push,
           "send what is recorded to URL while it is recorded, as baro push does (default: $BARO_PUSH)"),
    PARSED("interval", 'i', "TIME", record.interval_ns, take_interval,
           "time between two samples of a job: auto (the default), or 10ms to 1h"),
    PARSED("du-every", 0, "TIME", record.directories_every_ns, take_every,
           "time between two walks of the sandboxes that task files name: 1s to 24h (default: 60s, and longer if walks "
           "take more CPU time than --overhead allows)"),
    PARSED("gpu", 0, "auto|off|LIST", record.gpu, take_gpu,
           "record GPUs, as for baro record: auto (the default), off, or numbers and UUIDs"),
    PARSED("metrics", 'm', "LIST", record.wanted, take_metrics,
           "record these metrics of processes, as for baro record (default: all)", .completes = OPT_A_METRIC),
    CLEARS("no-cmdline", 0, record.cmdline, "record no command lines"),
    CLEARS("no-host", 0, record.host, "make no tape of the machine"),
    PARSED("overhead", 0, "SHARE", record.overhead_ppm, take_overhead,
           "most CPU that all jobs together may cost, as a share of a core: 1% (the default), or off"),
    END,
};
