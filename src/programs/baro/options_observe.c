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
           "each control group that matches is a job; can be given more than once", .completes = OPT_A_FILE,
           MORE("PATTERN is a path with *, ? and [...], which match no slash. It is relative to the root of the "
                "hierarchy of control groups, as paths in /proc/PID/cgroup are: system.slice/*.service is "
                "/sys/fs/cgroup/system.slice/*.service, or /sys/fs/cgroup/unified/system.slice/*.service where both "
                "versions are mounted. It may begin with the name of a hierarchy: memory/jobs/* is jobs/*. A path that "
                "begins with /sys/fs/cgroup/ is taken as it is. One line says so if "
                "nothing matches at the start; what appears later is recorded. A group that is removed and made again "
                "is another job. A group is recorded from some milliseconds after it was made (inotify(7)), and all "
                "are searched for twice a second; those that were removed before they could be recorded are counted, "
                "and the count is a line on standard error. A job ends 100 ms after its last process, with the status "
                "of the last one to end of those that came into the group from elsewhere: a container's first "
                "process.")),
    PARSED("name-from", 0, "auto|path|off", observe.names, take_names,
           "where the names of containers, pods and units come from: the path of the group and the files of the engine "
           "(auto, the default), the path alone, or nowhere",
           MORE("Files are those in which podman, Docker, containerd and CRI-O keep the state of a container, and "
                "/var/log/containers of the kubelet; they are only read, and most of them only by root. No socket is "
                "opened. A container whose name is not known is called by the first 12 digits of its id. The names are "
                "the title of the job, container, image, pod, pod_namespace and unit of its header, and labels in the "
                "/metrics of baro serve.")),
    TEXT("tasks", 0, "DIR", observe.tasks,
         "each task file *.yaml or *.yml in DIR is a job with the tasks that it names", .completes = OPT_A_FILE,
         MORE("From when it appears until it is changed or removed; a file that was changed is another job. Each file "
              "that baro record --tasks takes is one: commands are read once for all jobs, by one process. A file with "
              "an error is read again when it has changed. Write it elsewhere and move it into DIR: then it is never "
              "read half written.")),
    TEXT("dir", 0, "DIR", observe.dir,
         "the folder of the tapes, which is made (default: jobs in that of the kept runs)", .completes = OPT_A_FILE,
         MORE("If it is removed or replaced while jobs are recorded, one line says so, it is made again, and each job "
              "begins a new tape in it. A link that has taken its place is not followed.")),
    PARSED("keep", 0, "TIME|SIZE", record, take_keep, "keep only the newest part of each tape, e.g. 1d or 64MB",
           MORE("At least TIME is kept, and at most a sixteenth more; never more than SIZE. Give it twice for both.")),
    PARSED("total", 0, "SIZE", observe.total_bytes, take_total,
           "keep all tapes together within SIZE, e.g. 2GB (default: no limit)",
           MORE("Checked every ten seconds. The oldest tapes of jobs that are over are removed first, and then the "
                "first segments of the largest tapes. Without --keep, no tape gets larger than a quarter of SIZE.")),
    PARSED("interval", 'i', "TIME", record.interval_ns, take_interval,
           "time between two samples of a job: auto (the default), or 10ms to 1h"),
    PARSED("du-every", 0, "TIME", record.directories_every_ns, take_every,
           "time between two walks of the sandboxes that task files name: 1s to 24h (default: 60s, and longer if walks "
           "take more CPU time than --overhead allows)"),
    PARSED("gpu", 0, "auto|off|LIST", record.gpu, take_gpu,
           "record GPUs, as for baro record: auto (the default), off, or numbers and UUIDs",
           MORE("One program beside the observer reads them for all jobs. Each tape has all devices, and of each what "
                "its job's processes use. What a job used after the last reading, at most a second before its end, is "
                "not on its tape.")),
    PARSED("metrics", 'm', "LIST", record.wanted, take_metrics,
           "record these metrics of processes, as for baro record (default: all)", .completes = OPT_A_METRIC),
    CLEARS("no-cmdline", 0, record.cmdline, "record no command lines"),
    CLEARS("no-host", 0, record.host, "make no tape of the machine"),
    PARSED("overhead", 0, "SHARE", record.overhead_ppm, take_overhead,
           "most CPU that all jobs together may cost, as a share of a core: 1% (the default), or off",
           MORE("While it does not allow all samples that are due, the job that has waited longest is sampled next. "
                "The tapes say how many samples were left out.")),
    END,
};
