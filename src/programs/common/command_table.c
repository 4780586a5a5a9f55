/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "programs/common/cli.h"
#include "programs/common/options.h"

const struct cli_command cli_commands[] = {
    {.name = "run",
     .operands = "[--] COMMAND [ARGUMENT...]",
     .summary = "record a command and all processes that it starts",
     .examples = "baro run -- make -j8\trecord a build; `baro summary` then shows what it used\n"
                 "baro run -q -o tests.baro -- pytest\trecord into the file tests.baro, and print no summary\n"
                 "baro run --top -- ./train.py >log 2>&1\twatch the job while it runs\n"
                 "baro run -n 10 -- ./bench\tten times: the median and the range of time, CPU and memory",
     .options = options_run,
     .function = cmd_run,
     .failed = CLI_RUN_FAILED,
     .operands_min = 1,
     .operands_max = -1,
     .stop_early = true,
     .kept = true},
    {.name = "record",
     .operands = "--pid PID... | --cgroup PATH | --match REGEX... | --host",
     .summary = "record what already runs: processes, a control group, tasks or the machine",
     .examples = "baro record --pid 1234\trecord process 1234 and its descendants until process 1234 has ended\n"
                 "baro record --pid 1234 --until all\tuntil its descendants have ended, too\n"
                 "baro record --cgroup system.slice/cron.service\trecord a service\n"
                 "baro record --task sort=^sort --exact gzip\trecord each sort and each gzip, as two tasks\n"
                 "baro record --cgroup user.slice --task cc=^cc1\trecord a control group, with a task\n"
                 "baro record --host --for 10min -o idle.baro\trecord the machine for ten minutes",
     .options = options_record,
     .function = cmd_record,
     .kept = true},
    {.name = "observe",
     .operands = "[--cgroup PATTERN...] [--tasks DIR]",
     .summary = "record many jobs of this machine at once, each onto a tape of its own",
     .examples = "baro observe --cgroup 'system.slice/*.service'\trecord each service\n"
                 "baro observe --cgroup 'jobs/*' --dir /var/lib/barograph --keep 1d\tkeep the last day of each job\n"
                 "baro observe --tasks /etc/barograph/tasks\trecord the job of each task file in a folder",
     .options = options_observe,
     .function = cmd_observe},
    {.name = "tasks",
     .operands = "FILE.yaml",
     .summary = "check a task file, and say what is in it",
     .examples = "baro tasks nightly.yaml\tis the file well-formed, and what does it say?",
     .options = options_tasks,
     .function = cmd_tasks,
     .operands_min = 1,
     .operands_max = 1,
     .program = "baro-tasks"},
    {.name = "mark",
     .operands = "NAME... [KEY=VALUE...]",
     .summary = "name a moment of the job, from inside a recording",
     .examples = "baro mark checkpoint epoch=3 loss=0.12\ta mark with two attributes\n"
                 "baro mark --begin load; ./load.sh; baro mark --end load\ta phase\n"
                 "echo checkpoint >> \"$BARO_EVENTS\"\ta mark, without baro",
     .options = options_mark,
     .function = cmd_mark,
     .operands_min = 1,
     .operands_max = -1},
    {.name = "phase",
     .operands = "NAME [KEY=VALUE...] -- COMMAND [ARGUMENT...]",
     .summary = "run a command as a phase of the job",
     .examples = "baro phase load file=a.csv -- ./load.sh a.csv\tinside of a job; `baro summary --by phase` then "
                 "shows what the phase used",
     .options = options_phase,
     .function = cmd_phase,
     .failed = CLI_RUN_FAILED,
     .operands_min = 2,
     .operands_max = -1,
     .stop_early = true},
    {.name = "summary",
     .operands = "[TAPE|DIR...]",
     .summary = "what the job used, and which commands used it",
     .examples = "baro summary\tthe last run\n"
                 "baro summary --json @2\tthe run before it, for programs\n"
                 "baro summary --by task --task cc=^cc1 --task ld=^ld\twhat compilers and linkers used",
     .options = options_summary,
     .function = cmd_summary,
     .operands_max = -1},
    {.name = "show",
     .operands = "[TAPE]",
     .summary = "the tree of processes at one moment",
     .examples = "baro show --at peak\twhen the job used most memory\n"
                 "baro show --follow\tnow, again and again",
     .options = options_show,
     .function = cmd_show,
     .operands_max = 1},
    {.name = "top",
     .operands = "[TAPE|DIR]",
     .summary = "the job on the whole terminal: live, or at any moment of a tape",
     .examples = "baro top\tthe job that runs now\n"
                 "baro top --at peak @last\tthe last run, when it used most memory\n"
                 "baro top run/4711\tthe ranks of a job, those that are behind first",
     .options = options_top,
     .function = cmd_top,
     .operands_max = -1, /* cmd_top() says what shows several */
     .kept = true,
     .program = "baro-top"},
    {.name = "export",
     .operands = "[TAPE|DIR...]",
     .summary = "rows for other programs: CSV or JSON lines",
     .examples = "baro export -c time,pid,name,cpu,rss >rows.csv\tfive columns of each process over time\n"
                 "baro export -e disk -c time,name,busy_ratio\thow busy each disk was\n"
                 "baro export -e exit -F jsonl tests.baro\teach process that ended, as JSON lines\n"
                 "baro export -F trace -o trace.json\tthe whole tape for ui.perfetto.dev\n"
                 "baro export --fleet fleet/ --since 1d\tthe day's jobs, for SQL over many machines",
     .options = options_export,
     .function = cmd_export,
     .operands_max = -1},
    {.name = "report",
     .operands = "[TAPE|DIR...]",
     .summary = "a report to look at: an HTML page, Markdown, JSON or a folder with pictures",
     .examples = "baro report -o build.html\tthe last run as a page\n"
                 "baro report -o build/ tests.baro\ta folder with Markdown and pictures\n"
                 "baro report -o parts.md log/*/job.baro\tone report of several tapes",
     .options = options_report,
     .function = cmd_report,
     .operands_max = -1,
     .program = "baro-report"},
    {.name = "diff",
     .operands = "[BEFORE [AFTER]]",
     .summary = "what changed between two runs, or two groups of runs",
     .examples =
         "baro diff\tthe run before the last, and the last\n"
         "baro diff old.baro new.baro\ttwo tapes\n"
         "baro diff @2 @1 -o diff.html\ta page with the curves of both over each other\n"
         "baro diff --before 'main-*.baro' --after 'pr-*.baro'\ttwo groups: with four and more runs on each side "
         "small changes are told from noise",
     .options = options_diff,
     .function = cmd_diff,
     .operands_max = 2,
     .program = "baro-report"},
    {.name = "compare",
     .operands = "COMMAND...",
     .summary = "run commands several times in turn, and say how they differ",
     .examples = "baro compare 'gzip -6 <big' 'zstd -3 <big'\teach ten times, forth and back\n"
                 "baro compare -n 5 -L 'level 1,6,9' 'gzip -{level} <big >/dev/null'\tone command with three values\n"
                 "baro compare -n 20 --prepare 'make clean' make\tone command twenty times\n"
                 "baro compare -x ./bench --size 100\tone command, run without a shell",
     .options = options_compare,
     .function = cmd_compare,
     .operands_min = 1,
     .operands_max = -1,
     .program = "baro-report"},
    {.name = "check",
     .operands = "[TAPE|DIR...]",
     .summary = "say whether runs have kept limits, such as those of a budget file",
     .examples = "baro check --max 'rss_peak<2GB' --max 'command:cc1 rss_peak<400MB'\tthe last run, two limits\n"
                 "baro check --budget ci.budget tapes/\tall tapes of a folder together, the limits of a file\n"
                 "baro check --budget ci.budget --update --why 'new parser' tapes/\tset what base stands for\n"
                 "baro run --check ci.budget -- make\trecord and check: one step of a pipeline",
     .options = options_check,
     .function = cmd_check,
     .operands_max = -1,
     .program = "baro-report"},
    {.name = "plot",
     .operands = "[TAPE...] [FIGURE|METRIC]",
     .summary = "draw CPU and memory, or any figure or metric, of one or several tapes",
     .examples = "baro plot\tCPU and memory of the last run, in the terminal\n"
                 "baro plot @1 @2 memory\tthe memory of the last two runs\n"
                 "baro plot -o cores.png @1 @2 job.cores\tthe last two runs in one picture",
     .options = options_plot,
     .function = cmd_plot,
     .operands_max = -1,
     .program = "baro-report"},
    {.name = "serve",
     .operands = "[DIR]",
     .summary = "show recordings over HTTP: a web page, JSON, live events and metrics for Prometheus",
     .examples = "baro serve\tthe kept runs, at http://127.0.0.1:2276/\n"
                 "baro serve --listen unix:/run/user/1000/baro.sock /data/tapes\ta folder of tapes, on a socket\n"
                 "baro serve --listen '*:2276' --token-file ~/.baro-token --allow-host build7\tfor other machines\n"
                 "baro serve --cgroup 'system.slice/*.service' --keep 1d /data/tapes\trecord services, and serve that",
     .options = options_serve,
     .function = cmd_serve,
     .operands_max = 1,
     .kept = true,
     .program = "baro-serve"},
    {.name = "push",
     .operands = "[TAPE|DIR...]",
     .summary = "send what is on tapes to Prometheus, VictoriaMetrics or OpenTelemetry",
     .examples = "baro push --to prometheus+http://127.0.0.1:9090\tthe last run, by remote write\n"
                 "baro push --all -f --to otlp+http://127.0.0.1:4318\tall kept runs, and new ones while they run\n"
                 "baro push --status\thow far each tape was sent, and what was refused",
     .options = options_push,
     .function = cmd_push,
     .operands_max = -1,
     .kept = true,
     .program = "baro-push"},
    {.name = "ls",
     .operands = "[TAPE|DIR...]",
     .summary = "list the kept runs, newest last, or the tapes of a folder",
     .examples = "baro ls -n 5\tthe newest five\n"
                 "baro ls tapes/\tthe tapes of a folder\n"
                 "baro ls --failed --since 7d\twhat failed in the last week\n"
                 "baro ls --command make --sort cpu -c name,start,cpu,memory,commit\tbuilds by their CPU time",
     .options = options_ls,
     .function = cmd_ls,
     .operands_max = -1,
     .kept = true,
     .program = "baro-log"},
    {.name = "trend",
     .operands = "[FACT] [REGEX|TAPE|DIR...]",
     .summary = "how a fact changed over all runs of a command",
     .examples = "baro trend\twall time of the command that ran last\n"
                 "baro trend memory '^make'\tmemory of all runs whose command fits\n"
                 "baro trend 'phase:link cpu' '^make'\tCPU time of a phase of these runs\n"
                 "baro trend cpu nightly/ -o cpu.html\tCPU time of the tapes of a folder, as a page",
     .options = options_trend,
     .function = cmd_trend,
     .operands_max = -1,
     .kept = true,
     .program = "baro-log"},
    {.name = "advise",
     .operands = "[TAPE|DIR...]",
     .summary = "what to ask Slurm, Kubernetes, ... for next time",
     .examples = "baro advise\tafter all runs of the command that ran last\n"
                 "baro advise --command train.py --last 30\tafter the last 30 runs of a command\n"
                 "baro advise --for slurm nightly/\tlines for a batch script",
     .options = options_advise,
     .function = cmd_advise,
     .operands_max = -1,
     .kept = true,
     .program = "baro-log"},
    {.name = "rm",
     .operands = "TAPE...",
     .summary = "remove tapes",
     .examples = "baro rm @last\tthe last run\n"
                 "baro rm --all --yes\tall kept runs",
     .options = options_rm,
     .function = cmd_rm,
     .operands_max = -1,
     .kept = true},
    {.name = "trim",
     .operands = "[TAPE] -o FILE",
     .summary = "copy a stretch of a tape",
     .examples = "baro trim run.baro --from 10s --to 60s -o part.baro\t50 seconds of a tape\n"
                 "baro trim --phase train -o train.baro\ta phase of the last run",
     .options = options_trim,
     .function = cmd_trim,
     .operands_max = 1,
     .program = "baro-tape"},
    {.name = "thin",
     .operands = "TAPE",
     .summary = "keep a tenth of the samples of what is old",
     .examples = "baro thin /var/lib/barograph/machine --after 7d\tof a tape in segments (--keep)",
     .options = options_thin,
     .function = cmd_thin,
     .operands_min = 1,
     .operands_max = 1,
     .program = "baro-tape"},
    {.name = "anonymize",
     .operands = "[TAPE] -o FILE",
     .summary = "copy a tape without names: to show it to others",
     .examples = "baro anonymize run.baro -o for-you.baro\ta tape to attach to a bug report",
     .options = options_anonymize,
     .function = cmd_anonymize,
     .operands_max = 1,
     .program = "baro-tape"},
    {.name = "metrics",
     .operands = "[TAPE]",
     .summary = "what can be recorded, and what it means",
     .examples = "baro metrics | grep memory\tall metrics of memory",
     .options = options_metrics,
     .function = cmd_metrics,
     .operands_max = 1},
    {.name = "doctor",
     .operands = "",
     .summary = "what can be recorded here, and what permission or setting would enable the rest",
     .examples = "baro doctor\twhat works here\n"
                 "baro doctor --metrics | grep ' no '\tthe metrics that are absent here",
     .options = options_doctor,
     .function = cmd_doctor},
    {.name = "help",
     .operands = "[COMMAND]",
     .summary = "help on a command",
     .options = options_none,
     .function = cmd_help,
     .operands_max = 1},
    {.name = "docs",
     .operands = "",
     .summary = "the tables that documents are made of",
     .options = options_none,
     .function = cmd_docs,
     .hidden = true},
    {.name = "follow",
     .operands = "COMMAND [ARGUMENT...]",
     .summary = "run the Python package's follower of MLflow, so that it is no process of a job",
     .options = options_none,
     .function = cmd_follow,
     .operands_min = 1,
     .operands_max = -1,
     .stop_early = true,
     .hidden = true},
    {.name = NULL},
};

const struct cli_command *cli_find(const char *name)
{
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        if (strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}
