/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "command/cli.h"
#include "command/options.h"

#define TAPE_SAYS                                                                                                      \
    "TAPE is a file, or @last (or @1), @2, ... of the runs kept under ${BARO_DIR:-${XDG_STATE_HOME:-~/.local/state}/"  \
    "barograph}."
#define ONE_TAPE_SAYS TAPE_SAYS " Left out, it is @last. A tape can be read while it is being written."

const struct cli_command cli_commands[] = {
    {"run", "[--] COMMAND [ARGUMENT...]", "record a command and all that it starts",
     "Runs COMMAND and records what it and all its descendants use, down to processes that live a millisecond or leave "
     "the "
     "tree. The command is not disturbed: it keeps the terminal, its descriptors, its environment (plus BARO_*), its "
     "limits "
     "and its signals, and baro ends as the command ended, by the same status or the same signal.\n\n"
     "At the end a short summary goes to standard error. The tape can be read while the command runs, and survives "
     "whatever "
     "ends the recorder.",
     options_run, cmd_run, CLI_RUN_FAILED, 1, -1, true, false, true, NULL},
    {"record", "--pid PID... | --cgroup PATH | --host",
     "record what runs already: processes, a control group or the machine",
     "Attaches to running processes and records them and their descendants, or all that is in a control group, until "
     "the last of them has ended, or until "
     "INT or TERM; with --host alone the machine and no process, until INT or TERM. Processes are never signalled or "
     "stopped. Totals count from the moment of "
     "attaching; what was used before is listed separately.",
     options_record, cmd_record, CLI_FAILED, 0, 0, false, false, true, NULL},
    {"mark", "NAME... [KEY=VALUE...]", "name a moment of the job, from inside a recording",
     "Puts a mark on the tape of the recording that it is called in: a name (words without '=' are one name) and "
     "attributes; a VALUE that is a number stays one. With --begin and --end it is the edge of a phase.\n\n"
     "It appends a line to the file that the environment variable BARO_EVENTS names, which every program can do by "
     "itself, in any language: a line of text is a mark of that name; JSON is {\"mark\": \"checkpoint\", \"loss\": "
     "0.12}, {\"begin\": \"load\"}, {\"end\": \"load\"} or {\"phase\": \"fit\", \"seconds\": 1.25} (one that has "
     "just ended), with whatever other members. \"time\" (seconds since 1970), \"monotonic\" (seconds) or "
     "\"monotonic_ns\" says when it was; \"id\" tells phases of one name apart. Append (>>), with the whole line in "
     "one write. Lines as RunLog writes them are taken, too. The file goes with the recording.\n\n"
     "Outside of a recording, or where the line can't be written, it prints a note, and the status is 0 all the same: "
     "a script that marks runs as well without a recording.",
     options_mark, cmd_mark, CLI_FAILED, 1, -1, false, false, false, NULL},
    {"phase", "NAME [KEY=VALUE...] -- COMMAND [ARGUMENT...]", "run a command as a phase of the job",
     "Runs COMMAND, and the tape of the recording that it is called in has a phase NAME from its start to its end, "
     "with its exit status as an attribute beside those that are given. Phases nest and overlap. baro phase ends as "
     "COMMAND ended, by the same status or the same signal, and passes signals and stops on to it, as baro run "
     "does.\n\nOutside of a recording it runs COMMAND all the same and prints a note.",
     options_phase, cmd_phase, CLI_RUN_FAILED, 2, -1, true, false, false, NULL},
    {"summary", "[TAPE]", "what it used, and what that was spent on", ONE_TAPE_SAYS, options_summary, cmd_summary,
     CLI_FAILED, 0, 1, false, false, false, NULL},
    {"show", "[TAPE]", "the tree of processes as it was at a moment",
     "Prints the tree of processes with what each one used, from the sample that stands for the moment, and says which "
     "sample that is. Rates are over the interval that ends there.\n\n" ONE_TAPE_SAYS,
     options_show, cmd_show, CLI_FAILED, 0, 1, false, false, false, NULL},
    {"top", "[TAPE]", "the job as it runs: live, or at any moment of a tape",
     "Shows what the job uses, against what it may use, with the course of it; the tree of processes with what each "
     "one and all below it use; what each command took so far, also of processes that have ended; phases and events. "
     "Keys sort, filter and fold, and move through the tape while it grows; ? lists them. Where standard output is no "
     "terminal it is printed once.\n\n" TAPE_SAYS " Left out, it is the newest one that is being written, else "
     "@last.",
     options_top, cmd_top, CLI_FAILED, 0, 1, false, false, true, "baro-top"},
    {"export", "[TAPE]", "rows for other programs: CSV or JSON lines",
     "Writes a row for each process at each sample, or for each sample of the job, each event or each exit; or, each "
     "time the machine was "
     "read, a row of it or one for each of its CPUs, disks, filesystems, network interfaces, sensors or control "
     "groups. Times are UTC. "
     "In CSV a cell without a value is empty; in JSON it is null, and \"absent\" says why. Text has control bytes, and "
     "bytes "
     "that are not UTF-8, as \\xNN and a backslash as two.\n\n"
     "Besides the metrics that baro metrics lists (by entity) there are these columns. Of processes and exits: time, "
     "t_ns (since "
     "the tape began), pid, start_ticks (with pid: who it is), ppid, uid, user, name, cmdline, origin; of processes "
     "age_ns and "
     "cores; of exits status, signal, source, sampled; of the job time, t_ns, lossy, lower_bounds (the sums below that "
     "lack the value of a process) and cores; of events time, t_ns, event, pid, "
     "start_ticks, number, text; of the host time, t_ns (when it was read) and cores (time in which something ran "
     "on it), of its parts time, "
     "t_ns, id, name, label, and cores of CPUs and control groups. user, age_ns, origin and id are written only where "
     "they are asked for.\n\n" ONE_TAPE_SAYS,
     options_export, cmd_export, CLI_FAILED, 0, 1, false, false, false, NULL},
    {"report", "[TAPE]", "a report to look at: an HTML page, Markdown, JSON or a folder with pictures",
     "Writes what the recording shows as one HTML file that needs nothing else: it can be mailed, and opens without a "
     "network. Or as Markdown, for pull requests and job summaries, as JSON, or as a folder with Markdown and "
     "pictures. The end of the output's name says which format is written.\n\n" ONE_TAPE_SAYS,
     options_report, cmd_report, CLI_FAILED, 0, 1, false, false, false, "baro-report"},
    {"plot", "[TAPE...] FIGURE|METRIC", "draw one figure or metric of one or several tapes",
     "Draws a figure (baro plot --list) or a metric (baro metrics) over the time of a recording: in the terminal, or "
     "with -o as SVG or PNG. A metric can be named with its kind, and with the process or entity that it is of: "
     "job.cores, rss@cc1, disk.busy_ratio@sda. Of a counter the growth per second is drawn. Several tapes stand in one "
     "plot, each from its start. The figure may also stand before the tapes.\n\n" ONE_TAPE_SAYS,
     options_plot, cmd_plot, CLI_FAILED, 0, -1, false, false, false, "baro-report"},
    {"ls", "", "the runs that are kept, newest last",
     "A line for each kept run: its name for other commands, when it began (local time), how long it took, how it "
     "ended (or \"running\", or \"cut off\": no recorder writes it any more, and it has no "
     "end), its size and its command. --json has the newest first.",
     options_ls, cmd_ls, CLI_FAILED, 0, 0, false, false, true, NULL},
    {"rm", "TAPE...", "remove tapes", "Removes tapes, and refuses whatever is not one.\n\n" TAPE_SAYS, options_rm,
     cmd_rm, CLI_FAILED, 0, -1, false, false, true, NULL},
    {"metrics", "[TAPE]", "what can be recorded, and what it means",
     "Lists the metrics of each kind. With TAPE those that it may hold, also of kinds that only the tape defines. "
     "After these come derived metrics, which libbaro computes from two samples; of them, baro export has a column "
     "for cores only.\n\n"
     TAPE_SAYS, options_metrics, cmd_metrics, CLI_FAILED, 0, 1,
     false, false, false, NULL},
    {"doctor", "", "what can be recorded here, and what permission or setting would enable the rest",
     "Tries each source of values and of events as this user, in this container and on this kernel, and says what is "
     "missing "
     "and what would enable it. With --metrics it says so of each metric of the machine and of control groups that "
     "baro metrics lists, from one reading as a recording takes it. "
     "The status is 0 even where something is missing.",
     options_doctor, cmd_doctor, CLI_FAILED, 0, 0, false, false, false, NULL},
    {"help", "[COMMAND]", "help on a command", NULL, options_none, cmd_help, CLI_FAILED, 0, 1, false, false, false,
     NULL},
    {"docs", "man [COMMAND] | bash | metrics | json",
     "sources of the manual pages, the completion, docs/metrics.md and the members in docs/json.md", NULL,
     options_none, cmd_docs, CLI_FAILED, 1, 2, false, true, false, NULL},
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
