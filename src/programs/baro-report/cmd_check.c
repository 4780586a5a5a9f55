/* SPDX-License-Identifier: Apache-2.0 */
/* Did runs keep the limits of a budget? */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "output/rows/escaped.h"
#include "output/text/read_fact.h"
#include "programs/baro-report/check.h"
#include "programs/baro-report/github.h"
#include "programs/common/output.h"
#include "programs/common/tape_args.h"
#include "programs/common/rank_tapes.h"
#include "programs/common/tape_list.h"

/* ---- the budget and its base, before any tape is read ---- */

static bool has_relative(const struct check *c)
{
    size_t i = 0;
    while (i < c->n && !(c->limit[i].factor > 0))
        i++;
    return i < c->n;
}

static int find_base(struct check *c, struct baro_error *err)
{
    struct buf path = {0};
    if (!c->s->base && !c->s->budget)
        return 0;
    buf_printf(&path, "%s%s", c->s->base ? c->s->base : c->s->budget, c->s->base ? "" : ".json");
    buf_byte(&path, 0);
    c->base_path = path.failed ? NULL : (char *)path.at;
    if (!c->base_path)
        return error_set(err, -ENOMEM, "out of memory");
    int code = c->s->update || !has_relative(c) ? 0 : base_read(&c->base, c->base_path, err);
    return code == -ENOENT && !c->s->base ? 0 : code; /* each limit then says that there is none */
}

static int prepare(struct check *c)
{
    struct baro_error err = BARO_ERROR_INIT;
    int code = c->s->budget ? limits_read_file(c, c->s->budget, &err) : 0;
    code = code < 0 ? code : limits_read_options(c, &err);
    code = code < 0 ? code : find_base(c, &err);
    if (code < 0)
        return cli_fail(c->cli, &err);
    if (!c->n)
        return cli_failf(c->cli, "no limit is given: --budget FILE, or --max 'rss_peak<2GB'");
    if (!c->s->update != !c->s->why)
        return cli_failf(c->cli, "--update and --why TEXT belong together");
    if (c->s->update && (!c->base_path || !has_relative(c)))
        return cli_failf(c->cli, "--update: %s",
                         c->base_path ? "no limit is relative to the base, as in cpu<=1.05*base"
                                      : "--base FILE is missing");
    return 0;
}

static int print_list(const struct check *c)
{
    struct buf text = {0};
    for (size_t i = 0; i < c->n; i++)
        buf_printf(&text, "%s\n", c->limit[i].text);
    return cli_out_done(c->cli, &text);
}

/* ---- tapes ---- */

__attribute__((format(printf, 3, 4))) static void note_tape(struct check *c, const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_str(&c->notes, "! ");
    text_escaped(&c->notes, name, strlen(name));
    buf_str(&c->notes, ": ");
    buf_vprintf(&c->notes, format, args);
    buf_byte(&c->notes, '\n');
    va_end(args);
}

/* What of the run is known in part only? NULL: all of it is known. */
static const char *lack_of(const struct baro_tape *tape, const struct baro_summary *s)
{
    if (baro_tape_state(tape) == BARO_TAPE_RUNNING)
        return "it is still being recorded";
    if (baro_tape_state(tape) == BARO_TAPE_CUT_OFF)
        return "the recording was cut off";
    if (report_u64(s, "recorder", "damaged_bytes"))
        return "the tape is damaged";
    if (report_is(s, "", "is_incomplete"))
        return "there was not enough memory to read all of it";
    if (report_u64(s, "", "removed_ns"))
        return "its beginning was removed (--keep)";
    return *report_text(s, "exit", "signal") ? "a signal ended the command" : NULL;
}

