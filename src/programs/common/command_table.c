/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "programs/common/cli.h"
#include "programs/common/options.h"

#define TAPE_SAYS                                                                                                      \
    "TAPE is a file, or one of the kept runs: @last (or @1) is the newest, @2 the one before it, and so on. Runs are " \
    "kept in $BARO_DIR (default: $XDG_STATE_HOME/barograph, or ~/.local/state/barograph)."
#define ONE_TAPE_SAYS TAPE_SAYS " Without TAPE it is @last. A tape can be read while it is being written."

#define TASK_FILE_SAYS                                                                                                 \
    "A task file is YAML. tasks: has a key for each task, its name, and below what the task is made of. name: is "     \
    "the job's. Each key but the last three takes one value or a list.\n\n"                                            \
    "- pid: processes by number, with their descendants\n"                                                             \
    "- pidfile: files with the number of a process. A file that appears or changes later is followed. A process that " \
    "started after its file was written is another one, and is not recorded\n"                                         \
    "- cgroup: the processes of control groups and of those below. What the task used is the kernel's count\n"         \
    "- match, exact: processes whose command fits, as of record --match and --exact\n"                                 \
    "- sandbox: directories whose size belongs to the task\n"                                                          \
    "- match-on: what match is matched with: cmdline (the default), exe or comm\n"                                     \
    "- children: true if what a process that fits starts belongs to the task, too\n"                                   \
    "- user: only processes of this user fit\n\n"                                                                      \
    "A process belongs to one task: to that of its control group; else to the first task in the file that it fits or " \
    "that it was named for. If two processes above it are named, the nearer one counts. Relative paths are from the "  \
    "folder of the file."

