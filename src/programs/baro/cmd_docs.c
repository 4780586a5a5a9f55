/* SPDX-License-Identifier: Apache-2.0 */
/* baro docs: writes the sources of documents that are made from the tables. The build calls it; it is not for
 * people. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "baro/baro.h"
#include "libbaro/metric/ids.h"
#include "programs/common/cli.h"

/* What scdoc would take for markup is escaped; a literal word stands between stars. */
static void scdoc_text(struct buf *b, const char *text)
{
    for (; *text; text++) {
        if (strchr("*_\\<>#", *text))
            buf_byte(b, '\\');
        buf_byte(b, (uint8_t)*text);
    }
}

static void scdoc_options(struct buf *b, const struct opt *o)
{
    for (; o->name; o++) {
        if (o->letter)
            buf_printf(b, "*-%c*, ", o->letter);
        buf_printf(b, "*--%s*", o->name);
        if (o->argument)
            buf_printf(b, " _%s_", o->argument);
        buf_str(b, "\n\t");
        scdoc_text(b, o->help);
        buf_str(b, ".\n\n");
        if (o->more) {
            buf_byte(b, '\t');
            scdoc_text(b, o->more);
            buf_str(b, "\n\n");
        }
    }
}

static void scdoc_head(struct buf *b, const char *name, const char *summary)
{
    buf_printf(b, "%s(1) \"\" \"barograph %s\"\n\n# NAME\n\n%s - ", name, baro_version(), name);
    scdoc_text(b, summary);
    buf_str(b, "\n\n# SYNOPSIS\n\n");
}

static void scdoc_files(struct buf *b)
{
    buf_str(
        b,
        "# ENVIRONMENT\n\n"
        "*BARO\\_DIR*\n\tThe folder of the kept runs. Default: _$XDG\\_STATE\\_HOME/barograph_, or "
        "_~/.local/state/barograph_.\n\n"
        "*BARO\\_KEEP*\n\tHow many runs are kept, and how much they may take, such as _200 runs,1GB_. The oldest go "
        "first. "
        "Default: 500 runs and 2 GB.\n\n"
        "*NO\\_COLOR*\n\tIf set and not empty, nothing is coloured.\n\n"
        "# EXIT STATUS\n\n*baro run* ends as the command ended: by the same status, or by the same signal. 125 is a "
        "failure of "
        "baro's own, 126 means that the command could not be executed, 127 that it was not found. All other commands "
        "end with 0, or with 2 where something failed.\n\n");
}

static void scdoc_baro(struct buf *b)
{
    scdoc_head(b, "baro", "record what a job uses of a machine");
    buf_str(b, "*baro* _COMMAND_ [_OPTION_...]\n\n# DESCRIPTION\n\n"
               "A barograph is a barometer that writes. *baro* records what a job and all its processes use of a "
               "machine (CPU, "
               "memory, I/O and more) on a tape, which is readable at any time, whatever happens to the recorder.\n\n# "
               "COMMANDS\n\n");
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        if (c->hidden)
            continue;
        buf_printf(b, "*baro-%s*(1)\n\t", c->name);
        scdoc_text(b, c->summary);
        buf_str(b, "\n\n");
    }
    scdoc_files(b);
}

static void scdoc_examples(struct buf *b, const char *examples)
{
    buf_str(b, "# EXAMPLES\n\n");
    for (const char *p = examples; *p;) {
        int command = (int)strcspn(p, "\t"), n = (int)strcspn(p, "\n");
        char line[256];
        snprintf(line, sizeof(line), "%.*s", command, p);
        buf_str(b, "*");
        scdoc_text(b, line);
        snprintf(line, sizeof(line), "%.*s", n - command - 1, p + command + 1);
        buf_str(b, "*\n\t");
        scdoc_text(b, line);
        buf_str(b, ".\n\n");
        p += n + (p[n] == '\n');
    }
}

static void scdoc_command(struct buf *b, const struct cli_command *c)
{
    char name[64];
    snprintf(name, sizeof(name), "baro-%s", c->name);
    scdoc_head(b, name, c->summary);
    buf_printf(b, "*baro %s* [_OPTION_...] ", c->name);
    scdoc_text(b, c->operands);
    buf_str(b, "\n\n# DESCRIPTION\n\n");
    if (c->about) {
        scdoc_text(b, c->about);
    } else {
        buf_byte(b, (uint8_t)toupper((unsigned char)c->summary[0]));
        scdoc_text(b, c->summary + 1);
        buf_byte(b, '.');
    }
    buf_str(b, "\n\n# OPTIONS\n\n");
    scdoc_options(b, c->options);
    if (c->examples)
        scdoc_examples(b, c->examples);
    buf_str(b, "# SEE ALSO\n\n*baro*(1)\n");
}