static int note_run(struct check *c, const char *name, const struct baro_tape *tape, const struct baro_fold *fold)
{
    const struct baro_summary *s = baro_fold_summary(fold);
    size_t last = baro_runset_runs(c->set) - 1;
    struct checked_run *more = array_room(c->run, last, &c->cap_runs, sizeof(*more));
    bool is_same = true;
    if (!more)
        return cli_failf(c->cli, "out of memory");
    c->run = more;
    struct checked_run *run = &c->run[last];
    *run = (struct checked_run){0};
    for (size_t i = MACHINE_FACTS; i-- > 0;) {
        const char *what = check_machine_name(i);
        is_same = is_same && strcmp(baro_runset_circumstance(c->set, last ? last - 1 : 0, what),
                                    baro_runset_circumstance(c->set, last, what)) == 0;
        if (c->base.is_there && !base_is_of(&c->base, c->set, last, i))
            run->differs = what;
    }
    run->is_elsewhere = run->differs;
    const char *lack = lack_of(tape, s);
    uint64_t status = report_u64(s, "exit", "status");
    run->is_partial = lack;
    c->is_failed = c->is_failed || status || lack;
    if (lack)
        note_tape(c, name, "%s: what is known of it are lower bounds", lack);
    else if (status)
        note_tape(c, name, "the command ended with status %u", (unsigned)status);
    if (!is_same)
        note_tape(c, name, "another machine than that of the runs before it");
    if (!is_same && c->s->update)
        return cli_failf(c->cli, "runs of several machines are no base; %s is of another one", name);
    return 0;
}

/* A tape that can't be read counts as a run of which nothing is known; one that is not there is a wrong call, and so is
 * a set of which none can be read. */
static int refuse_tape(struct check *c, const struct baro_error *why)
{
    if (why->code == -ENOENT || why->code == -ENOMEM || c->s->update)
        return cli_fail(c->cli, why);
    if (!c->unread++)
        c->why_unread = *why;
    buf_str(&c->notes, "! ");
    buf_str(&c->notes, why->text); /* it names the tape, and is escaped */
    buf_byte(&c->notes, '\n');
    return 0;
}

static int add_tape(struct check *c, const struct listed_tape *t)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_tape *tape = NULL;
    struct baro_fold *fold = NULL;
    int status, code = t->is_unread ? -1 : reader_open_path(c->cli->settings, t->path, &tape, &err);
    code = code < 0 ? code : baro_fold_of_tape(tape, BARO_FOLD_TIMELINE, &fold, &err);
    if (code < 0) {
        status = refuse_tape(c, t->is_unread ? &t->reason : &err);
    } else if (baro_runset_add(c->set, t->path, fold, &err) < 0) {
        status = cli_fail(c->cli, &err);
    } else {
        status = note_run(c, t->name, tape, fold);
        if (!status)
            check_cause(c, fold);
    }
    baro_fold_free(fold);
    baro_tape_close(tape);
    return status;
}

/* The ranks of a job are one run. What is known in part of one of them is known in part of all. */
static int merge_ranks(struct check *c, const struct rank_tapes *ranks, size_t from, const char *name)
{
    struct baro_error err = BARO_ERROR_INIT;
    size_t n = baro_runset_runs(c->set);
    if (n <= from)
        return 0;
    for (size_t i = from + 1; i < n; i++) {
        const struct checked_run *run = &c->run[i];
        c->run[from].is_partial = c->run[from].is_partial ? c->run[from].is_partial : run->is_partial;
        c->run[from].differs = c->run[from].differs ? c->run[from].differs : run->differs;
        c->run[from].is_elsewhere = c->run[from].differs;
    }
    if (ranks->n < ranks->ranks) {
        c->run[from].is_partial = "ranks are missing";
        c->is_failed = true;
        note_tape(c, name, "%u of %u ranks are missing: what is known of it are lower bounds",
                  ranks->ranks - (unsigned)ranks->n, ranks->ranks);
    }
    return baro_runset_merge(c->set, from, name, ranks->n < ranks->ranks, &err) < 0 ? cli_fail(c->cli, &err) : 0;
}