const struct cli_command cli_commands[] = {
    {.name = "run",
     .operands = "[--] COMMAND [ARGUMENT...]",
     .summary = "record a command and all processes that it starts",
     .about =
         "Runs COMMAND and records what it and all its descendants use, including processes that live for only a "
         "millisecond and processes that detach from their parent. The process connector or perf reports them; where "
         "both are refused (baro doctor), they are found by the last pid of the kernel and inotify: some short ones "
         "are "
         "missed, which is marked.\n\n"
         "The command is not disturbed: it keeps the terminal, its descriptors, its limits and its signals. Only "
         "BARO_PID, BARO_TAPE and BARO_EVENTS are added to its environment. baro ends as the command ended: with the "
         "same status, or by the same signal.\n\n"
         "At the end a short summary is printed on standard error. The tape can be read while the command runs. If "
         "the recorder is killed, the command goes on, and the tape is readable up to its last write.",
     .examples = "baro run -- make -j8\trecord a build; `baro summary` then shows what it used\n"
                 "baro run -q -o tests.baro -- pytest\trecord into the file tests.baro, and print no summary\n"
                 "baro run --top -- ./train.py >log 2>&1\twatch the job while it runs",
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
     .about = "Attaches to running processes and records them and their descendants (--pid), or all processes of a "
              "control group (--cgroup), or each process of the machine whose command matches, also those that start "
              "later (--match, --task, --exact), or the machine without any process (--host alone). With --pid or "
              "--cgroup all processes are recorded, and --match, --task and --exact say which of them readers show "
              "as tasks.\n\n"
              "The recording ends when the last process of --pid has ended, even if processes that it started go on "
              "(--until all waits for these, too), when the control group is empty, after the time of --for, or when "
              "baro receives SIGINT or SIGTERM. The processes are never signalled or stopped.\n\n"
              "Totals count from the moment of attaching. What was used before is listed separately.",
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
     .about = "Records each control group that matches a pattern and has processes, as one job, from when it is found "
              "until it is empty or removed, and the tasks of each task file in a folder (baro tasks), from when the "
              "file appears until it is changed or removed. All jobs share one recorder, one source of events and "
              "one budget. The machine has a tape of its own.\n\n"
              "It runs until it receives SIGINT or SIGTERM. The processes are never signalled or stopped. The tapes "
              "are folders of segments, which all commands read, also while they are written. When it is started "
              "again, also after it was killed, it goes on with the tapes of control groups that live and of task "
              "files that have not changed. A folder has one observer at a time.",
     .examples = "baro observe --cgroup 'system.slice/*.service'\trecord each service\n"
                 "baro observe --cgroup 'jobs/*' --dir /var/lib/barograph --keep 1d\tkeep the last day of each job\n"
                 "baro observe --tasks /etc/barograph/tasks\trecord the job of each task file in a folder",
     .options = options_observe,
     .function = cmd_observe},
    {.name = "tasks",
     .operands = "FILE.yaml",
     .summary = "check a task file, and say what is in it",
     .about = "Reads a task file of baro record --tasks, checks it, and prints each task and its parts. For an error "
              "it prints one line, with the line and the column in the file.\n\n" TASK_FILE_SAYS,
     .examples = "baro tasks nightly.yaml\tis the file well-formed, and what does it say?",
     .options = options_tasks,
     .function = cmd_tasks,
     .operands_min = 1,
     .operands_max = 1,
     .program = "baro-tasks"},
    {.name = "mark",
     .operands = "NAME... [KEY=VALUE...]",
     .summary = "name a moment of the job, from inside a recording",
     .about =
         "Puts a mark on the tape of the recording in which it is called. A mark has a name and attributes. All words "
         "without '=' together are the name. KEY=VALUE is an attribute; a VALUE that is a number is stored as a "
         "number. With --begin or --end it is the beginning or the end of a phase.\n\n"
         "A program in any language can do the same without baro: it appends a line to the file that the environment "
         "variable BARO_EVENTS names. The file has to be opened for appending (>> in a shell), and the line written "
         "by one write. The file is removed when the recording ends. If a program truncates it, lines that were not "
         "read by then are lost, and the summary says that the file was truncated.\n\n"
         "A line of text is a mark with that name. A line of JSON is one of these:\n\n"
         "- a mark: {\"mark\": \"checkpoint\", \"loss\": 0.12}\n"
         "- the beginning or end of a phase: {\"begin\": \"load\"}, {\"end\": \"load\"}\n"
         "- a phase that has just ended: {\"phase\": \"fit\", \"seconds\": 1.25}\n\n"
         "Other members are attributes, except for these: \"time\" (seconds since 1970), \"monotonic\" (seconds) or "
         "\"monotonic_ns\" is the time of the mark, and \"id\" distinguishes phases of the same name. Attributes "
         "may be of any type, also objects and arrays (16 levels at most). A number of 512 or more characters is "
         "kept as JSON, and is no time. Lines in the format of RunLog are accepted, too. What can't "
         "be kept is left out, and the tape says so.\n\n"
         "It writes only to a file that a recorder reads: that of baro run, or that of baro record --events FILE.\n\n"
         "Outside of a recording, or if the line can't be written, it prints a note and ends with status 0, so that a "
         "script with marks also works without a recording.",
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
     .about = "Runs COMMAND as a phase of the recording in which it is called. The phase NAME begins and ends with the "
              "command. Its attributes are those that are given, and the exit status. Phases can nest and overlap.\n\n"
              "baro phase ends as COMMAND ended: with the same status, or by the same signal. It forwards signals and "
              "stops with the command, as baro run does.\n\n"
              "Outside of a recording it prints a note and runs COMMAND.",
     .examples = "baro phase load file=a.csv -- ./load.sh a.csv\tinside of a job; `baro summary --by phase` then "
                 "shows what the phase used",
     .options = options_phase,
     .function = cmd_phase,
     .failed = CLI_RUN_FAILED,
     .operands_min = 2,
     .operands_max = -1,
     .stop_early = true},
    {.name = "summary",
     .operands = "[TAPE]",
     .summary = "what the job used, and which commands used it",
     .about = "Prints what the job used in total, the limits that applied, what held it up, and which commands and "
              "processes used most.\n\n" ONE_TAPE_SAYS,
     .examples = "baro summary\tthe last run\n"
                 "baro summary --json @2\tthe run before it, for programs\n"
                 "baro summary --by task --task cc=^cc1 --task ld=^ld\twhat compilers and linkers used",
     .options = options_summary,
     .function = cmd_summary,
     .operands_max = 1},
    {.name = "show",
     .operands = "[TAPE]",
     .summary = "the tree of processes at one moment",
     .about =
         "Prints one moment as baro top shows it: the job's figures with their curves, the tree of processes and what "
         "each of them used, tasks and GPUs; and the machine, the phases that were open, and what else the tape has. "
         "The "
         "values are those of one sample, and its time is printed. Rates are over the interval that ends with this "
         "sample.\n\n"
         "A terminal has the columns that there is room for. In a file or a pipe the table has all columns, and "
         "commands "
         "in full.\n\n" ONE_TAPE_SAYS,
     .examples = "baro show --at peak\twhen the job used most memory\n"
                 "baro show --follow\tnow, again and again",
     .options = options_show,
     .function = cmd_show,
     .operands_max = 1},
    {.name = "top",
     .operands = "[TAPE]",
     .summary = "the job on the whole terminal: live, or at any moment of a tape",
     .about = "Shows what the job uses and its limits, curves over time, the tree of processes, what each command has "
              "used so far (including those that have ended), phases and events.\n\n"
              "Keys sort, filter and fold the tree, and move through time; ? lists them. If standard output is not a "
              "terminal, the view is printed once.\n\n" TAPE_SAYS
              " Without TAPE it is the newest one that is being written, else @last.",
     .examples = "baro top\tthe job that runs now\n"
                 "baro top --at peak @last\tthe last run, when it used most memory",
     .options = options_top,
     .function = cmd_top,
     .operands_max = 1,
     .kept = true,
     .program = "baro-top"},
    {.name = "export",
     .operands = "[TAPE]",
     .summary = "rows for other programs: CSV or JSON lines",
     .about =
         "Writes one row for each process at each sample. With --entity a row is a sample of the job, an event, an "
         "exit, or a reading of the machine or of one of its CPUs, disks, filesystems, network interfaces, sensors or "
         "control groups.\n\n"
         "Times are UTC. A value that is absent is an empty cell in CSV. In JSON it is null, and \"absent\" has the "
         "reason. In text, control bytes and bytes that are not UTF-8 are written as \\xNN, and a backslash as two.\n\n"
         "The columns are the metrics of the entity, which baro metrics lists, and these:\n\n"
         "- process: time, t_ns (time since the tape began), pid, start_ticks (with pid it identifies the process), "
         "ppid, uid, user, name, cmdline, origin, age_ns, cores\n"
         "- exit: time, t_ns, pid, start_ticks, ppid, uid, user, name, cmdline, origin, status, signal, source, "
         "sampled\n"
         "- job: time, t_ns, lossy, lower_bounds (sums that lack the value of some process), cores\n"
         "- event: time, t_ns, event, pid, start_ticks, number, text\n"
         "- host: time, t_ns (when it was read), cores (time in which something ran on it)\n"
         "- cpu, disk, fs, net, sensor, cgroup: time, t_ns, id, name, label; cpu and cgroup also have cores\n\n"
         "user, age_ns, origin and id are written only if --columns names them. The same holds for derived metrics, "
         "such as io_read_bytes_per_second of processes and busy_ratio of disks. They are computed from the row and "
         "the previous row of the same process, disk, ..., so the first row has none. cores is at most the number of "
         "CPUs.\n\n" ONE_TAPE_SAYS,
     .examples = "baro export -c time,pid,name,cpu,rss >rows.csv\tfive columns of each process over time\n"
                 "baro export -e disk -c time,name,busy_ratio\thow busy each disk was\n"
                 "baro export -e exit -F jsonl tests.baro\teach process that ended, as JSON lines\n"
                 "baro export -F trace -o trace.json\tthe whole tape for ui.perfetto.dev",
     .options = options_export,
     .function = cmd_export,
     .operands_max = 1},
    {.name = "report",
     .operands = "[TAPE|DIR...]",
     .summary = "a report to look at: an HTML page, Markdown, JSON or a folder with pictures",
     .about = "Writes a report of the recording. By default it is one HTML file that needs no other file and no "
              "network, so it can be mailed. It can also be Markdown (for pull requests and job summaries), JSON, or "
              "a folder with Markdown and pictures. The name of the output determines the format.\n\n"
              "Several tapes, or all tapes in the folder DIR, are one report as Markdown or JSON, or a folder: a table "
              "with a row for each tape, the CPU time and the processes of all together, then the report of each. What "
              "a recording within another recording used is in both, and so counts twice. A tape that can't be read is "
              "named there with the reason; then the exit status is 2.\n\n" ONE_TAPE_SAYS,
     .examples = "baro report -o build.html\tthe last run as a page\n"
                 "baro report -o build/ tests.baro\ta folder with Markdown and pictures\n"
                 "baro report -o parts.md log/*/job.baro\tone report of several tapes",
     .options = options_report,
     .function = cmd_report,
     .operands_max = -1,
     .program = "baro-report"},
    {.name = "plot",
     .operands = "[TAPE...] [FIGURE|METRIC]",
     .summary = "draw CPU and memory, or any figure or metric, of one or several tapes",
     .about = "Draws a figure (baro plot --list) or a metric (baro metrics) over time, in the terminal or, with -o, "
              "as SVG or PNG. Without one it draws CPU and memory in the terminal.\n\n"
              "A metric can be named with its kind in front, and with a process or entity behind it: job.cores, "
              "rss@cc1, disk.busy_ratio@sda. For a counter the growth per second is drawn. mark.NAME is a number "
              "that the job gives with marks (`baro mark epoch loss=0.31`: mark.loss).\n\n"
              "Several tapes are drawn in one plot, each from its own start; without colours each has a letter. The "
              "figure can also stand before the tapes.\n\n" ONE_TAPE_SAYS,
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
     .about = "Serves the kept runs, or the tapes in the folder DIR, those that are being recorded included; "
              "without DIR, or with --announced, --cgroup or --tasks, also the runs of this machine whose tapes are "
              "elsewhere. It only reads tapes, so whatever its clients do cannot cost a recorder a sample. With "
              "--cgroup and --tasks it starts baro observe, which records onto tapes in DIR while the server runs.\n\n"
              "- /: a page of the jobs that run and ran, each with its report\n"
              "- /api/v1/: JSON; /api/v1/openapi.json describes it (docs/serve.md)\n"
              "- /api/v1/jobs/ID/live: samples and events as they are recorded (Server-Sent Events)\n"
              "- /metrics: jobs, tasks and the machine for Prometheus, as OpenMetrics or text\n"
              "- /healthz: whether it works\n\n"
              "It ends by SIGINT or SIGTERM. As a service of systemd it is started by systemctl enable --now "
              "baro-serve (docs/serve.md).",
     .examples = "baro serve\tthe kept runs, at http://127.0.0.1:2276/\n"
                 "baro serve --listen unix:/run/user/1000/baro.sock /data/tapes\ta folder of tapes, on a socket\n"
                 "baro serve --listen '*:2276' --token-file ~/.baro-token --allow-host build7\tfor other machines\n"
                 "baro serve --cgroup 'system.slice/*.service' --keep 1d /data/tapes\trecord services, and serve that",
     .options = options_serve,
     .function = cmd_serve,
     .operands_max = 1,
     .kept = true,
     .program = "baro-serve"},
    {.name = "ls",
     .operands = "",
     .summary = "list the kept runs, newest last",
     .about = "Prints a line for each kept run: its name for other commands, when it began (local time), how long it "
              "took, how it ended, its size and its command. \"running\" means that it is still being recorded; \"cut "
              "off\" means that no recorder writes it any more and it has no end. --json lists the newest first.",
     .examples = "baro ls -n 5\tthe newest five",
     .options = options_ls,
     .function = cmd_ls,
     .kept = true},
    {.name = "rm",
     .operands = "TAPE...",
     .summary = "remove tapes",
     .about = "Removes tapes. A file that is not a tape is not removed.\n\n" TAPE_SAYS,
     .examples = "baro rm @last\tthe last run\n"
                 "baro rm --all --yes\tall kept runs",
     .options = options_rm,
     .function = cmd_rm,
     .operands_max = -1,
     .kept = true},
    {.name = "trim",
     .operands = "[TAPE] -o FILE",
     .summary = "copy a stretch of a tape",
     .about = "Writes a tape with the samples, exits and events of a stretch of TAPE: from one time to another, of a "
              "phase, or of so many samples. Both edges are included. Times, ids and totals stay those of the whole "
              "recording. If the beginning is left out, the new tape says so, as one recorded with --keep does: what "
              "ended before is in the job's totals and has no record of its own. What it has from before are the "
              "limits, the beginnings of phases that reach into it, and when the clock was set or the machine "
              "slept.\n\n" ONE_TAPE_SAYS,
     .examples = "baro trim run.baro --from 10s --to 60s -o part.baro\t50 seconds of a tape\n"
                 "baro trim --phase train -o train.baro\ta phase of the last run",
     .options = options_trim,
     .function = cmd_trim,
     .operands_max = 1,
     .program = "baro-tape"},
    {.name = "anonymize",
     .operands = "[TAPE] -o FILE",
     .summary = "copy a tape without names: to show it to others",
     .about =
         "Writes a tape with the same values, in which no text of TAPE is left: names of processes, command lines, "
         "hosts, paths, users, control groups, mounts, tasks, phases, marks, labels, warnings, and kinds "
         "and columns that only TAPE has. Each word becomes another one, the same wherever it stands: two processes of "
         "one name "
         "still have one name, and a path has as many parts. User ids other than 0 become other numbers. The key is "
         "random and is kept nowhere, unless --key gives one.\n\n"
         "These stay: values, times of day, pids, numbers that marks have, the version of the kernel, the model of "
         "the CPU, names of hardware such as cpu0, sda1 or eth0, and names of event sources.\n\n" ONE_TAPE_SAYS,
     .examples = "baro anonymize run.baro -o for-you.baro\ta tape to attach to a bug report",
     .options = options_anonymize,
     .function = cmd_anonymize,
     .operands_max = 1,
     .program = "baro-tape"},
    {.name = "metrics",
     .operands = "[TAPE]",
     .summary = "what can be recorded, and what it means",
     .about = "Lists the metrics of each kind: name, unit and meaning. With TAPE it lists those that this tape can "
              "hold, including kinds that only this tape defines.\n\n"
              "Derived metrics follow. They are not recorded: libbaro computes them from two samples. baro export "
              "has only cores of them as a column.\n\n" TAPE_SAYS,
     .examples = "baro metrics | grep memory\tall metrics of memory",
     .options = options_metrics,
     .function = cmd_metrics,
     .operands_max = 1},
    {.name = "doctor",
     .operands = "",
     .summary = "what can be recorded here, and what permission or setting would enable the rest",
     .about = "Takes samples of itself, of a process of another user, of the machine and of control groups, as this "
              "user, in this container and on this kernel, and tries each source of events. It says what is missing, "
              "why, and what would enable it.\n\n"
              "With --metrics it does so for each metric.\n\n"
              "The status is 0 even if something is missing.",
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
     .operands = "man [COMMAND] | bash | metrics | json",
     .summary = "sources of the manual pages, the completion, docs/metrics.md and the members in docs/json.md",
     .options = options_none,
     .function = cmd_docs,
     .operands_min = 1,
     .operands_max = 2,
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