static void bash_words(struct buf *b, const struct opt *o)
{
    for (; o->name; o++)
        buf_printf(b, " --%s%s", o->name, o->argument ? "=" : "");
}

/* Writes the patterns of case that complete the arguments of options. */
static void bash_arguments(struct buf *b, const struct opt *table)
{
    for (const struct opt *o = table; o->name; o++) {
        if (!o->argument)
            continue;
        buf_printf(b, "            --%s", o->name);
        if (o->letter)
            buf_printf(b, "|-%c", o->letter);
        buf_str(b, ") ");
        if (o->choices) {
            buf_str(b, "COMPREPLY=($(compgen -W '");
            for (int i = 0; o->choices[i]; i++)
                buf_printf(b, "%s%s", i ? " " : "", o->choices[i]);
            buf_str(b, "' -- \"$cur\"));");
        } else if (o->completes == OPT_A_FILE) {
            buf_str(b, "COMPREPLY=($(compgen -f -- \"$cur\"));");
        } else if (o->completes == OPT_A_PID) {
            buf_str(b, "COMPREPLY=($(compgen -W \"$(cd /proc && echo [0-9]*)\" -- \"$cur\"));");
        } else if (o->completes == OPT_A_METRIC) {
            buf_str(b, "_baro_list;");
        } else {
            buf_str(b, "COMPREPLY=();");
        }
        buf_str(b, " return ;;\n");
    }
}

static void bash(struct buf *b)
{
    buf_str(b, "# bash completion for baro; made from its option tables\n"
               "_baro_list() {\n"
               "    local head= last=$cur\n"
               "    [[ $cur == *,* ]] && head=${cur%,*}, last=${cur##*,}\n"
               "    COMPREPLY=($(compgen -P \"$head\" -W \"time pid name");
    for (int i = 0; i < PROCESS_MAX; i++)
        buf_printf(b, " %s", baro_metric_get(BARO_KIND_PROCESS, i)->stem);
    buf_str(b, "\" -- \"$last\"))\n}\n"
               "_baro() {\n"
               "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
               "    if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
               "    if ((COMP_CWORD == 1)); then\n        COMPREPLY=($(compgen -W '");
    for (const struct cli_command *c = cli_commands; c->name; c++)
        buf_printf(b, "%s%s", c->hidden ? "" : c == cli_commands ? "" : " ", c->hidden ? "" : c->name);
    buf_str(b, "' -- \"$cur\"))\n        return\n    fi\n    case $command in\n");
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        if (c->hidden)
            continue;
        buf_printf(b, "    %s)\n        case $prev in\n", c->name);
        bash_arguments(b, c->options);
        buf_str(b, "        esac\n        if [[ $cur == -* ]]; then\n            COMPREPLY=($(compgen -W '");
        bash_words(b, c->options);
        buf_str(b, "' -- \"$cur\"))\n            [[ ${COMPREPLY-} == *= ]] && compopt -o nospace\n        else\n");
        buf_printf(b, "            COMPREPLY=($(compgen %s -- \"$cur\"))\n        fi ;;\n",
                   c->stop_early ? "-cf" : "-f -W '@last @1 @2 @3'");
    }
    buf_str(b, "    esac\n}\ncomplete -F _baro baro\n");
}

/* Rules for a kind as a whole; each rule is only here. */
static const char *const notes[KIND_COUNT] = {
    [BARO_KIND_PROCESS] = "`io_read_bytes` and `io_write_bytes` (of processes, exits and the job) are the kernel's "
                          "count of what a process caused, not what a disk did. `write_bytes` of /proc/PID/io grows "
                          "when a folio of the page cache becomes dirty, by the whole folio, and a folio may have many "
                          "pages: 4 kB written into each 1 MB of a 512 MB file in the page cache, four times, "
                          "was counted as 2,147 MB, where the process had written 8.4 MB (`io_wchar_bytes`) and the "
                          "disk wrote 8.8 MB (ext4, Linux 6.18). A page that is made dirty again before it is written "
                          "counts once; one that is removed before it is written counts all the same "
                          "(`io_cancelled_write_bytes`). What the disks themselves did is in `disk` and in the host's "
                          "`disk_write_bytes`, of the whole machine; the summary shows it beside the kernel's count "
                          "where the two differ by more than a tenth and the job is charged with 10 MB or more.\n",
    [BARO_KIND_FS] = "A ZFS pool is one filesystem: the datasets that are mounted, asked by statvfs(3), and what they "
                     "share counted once. That is what the pool's users may "
                     "still write, less parity and reservations; what datasets that are not mounted hold is not in it. "
                     "`zpool` is not called: for the raw size of the pool it "
                     "would have to be started every few seconds beside the job.\n",
    [BARO_KIND_NET] = "The host's totals count each byte once. `counted` says of which interfaces:\n\n"
                      "- Where there is hardware (a `device` in /sys/class/net, as virtual machines have it too): the "
                      "hardware, and bonds and teams in place of their members. "
                      "VLANs, bridges, tunnels, taps, and veths of containers carry what the hardware carries, or what "
                      "never leaves.\n"
                      "- Where there is none, as in a container: what leads out. That is a veth, macvlan or the like "
                      "whose other end is in another network namespace. Not one whose "
                      "other end is here as well (their `iflink` and `ifindex` name each other), unless the default "
                      "route leads through it; not the port of a bridge; not "
                      "what lies over another interface. Where several are left, those that have a route to a network: "
                      "a veth of a container inside the container has one to a single address at most.\n"
                      "- Where there is nothing of that kind either: the only port of a bridge whose other end is "
                      "elsewhere, else a tap or a dummy (the way out of a container without privileges), "
                      "else a tunnel (that of a namespace for a VPN).\n\n"
                      "An interface that appears, or gets or loses its place among the counted, adds what it grows by "
                      "from then on.\n",
};

