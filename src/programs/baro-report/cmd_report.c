/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "output/page/page.h"
#include "programs/baro-report/github.h"
#include "programs/baro-report/ranks_page.h"
#include "programs/baro-report/report_folder.h"
#include "programs/baro-report/several.h"
#include "programs/common/output.h"
#include "programs/common/rank_tapes.h"
#include "programs/common/tape_args.h"

/* ---- the tape of the machine ---- */

/* The tape of the machine beside the tape of a job: an observer records jobs and the machine onto tapes of their own.
 */

#define LOOKED_AT_MOST 64u        /* tapes whose headers are read */
#define HEAD_NS (200 * NS_PER_MS) /* CPU time for each */

/* What baro observe calls the machine. */
static bool has_name_of_machine(const char *name)
{
    return strncmp(name, "host", 4) == 0 || strstr(name, "-host");
}

static bool is_machine_alone(const struct baro_header *h)
{
    return baro_header_mode(h) == BARO_MODE_ATTACH && !baro_header_target_count(h) && !*baro_header_argv(h);
}

/* Does the tape have the machine of the job at the beginning of the job? */
static bool covers(struct baro_tape *machine, const struct baro_header *job)
{
    const struct baro_header *h = baro_tape_header(machine);
    uint64_t first, last;
    int64_t later_ns = baro_header_start_realtime_ns(job) - baro_header_start_realtime_ns(h);
    return is_machine_alone(h) && strcmp(baro_header_host(h), baro_header_host(job)) == 0 && later_ns >= 0 &&
           baro_tape_range(machine, &first, &last, NULL) >= 0 && (uint64_t)later_ns < last;
}

/* Finds, in the folder of the job's tape, the recording of the machine alone that had begun when the job's began and
 * goes on after that. ret_name: a part of its file's name. Returns a tape to be closed; NULL: there is none, or the
 * job's tape needs none, since it is no recording of an observer. */
static struct baro_tape *machine_tape_find(const char *job_path, const struct baro_header *job, char *ret_name,
                                           size_t size)
{
    char folder[PATH_MAX];
    struct baro_runs *runs;
    struct baro_tape *found = NULL;
    size_t n = strlen(job_path), looked_at = 0;
    while (n > 1 && job_path[n - 1] == '/') /* a folder of segments */
        n--;
    while (n && job_path[n - 1] != '/')
        n--;
    if (baro_header_mode(job) != BARO_MODE_ATTACH || is_machine_alone(job) || n >= sizeof(folder))
        return NULL;
    snprintf(folder, sizeof(folder), "%.*s", n ? (int)n : 1, n ? job_path : ".");
    if (baro_runs_list_folder(&runs, folder, NULL) < 0)
        return NULL;
    for (size_t i = 0; !found && i < baro_runs_count(runs) && looked_at < LOOKED_AT_MOST; i++) {
        if (!has_name_of_machine(baro_runs_name(runs, i)))
            continue;
        looked_at++;
        if (baro_runs_open(runs, i, HEAD_NS, &found, NULL) < 0)
            found = NULL;
        if (found && !covers(found, job)) {
            baro_tape_close(found);
            found = NULL;
        }
        if (found)
            snprintf(ret_name, size, "%s", baro_runs_name(runs, i));
    }
    baro_runs_free(runs);
    if (found)
        baro_tape_limit_cpu(found, 0);
    return found;
}

/* The formats of a report: one row each, with functions in a file of its own. */

struct report_format {
    const char *name;   /* value of --format, in the order of report_format_names */
    const char *ending; /* ending of the names of such files, with the dot */
    document_section *section;
    several_around *around; /* NULL: the format takes one tape, and is written by page_write() */
    ranks_report *ranks;    /* several tapes that are the ranks of one job; NULL: they are several */
};

/* Ended by a row without a name. The first one is the default. */
extern const struct report_format report_formats[];

/* The names are those of report_format_names (programs/common/reader_options.c), in the same order. */
const struct report_format report_formats[] = {
    {"html", ".html", NULL, NULL, ranks_page},
    {"markdown", ".md", document_markdown, several_markdown, ranks_markdown},
    {"json", ".json", document_json, several_json, NULL},
    {.name = NULL},
};

/* Finds the format by --format, else by the file's ending. NULL: neither tells. */
static const struct report_format *choose_format(const struct settings *s)
{
    if (s->report_format >= 0)
        return &report_formats[s->report_format];
    if (!s->output || strcmp(s->output, "-") == 0)
        return &report_formats[0];
    const struct report_format *f = report_formats;
    while (f->name && !span_ends(span_str(s->output), f->ending))
        f++;
    return f->name ? f : NULL;
}

/* The name of the tape's file with another ending, in the current folder. */
static void default_name(const char *tape, const char *ending, char ret[PATH_MAX])
{
    const char *name = path_base_name(tape);
    int n = (int)strlen(name);
    if (span_ends(span_str(name), ".baro"))
        n -= 5;
    snprintf(ret, PATH_MAX, "%.*s%s", n, name, ending);
}

static int to_output(void *context, const char *text, size_t len)
{
    return output_write(context, text, len, NULL);
}

struct report_job {
    const struct cli *cli;
    const struct settings *s;
    struct several several;
};

static int fail_report(const struct report_job *j, int code, struct baro_error *err, const char *name)
{
    if (code < 0 && !err->text[0])
        error_set(err, code, "can't write %s: %s", name ? name : "to standard output", strerror(-code));
    return code < 0 ? cli_fail(j->cli, err) : 0;
}

