/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the commands that read tapes. */
#include <string.h>

#include "base/span.h"
#include "command/options.h"
#include "command/settings.h"
#include "encode/dialect.h"

/* "all" or so many; 0 stands for what fits. */
static int take_count(void *at, const char *text, struct baro_error *err)
{
    struct span s = span_str(text);
    uint64_t v = UINT32_MAX;
    if (strcmp(text, "all") != 0 && (!scan_u64(&s, &v) || s.len || v == 0 || v > UINT32_MAX))
        return error_set(err, BARO_E_SYNTAX, "invalid number of lines '%s': write 10, or all", text);
    *(uint32_t *)at = (uint32_t)v;
    return 0;
}

void settings_init_reading(struct settings *s)
{
    *s = (struct settings){.dialect = -1, .report_format = -1, .by = BY_NOTHING};
}

static const char *const formats[] = {"csv", "jsonl", "trace", "runlog", NULL};
static const char *const bys[] = {"phase", NULL};
static const char *const kinds[] = {"process", "job", "event", "exit",   "host",   "cpu",
                                       "disk",    "fs",  "net",   "sensor", "cgroup", NULL};
static const char *const picks[] = {"before", "nearest", "after", NULL};

const struct opt options_summary[] = {
    {.name = "by",
     .argument = "WHAT",
     .type = OPT_CHOICE,
     .offset = AT(by),
     .choices = bys,
     .help = "phase: what was used in each phase of the job (baro help phase)"},
    JSON_OPTION,
    HELP,
    END,
};

const struct opt options_show[] = {
    {.name = "at",
     .letter = 'a',
     .argument = "TIME",
     .type = OPT_TEXT,
     .offset = AT(at),
     .help = "the moment: +90s, -10s (before the end), 50%, start, end, peak (of memory), 12:30:05 or ISO 8601 "
             "(default: as it ended)",
     .more = "Times without a zone are local. A moment is taken as it is printed: +4.831s of the summary's peak finds "
             "that sample."},
    {.name = "pick",
     .argument = "WHICH",
     .type = OPT_CHOICE,
     .offset = AT(pick),
     .choices = picks,
     .help = "where no sample is at TIME: the one before (the default), nearest or after"},
    {.name = "follow",
     .letter = 'f',
     .type = OPT_TRUE,
     .offset = AT(follow),
     .help = "print the newest moment again and again until the recording ends"},
    {.name = "top",
     .letter = 'n',
     .argument = "N",
     .type = OPT_PARSED,
     .offset = AT(count),
     .parse = take_count,
     .help = "the N processes that take most CPU, or all (default: all; with --follow what fits the terminal)"},
    JSON_OPTION,
    HELP,
    END,
};

const struct opt options_top[] = {
    {.name = "once", .type = OPT_TRUE, .offset = AT(once), .help = "print what is to be seen now, and end",
     .more = "So it does without being asked where standard output is no terminal."},
    {.name = "at",
     .letter = 'a',
     .argument = "TIME",
     .type = OPT_TEXT,
     .offset = AT(at),
     .help = "begin at this moment: +90s, -10s (before the end), 50%, start, end, peak (of memory), 12:30:05 or "
             "ISO 8601"},
    {.name = "lines",
     .letter = 'n',
     .argument = "N",
     .type = OPT_PARSED,
     .offset = AT(count),
     .parse = take_count,
     .help = "print so many processes, or all (default: 25)"},
    HELP,
    END,
};

const struct opt options_export[] = {
    {.name = "format",
     .letter = 'F',
     .argument = "FORMAT",
     .type = OPT_CHOICE,
     .offset = AT(format),
     .choices = formats,
     .help = "csv (the default), jsonl, or trace: the whole tape for Perfetto (ui.perfetto.dev) and chrome://tracing",
     .more = "A trace has each process as a bar from its start to its end, values of the job and of the machine as "
             "counters, and events. It is JSON of the Trace Event Format; docs/trace.md describes it."},
    {.name = "safe",
     .type = OPT_TRUE,
     .offset = AT(safe),
     .help = "CSV for spreadsheets: no name or command line is a formula",
     .more = "Text that begins with =, +, -, @, a tab or a carriage return gets an apostrophe in front, and so does "
             "text that begins with an "
             "apostrophe: remove one apostrophe to get the original text. Numbers are left alone."},
    {.name = "entity",
     .letter = 'e',
     .argument = "WHAT",
     .type = OPT_TEXT,
     .offset = AT(entity),
     .choices = kinds,
     .help = "a row for each process and sample (the default), or for each job sample, event or exit; host, cpu, disk, "
             "fs, net, sensor and "
             "cgroup are the machine, each time it was read"},
    {.name = "dialect",
     .letter = 'd',
     .argument = "NAME",
     .type = OPT_CHOICE,
     .offset = AT(dialect),
     .choices = dialect_names,
     .help = "CSV as another program writes it: spare-cores (of process or host), spare-cores-mended or pytyche-cpu",
     .more = "spare-cores has the columns, units and quoting of the PidTracker and the SystemTracker of "
             "resource-tracker, and counts as they do; "
             "spare-cores-mended has the same columns with what is known to be wrong in them corrected, and nothing "
             "where the tape has no value; "
             "pytyche-cpu has timestamp,usr_pct,idle_pct. docs/dialects.md describes each column."},
    {.name = "columns",
     .letter = 'c',
     .argument = "LIST",
     .type = OPT_TEXT,
     .offset = AT(columns),
     .completes = OPT_A_METRIC,
     .help = "these columns, in this order, e.g. time,pid,name,rss (default: all)"},
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .type = OPT_TEXT,
     .offset = AT(output),
     .completes = OPT_A_FILE,
     .help = "write to FILE, which must not exist (default, and -: standard output)"},
    {.name = "force", .type = OPT_TRUE, .offset = AT(force), .help = "replace FILE if it is there"},
    {.name = "follow",
     .letter = 'f',
     .type = OPT_TRUE,
     .offset = AT(follow),
     .help = "go on while the tape grows, to its end"},
    HELP,
    END,
};