static void ids(struct buf *b, int kind, const int *id, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_printf(b, "%s`%s`", i ? " + " : "", baro_metric_get(kind, id[i])->name);
}

/* "`read_time_ns` per `reads`", or with sums in brackets. */
static void derived_from(struct buf *b, const struct baro_derived *d)
{
    ids(b, d->kind, d->from, d->n_from);
    if (!d->per)
        return;
    buf_str(b, d->n_per > 1 ? " per (" : " per ");
    ids(b, d->kind, d->per, d->n_per);
    buf_str(b, d->n_per > 1 ? ")" : "");
}

static void derived(struct buf *b)
{
    buf_str(b, "\n# Derived metrics\n\nDerived metrics are not recorded. libbaro computes them from two samples "
               "(`baro_derived_get()`, baro/interval.h): the growth of a counter, or of several added up, per second; "
               "of a time in nanoseconds, per nanosecond. Example: `cpu_ns` of a process grew by 500,000,000 in "
               "0.25 s, so it used 2 cores. Where the table says per, that growth is divided by the growth of another "
               "counter. Example: `read_time_ns` of a disk grew by 12,000,000 and `reads` by 4, so a read took "
               "3,000,000 ns. `baro export --columns` takes their names for columns of CSV and JSON lines, but for "
               "those of the recorder; a value is that of the time since the previous row of the same process, "
               "disk, ..., and absent in the first one. `cores` is a column also where it was not asked for; there it "
               "is at most the number of CPUs. "
               "`baro_row_rate()` computes the rate of any other counter.\n\n"
               "| kind | name | unit | growth of | meaning |\n|---|---|---|---|---|\n");
    for (int kind = 0; kind < baro_kind_count(); kind++) {
        for (int i = 0; i < baro_derived_count(kind); i++) {
            const struct baro_derived *d = baro_derived_get(kind, i);
            buf_printf(b, "| %s | `%s` | %s | ", baro_kind_name(kind), d->name, d->unit);
            derived_from(b, d);
            buf_printf(b, " | %s |\n", d->help);
        }
    }
}

static void metrics(struct buf *b)
{
    buf_str(
        b,
        "# Metrics\n\nMade by `baro docs metrics` from the registry, `src/libbaro/metric/*.def`. Names are those of "
        "CSV, JSON and Python; `--metrics` and "
        "`--columns` also take them without the unit. A value that is not there is absent with a reason: not asked, "
        "not "
        "supported, denied, gone, not yet read, thinned out, timed out, not known, or counted with "
        "another process whose address space it shares. It is never written as zero.\n\n"
        "`rss_bytes` is approximate on kernels 6.2 to 6.15, which count it on each CPU and sum up now and then: by up "
        "to 32 "
        "pages (or twice the number of CPUs, if that is more) for each CPU and kind of page.\n\n"
        "`run_delay_ns` is read of each thread with each sample of a process that ran; context switches once a second "
        "of a process with several threads, every ten seconds of one with a single thread. Both together take a "
        "quarter of the overhead budget at most; processes that have to wait take turns. `run_delay_lag_ns` says how "
        "much CPU time was used since.\n");
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        buf_printf(b, "\n## %s\n\n| name | unit | semantics | from | meaning |\n|---|---|---|---|---|\n",
                   baro_kind_name((enum baro_kind)kind));
        for (int id = 0; id < baro_metric_count((enum baro_kind)kind); id++) {
            const struct baro_metric *m = baro_metric_get((enum baro_kind)kind, id);
            buf_printf(b, "| `%s` | %s | %s | %s | %s |\n", m->name, baro_unit_name(m->unit),
                       baro_semantics_name(m->semantics), m->file, m->help);
        }
        if (notes[kind])
            buf_printf(b, "\n%s", notes[kind]);
    }
    derived(b);
}