static int write_page(const struct report_job *j, struct output *o, struct baro_error *err)
{
    const struct listed_tape *t = &j->several.list.at[0];
    struct document d = {.settings = j->s, .path = t->path, .name = t->name};
    int code = document_open(&d, err);
    char machine[NAME_MAX + 1] = "";
    struct page_options options = {.tape_name = d.name, .zone = d.zone, .machine_name = machine};
    if (code >= 0) {
        options.machine = machine_tape_find(d.path, d.header, machine, sizeof(machine));
        code = page_write(d.tape, &options, to_output, o, err);
    }
    baro_tape_close(options.machine);
    document_done(&d);
    return code;
}

static int write_file(struct report_job *j, const struct report_format *format, const char *name)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct output o;
    struct buf text = {0};
    int code = output_open(&o, name, j->s->force, false, &err);
    if (code >= 0 && !format->section)
        code = write_page(j, &o, &err);
    else if (code >= 0)
        code = several_write(&j->several, format->section, NULL, format->around, &text, &err);
    if (code >= 0 && format->section)
        code = output_write(&o, text.at, text.len, &err);
    if (code >= 0)
        code = output_commit(&o, &err);
    int status = fail_report(j, code, &err, name);
    output_done(&o);
    buf_done(&text);
    return status;
}

/* Is it a folder: DIR/, or an existing one? */
static bool is_folder(const struct settings *s)
{
    struct stat st;
    return s->output && s->report_format < 0 &&
           (span_ends(span_str(s->output), "/") || (stat(s->output, &st) == 0 && S_ISDIR(st.st_mode)));
}

/* The ranks of a job are one report, although they have a tape each. Returns -1 if the tapes are no ranks. */
static int write_ranks(struct report_job *j, const struct report_format *format)
{
    struct rank_tapes tapes = {0};
    struct ranks r = {0};
    struct buf text = {0};
    struct baro_error err = BARO_ERROR_INIT;
    int code = rank_tapes_find(&j->several.list, false, &tapes, &err), found = code;
    if (code > 0)
        code = rank_tapes_read(&tapes, BARO_FOLD_TIMELINE, &r, &err);
    if (found > 0 && code >= 0 && format->ranks(&r, &tapes.notes, &text) < 0)
        code = error_set(&err, -ENOMEM, "out of memory");
    if (!found && tapes.notes.len)
        cli_note(j->cli, "%.*s", (int)tapes.notes.len - 1, (const char *)tapes.notes.at);
    int status = code < 0 ? cli_fail(j->cli, &err)
                 : found  ? output_whole(j->cli, j->s->output, j->s->force, &text)
                          : -1;
    ranks_done(&r);
    rank_tapes_done(&tapes);
    buf_done(&text);
    return status;
}

static int write_report(struct report_job *j)
{
    const struct settings *s = j->s;
    const struct report_format *format = choose_format(s);
    char name[PATH_MAX];
    if (is_folder(s)) {
        struct baro_error err = BARO_ERROR_INIT;
        int code = report_folder(&j->several, s->output, s->force, &err);
        return fail_report(j, code, &err, s->output);
    }
    if (!format)
        return cli_failf(j->cli,
                         "what %s should be is not clear from its name: it ends with .html, .md, .json or / (a "
                         "folder), or --format says it",
                         s->output);
    int status = j->several.list.is_several && s->output && format->ranks ? write_ranks(j, format) : -1;
    if (status >= 0)
        return status;
    if (j->several.list.is_several && (!s->output || !format->around))
        return cli_failf(j->cli, "several tapes are one report as Markdown or JSON: -o FILE.md, -o FILE.json or -o "
                                 "DIR/; a page has one tape, or the ranks of one job");
    if (s->output)
        return write_file(j, format, strcmp(s->output, "-") == 0 ? NULL : s->output);
    default_name(j->several.list.at[0].path, format->ending, name);
    status = write_file(j, format, name);
    if (status == 0)
        cli_note(j->cli, "wrote %s", name);
    return status;
}

static int add_to_github(struct report_job *j)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct buf text = {0};
    int code = several_write(&j->several, document_markdown, NULL, several_markdown, &text, &err);
    int status = code < 0 ? fail_report(j, code, &err, NULL) : github_append(j->cli, &text);
    buf_done(&text);
    return status;
}

/* If one of several tapes cannot be read, the report is written, but the command fails. */
int cmd_report(struct cli *cli, const struct settings *s, char **argv)
{
    struct report_job j = {.cli = cli, .s = s, .several.settings = s};
    struct tape_list *list = &j.several.list;
    struct baro_error err = BARO_ERROR_INIT;
    int status;
    if (tape_list_read(list, argv, &err) < 0)
        status = cli_fail(cli, &err);
    else if (!list->is_several && list->at[0].is_unread)
        status = cli_fail(cli, &list->at[0].reason);
    else if (s->github && (s->output || s->report_format >= 0))
        status = cli_failf(cli, "--github and %s exclude each other", s->output ? "-o" : "--format");
    else
        status = s->github ? add_to_github(&j) : write_report(&j);
    for (size_t i = 0; i < list->n && j.several.read; i++) {
        if (list->at[i].is_unread)
            status = cli_failf(cli, "not in the report: %s", list->at[i].reason.text);
    }
    tape_list_done(list);
    return status;
}