static const char *const report_format_names[] = {"html", "markdown", "json", NULL}; /* as in reporter/formats.c */

const struct opt options_report[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .type = OPT_TEXT,
     .offset = AT(output),
     .completes = OPT_A_FILE,
     .help = "write to FILE.html, FILE.md or FILE.json, which must not exist, or to the folder DIR/ (-: standard "
             "output; default: the tape's name with .html)",
     .more = "FILE.html is a page; FILE.md is Markdown for pull requests, wikis and mail; FILE.json has all of the "
             "report as data (docs/json.md). DIR/ gets report.md and a picture for each figure: PNG of 1800 pixels, or "
             "SVG where baro was built without cairo. The folder must not exist, or be empty, or --force replaces the "
             "files of a report in it."},
    {.name = "format",
     .letter = 'F',
     .argument = "FORMAT",
     .type = OPT_CHOICE,
     .offset = AT(report_format),
     .choices = report_format_names,
     .help = "html, markdown or json; default: as FILE ends"},
    {.name = "github",
     .type = OPT_TRUE,
     .offset = AT(github),
     .help = "append Markdown to the job summary of GitHub Actions: the file in $GITHUB_STEP_SUMMARY"},
    {.name = "force", .type = OPT_TRUE, .offset = AT(force), .help = "replace FILE if it is there"},
    HELP,
    END,
};

static int take_size(void *at, const char *text, struct baro_error *err)
{
    struct span s = span_str(text);
    uint64_t v = 0;
    if (!scan_u64(&s, &v) || s.len || v < 10 || v > 20000)
        return error_set(err, BARO_E_SYNTAX, "invalid size '%s': write a number from 10 to 20000", text);
    *(unsigned *)at = (unsigned)v;
    return 0;
}

const struct opt options_plot[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .type = OPT_TEXT,
     .offset = AT(output),
     .completes = OPT_A_FILE,
     .help = "write to FILE.svg, FILE.png or FILE.txt, which must not exist (default: the terminal)"},
    {.name = "from",
     .argument = "TIME",
     .type = OPT_TEXT,
     .offset = AT(from),
     .help = "begin there: +90s, -10s (before the end), 50%, 12:30:05 or ISO 8601 (default: at the start)"},
    {.name = "to", .argument = "TIME", .type = OPT_TEXT, .offset = AT(to), .help = "end there (default: at the end)"},
    {.name = "width",
     .argument = "N",
     .type = OPT_PARSED,
     .offset = AT(width),
     .parse = take_size,
     .help = "so many columns, or pixels of a picture (default: as wide as the terminal; 900)"},
    {.name = "height",
     .argument = "N",
     .type = OPT_PARSED,
     .offset = AT(height),
     .parse = take_size,
     .help = "so many lines of the plot, or pixels of a picture (default: 12; 320)",
     .more = "A PNG has twice as many pixels each way, for screens with a high resolution."},
    {.name = "list", .type = OPT_TRUE, .offset = AT(list), .help = "list the figures"},
    {.name = "force", .type = OPT_TRUE, .offset = AT(force), .help = "replace FILE if it is there"},
    HELP,
    END,
};

const struct opt options_ls[] = {
    {.name = "lines", .letter = 'n', .argument = "N", .type = OPT_PARSED, .offset = AT(count), .parse = take_count,
     .help = "the newest N, or all (default: what fits the terminal; all where there is none)"},
    JSON_OPTION, HELP, END,
};

const struct opt options_rm[] = {
    {.name = "all", .type = OPT_TRUE, .offset = AT(all), .help = "all kept runs; needs --yes"},
    {.name = "yes", .letter = 'y', .type = OPT_TRUE, .offset = AT(yes), .help = "really"},
    HELP, END,
};

const struct opt options_metrics[] = {JSON_OPTION, HELP, END};
const struct opt options_none[] = {HELP, END};