/* Adds the tapes of an operand: each is a run, but the ranks of one job are one. */
static int add_list(struct check *c, const struct tape_list *list, const char *operand)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct rank_tapes ranks;
    size_t from = baro_runset_runs(c->set);
    int found = rank_tapes_find(list, false, &ranks, &err), status = found < 0 ? cli_fail(c->cli, &err) : 0;
    for (size_t i = 0; i < ranks.n && found > 0 && !status; i++)
        status = add_tape(c, &(struct listed_tape){.path = (char *)ranks.at[i].path, .name = ranks.at[i].path});
    for (size_t i = 0; i < list->n && !found && !status; i++)
        status = add_tape(c, &list->at[i]);
    if (found > 0 && !status)
        status = merge_ranks(c, &ranks, from, operand);
    rank_tapes_done(&ranks);
    return status;
}

static int read_tapes(struct check *c, char **argv)
{
    struct baro_error err = BARO_ERROR_INIT;
    int status = baro_runset_new(&c->set, &err) < 0 ? cli_fail(c->cli, &err) : 0;
    char *none[] = {NULL}, **at = argv;
    do {
        struct tape_list list = {0};
        char *one[] = {at[0], NULL};
        if (!status)
            status = tape_list_read(&list, at[0] ? one : none, &err) < 0 ? cli_fail(c->cli, &err)
                                                                         : add_list(c, &list, at[0] ? at[0] : "@1");
        tape_list_done(&list);
    } while (at[0] && *++at);
    buf_byte(&c->notes, 0);
    if (!status && c->unread > 1 && !baro_runset_runs(c->set))
        return cli_failf(c->cli, "none of the %zu tapes can be read: %s", c->unread, c->why_unread.text);
    return status || baro_runset_runs(c->set) ? status : cli_fail(c->cli, &c->why_unread);
}

/* ---- results ---- */

static int write_file(const struct check *c, const char *path, void (*write)(const struct check *c, struct buf *ret))
{
    struct buf text = {0};
    if (!path)
        return 0;
    write(c, &text);
    int status = output_whole(c->cli, path, true, &text);
    buf_done(&text);
    return status;
}

static int print_check(const struct check *c, const struct settings *s)
{
    const struct cli *cli = c->cli;
    struct buf text = {0};
    if (s->json)
        check_json(c, &text);
    else if (s->markdown)
        check_markdown(c, &text);
    else
        check_text(c, s->verbose, (struct report_style){.width = cli->table_width, .utf8 = cli->utf8}, &text);
    if (s->github)
        check_annotations(c, &text);
    int status = cli_out(cli, &text);
    if (!status && s->github) {
        check_markdown(c, &text);
        status = github_append(cli, &text);
    }
    buf_done(&text);
    return status;
}

static int conclude(struct check *c, const struct settings *s)
{
    if (c->s->update && c->is_failed)
        return cli_failf(c->cli, "%s is as it was: the run of a failed or unfinished command is no base", c->base_path);
    if (c->s->update)
        return base_write(c);
    if (!check_judge(c))
        return cli_failf(c->cli, "out of memory");
    int status = print_check(c, s);
    status = status ? status : write_file(c, c->s->junit, check_junit);
    status = status ? status : write_file(c, c->s->gitlab_metrics, check_gitlab_metrics);
    status = status ? status : write_file(c, c->s->gitlab_quality, check_gitlab_quality);
    return status ? status : check_status(c);
}

int cmd_check(struct cli *cli, const struct settings *s, char **argv)
{
    struct check c = {.cli = cli, .s = &s->check, .unknown_fails = s->check.unknown};
    int status = prepare(&c);
    if (!status && s->list) {
        status = print_list(&c);
    } else if (!status) {
        status = read_tapes(&c, argv);
        status = status ? status : conclude(&c, s);
    }
    limits_done(&c);
    base_done(&c.base);
    baro_runset_free(c.set);
    free(c.run);
    free(c.base_path);
    buf_done(&c.notes);
    return status;
}