static const char *json_type(const struct baro_fact *fact)
{
    switch (fact->type) {
    case BARO_FACT_UNSIGNED:
    case BARO_FACT_SIGNED: return "integer";
    case BARO_FACT_REAL: return "number";
    case BARO_FACT_BOOLEAN: return "boolean";
    default: return "string";
    }
}

/* A table of one column is a member of the object itself: a list. */
static bool is_list(const struct baro_section *section)
{
    return section->is_table && section->fact_count == 1;
}

static void json_rows(struct buf *b, const struct baro_section *section)
{
    if (is_list(section)) {
        buf_printf(b, "| `%s` | array of strings | %s |\n", section->name, section->help);
        return;
    }
    for (int i = section->first_fact; i < section->first_fact + section->fact_count; i++) {
        const struct baro_fact *fact = baro_summary_fact(i);
        if (!fact->in_json)
            continue;
        buf_printf(b, "| `%s%s%s` | %s | %s |\n", section->name,
                   section->is_table ? "[]."
                   : *section->name  ? "."
                                     : "",
                   fact->name, json_type(fact), fact->help);
    }
}

static void json_heading(struct buf *b, const char *name, const char *help)
{
    buf_printf(b, "\n### %s\n\n%c%s.\n\n| member | type | meaning |\n|---|---|---|\n", name,
               toupper((unsigned char)help[0]), help + 1);
}

static bool has_members(const struct baro_section *section)
{
    for (int i = section->first_fact; i < section->first_fact + section->fact_count; i++) {
        if (baro_summary_fact(i)->in_json)
            return true;
    }
    return false;
}

/* When a number may be off. */
static void json_marks(struct buf *b)
{
    static const struct {
        const char *covers, *mark, *help;
        const char *section;
    } rows[] = {
#define SECTION(id, name, is_table, help)
#define FACT(...)
#define FACT_NOT_IN_JSON(...)
#define MARK(id, covers, mark, help) {covers, #mark, help, #id},
#define END(id)
#include "libbaro/summary/facts.def"
#undef SECTION
#undef FACT
#undef FACT_NOT_IN_JSON
#undef MARK
#undef END
    };
    buf_str(b, "\n### marks\n\nWhich numbers may be off, and when.\n\n| numbers | mark | when |\n|---|---|---|\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *mark = strcmp(rows[i].mark, "ESTIMATE") == 0      ? "estimate"
                           : strcmp(rows[i].mark, "LOWER_BOUND") == 0 ? "lower_bound"
                                                                      : "upper_bound";
        buf_printf(b, "| `%s.%s%s` | `%s` | %s |\n", rows[i].section, rows[i].covers, *rows[i].covers ? "..." : "*",
                   mark, rows[i].help);
    }
}

/* The members of the object itself, then those of each object and array in it. */
static void json_members(struct buf *b)
{
    buf_str(b, "Made by `baro docs json` from the table of facts, `src/libbaro/summary/facts.def`.\n");
    json_heading(b, "Members of the object", "the recording as a whole");
    buf_str(b, "| `format` | integer | 2: the format that is described here |\n"
               "| `tape` | string | path of the tape |\n");
    for (int i = 0; i < baro_summary_section_count(); i++) {
        const struct baro_section *section = baro_summary_section(i);
        if (is_list(section) || !*section->name)
            json_rows(b, section);
    }
    buf_str(
        b, "| `marks` | object | which numbers may be off, by path: `lower_bound` (it may be too small), `upper_bound` "
           "or `estimate` (either way) |\n"
           "| `absent` | object | why what is null is null, by path |\n");
    for (int i = 0; i < baro_summary_section_count(); i++) {
        const struct baro_section *section = baro_summary_section(i);
        if (is_list(section) || !*section->name || !has_members(section))
            continue;
        json_heading(b, section->name, section->help);
        json_rows(b, section);
    }
    json_marks(b);
}

int cmd_docs(struct cli *cli, const struct settings *s, char **argv)
{
    struct buf b = {0};
    (void)s;
    const struct cli_command *c = argv[1] ? cli_find(argv[1]) : NULL;
    if (strcmp(argv[0], "man") == 0 && c)
        scdoc_command(&b, c);
    else if (strcmp(argv[0], "man") == 0 && !argv[1])
        scdoc_baro(&b);
    else if (strcmp(argv[0], "bash") == 0)
        bash(&b);
    else if (strcmp(argv[0], "metrics") == 0)
        metrics(&b);
    else if (strcmp(argv[0], "json") == 0)
        json_members(&b);
    else
        return cli_failf(cli, "there are man [COMMAND], bash, metrics and json");
    int status = cli_out(cli, &b);
    buf_done(&b);
    return status;
}
