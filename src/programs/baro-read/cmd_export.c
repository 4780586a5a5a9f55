/* SPDX-License-Identifier: Apache-2.0 */
/* baro export: rows for other programs. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fd.h"
#include "output/rows/csv_json.h"
#include "output/rows/dialect.h"
#include "output/rows/escaped.h"
#include "output/rows/source.h"
#include "output/rows/trace.h"
#include "programs/baro-read/export_arrow.h"
#include "programs/baro-read/export_fleet.h"
#include "programs/baro-read/export_list.h"
#include "programs/baro-read/export_parquet.h"
#include "programs/baro-read/export_sqlite.h"
#include "programs/common/output.h"
#include "programs/common/rank_tapes.h"
#include "programs/common/tape_args.h"

#define CHUNK 65536u

struct exporting;

/* A format, or a dialect. Each function returns 0, or the exit status of a failure that it has reported. */
struct export_format {
    int (*choose)(struct exporting *x); /* checks the options, and finds the rows */
    void (*begin)(struct exporting *x); /* NULL: nothing stands in front */
    int (*record)(struct exporting *x, const struct baro_record *record);
    int (*end)(struct exporting *x);   /* NULL: nothing stands behind */
    int (*write)(struct exporting *x); /* in place of the three: all rows at once, with a cursor of its own */
};

struct exporting {
    const struct export_format *format;
    struct cli *cli;
    const struct settings *settings;
    const char *output; /* NULL: standard output */
    struct baro_tape *tape;
    const char *path;
    int kind; /* kind of the rows */
    struct row_source rows;
    struct dialect *dialect;  /* NULL: barograph's own rows */
    struct trace *trace;      /* NULL: rows */
    struct baro_fold *fold;   /* set if a column is the phase */
    struct baro_steps *steps; /* set if the rows are steps */
    struct users users;
    struct output out;
    struct buf text;
    uint64_t end_ns, shown_ns; /* time of the tape's end, 0: no progress is shown; and when it was shown last */
    bool progressed;           /* progress was written */
    uint64_t known_ns;         /* the timeline has all that was on the tape up to then */
    uint64_t damage;           /* damaged bytes that another cursor skipped */
    struct baro_error err;
};

/* ---- progress, shown on the terminal while rows go elsewhere ---- */

static void progress_begin(struct exporting *x)
{
    struct baro_record record;
    if (!x->cli->tty_err || (x->cli->tty && !x->output) || x->settings->follow)
        return;
    if (baro_tape_seek(x->tape, UINT64_MAX, &record, NULL) > 0)
        x->end_ns = record.t_ns;
    baro_tape_rewind(x->tape, NULL);
    x->shown_ns = clock_monotonic_ns();
}

static void progress(struct exporting *x, uint64_t t_ns)
{
    if (!x->end_ns || clock_monotonic_ns() - x->shown_ns < NS_PER_SEC / 4)
        return;
    char text[32];
    double share = (double)t_ns / (double)x->end_ns;
    int n = snprintf(text, sizeof(text), "\r%3u %%", share < 1 ? (unsigned)(share * 100) : 100u);
    fd_write_all(STDERR_FILENO, text, (size_t)n, NULL);
    x->shown_ns = clock_monotonic_ns();
    x->progressed = true;
}

static void progress_end(const struct exporting *x)
{
    static const char clear[] = "\r     \r";
    if (x->progressed)
        fd_write_all(STDERR_FILENO, clear, sizeof(clear) - 1, NULL);
}

/* Refuses to write to the tape that is read: its data would be lost. */
static bool onto_itself(const struct exporting *x)
{
    struct stat tape, output;
    return x->output && stat(x->path, &tape) == 0 && stat(x->output, &output) == 0 && tape.st_dev == output.st_dev &&
           tape.st_ino == output.st_ino;
}

static int choose_rows(struct exporting *x)
{
    char unknown[64] = "";
    const char *names[320];
    int code = row_source_init(&x->rows, x->tape, x->kind, x->settings->columns, unknown, &x->err);
    x->rows.user = users_name;
    x->rows.user_context = &x->users;
    if (code == 0)
        return 0;
    columns_names(x->kind, x->tape, names, sizeof(names) / sizeof(*names));
    const char *near = unknown[0] ? opt_nearest(unknown, names) : NULL;
    if (near)
        return cli_failf(x->cli, "--columns: %s; did you mean %s?", x->err.text, near);
    return cli_failf(x->cli, "--columns: %s; `baro help export` lists them", x->err.text);
}

/* Finds the rows that --entity names. */
static int choose_kind(struct exporting *x)
{
    const char *name = x->settings->entity, *names[64];
    struct buf list = {0};
    /* Kinds can be declared at any time: a growing tape has those declared by now. */
    if (name && baro_tape_read_kinds(x->tape, &x->err) < 0)
        return cli_fail(x->cli, &x->err);
    x->kind = name ? baro_rows_find(x->tape, name) : BARO_KIND_PROCESS;
    if (x->kind >= 0)
        return 0;
    row_kind_names(x->tape, names, sizeof(names) / sizeof(*names));
    for (size_t i = 0; names[i]; i++) {
        buf_str(&list, i ? ", " : "");
        text_escaped(&list, names[i], strlen(names[i]));
    }
    buf_byte(&list, 0);
    int status = cli_failf(x->cli, "--entity %s: not one of %s", name,
                           list.failed ? "those of the tape" : (const char *)list.at);
    buf_done(&list);
    return status;
}

static int flush_text(struct exporting *x, size_t at_least)
{
    if (x->text.failed)
        return cli_failf(x->cli, "out of memory");
    if (x->text.len < at_least)
        return 0;
    if (output_write(&x->out, x->text.at, x->text.len, &x->err) < 0)
        return cli_fail(x->cli, &x->err);
    buf_clear(&x->text);
    return 0;
}

/* ---- rows of barograph ---- */

static int choose_columns(struct exporting *x)
{
    int status = choose_kind(x);
    if (!status && row_is_of_list(x->kind) && x->settings->follow)
        return cli_failf(x->cli,
                         "--follow and --entity %s exclude each other: what a %s used is known when all records are "
                         "there; --entity event has the begin and end of a phase, --entity exit each process",
                         x->settings->entity, x->settings->entity);
    return status ? status : choose_rows(x);
}

static void begin_csv(struct exporting *x)
{
    csv_header(&x->rows.columns, x->settings->safe, &x->text);
}

static int put_row(void *context, const struct columns *c, const struct output_row *row)
{
    struct exporting *x = context;
    if (x->settings->format == FORMAT_CSV)
        csv_row(c, row, x->settings->safe, &x->text);
    else
        jsonl_row(c, row, &x->text);
    return flush_text(x, CHUNK);
}

/* No record of the tape has a phase or a step. */
static int end_rows(struct exporting *x)
{
    int status = row_is_of_list(x->kind) ? row_source_list(&x->rows, put_row, x) : 0;
    return status < 0 ? cli_failf(x->cli, "out of memory") : status;
}

/* On a growing tape the timeline has what is known when the row is written. */
static int rows_record(struct exporting *x, const struct baro_record *record)
{
    if (x->fold && record->t_ns > x->known_ns && record->kind == BARO_RECORD_EVENT) {
        baro_fold_add(x->fold, record);
        baro_fold_finish(x->fold, BARO_FOLD_TIMELINE, NULL);
    }
    int status = row_source_record(&x->rows, record, put_row, x);
    return status < 0 ? cli_failf(x->cli, "out of memory") : status;
}

/* ---- a dialect ---- */

static int choose_dialect(struct exporting *x)
{
    const struct settings *s = x->settings;
    int status = choose_kind(x), kind = !s->entity ? DIALECT_ANY : x->kind;
    if (status)
        return status;
    if (s->columns)
        return cli_failf(x->cli, "--columns and --dialect exclude each other: a dialect has its own");
    if (s->safe)
        return cli_failf(
            x->cli, "--safe and --dialect exclude each other: a dialect is written as the other program writes it");
    if (s->format != FORMAT_CSV)
        return cli_failf(x->cli, "--dialect %s is CSV", dialect_names[s->dialect]);
    if (dialect_new(&x->dialect, dialect_names[s->dialect], kind, baro_tape_header(x->tape), &x->err) < 0)
        return cli_failf(x->cli, "--dialect: %s", x->err.text);
    dialect_tape(x->dialect, x->tape);
    if (s->smi_rounding)
        dialect_as_smi(x->dialect);
    return 0;
}

static void begin_dialect(struct exporting *x)
{
    dialect_header(x->dialect, &x->text);
}

static int dialect_take(struct exporting *x, const struct baro_record *record)
{
    dialect_record(x->dialect, record, &x->text);
    return 0;
}

static int end_dialect(struct exporting *x)
{
    dialect_end(x->dialect, &x->text);
    if (dialect_silent(x->dialect))
        cli_note(x->cli, "the tape has nothing to make rows of: %s",
                 dialect_kind(x->dialect) == BARO_KIND_HOST ? "the machine was read less than twice"
                                                            : "no sample has a process");
    uint64_t vague = dialect_vague_samples(x->dialect);
    if (vague)
        cli_note(x->cli,
                 "pss and uss in the rows of %llu sample%s are older than the row or not of all processes: "
                 "`baro export -e job --columns t_ns,lower_bounds,pss_stale` says which",
                 (unsigned long long)vague, vague == 1 ? "" : "s");
    return 0;
}

/* ---- a trace ---- */

/* A trace has no rows and columns. */
static int choose_trace(struct exporting *x)
{
    const struct settings *s = x->settings;
    const char *other = s->columns ? "--columns" : s->entity ? "--entity" : s->dialect >= 0 ? "--dialect" : NULL;
    if (other)
        return cli_failf(x->cli, "%s and --format trace exclude each other: a trace is the whole tape", other);
    return trace_new(&x->trace, x->tape, &x->err) < 0 ? cli_fail(x->cli, &x->err) : 0;
}

static void begin_trace(struct exporting *x)
{
    trace_begin(x->trace, &x->text);
}

static int trace_take(struct exporting *x, const struct baro_record *record)
{
    trace_record(x->trace, record, &x->text);
    return 0;
}

/* The last sample has the processes that are alive at the end. */
static int end_trace(struct exporting *x)
{
    struct baro_record record;
    int code = baro_tape_seek(x->tape, UINT64_MAX, &record, &x->err);
    if (code < 0)
        return cli_fail(x->cli, &x->err);
    trace_end(x->trace, code > 0 ? record.u.sample : NULL, &x->text);
    return 0;
}

/* ---- formats of arrays and databases ---- */

static int choose_arrays(struct exporting *x)
{
    const struct settings *s = x->settings;
    if (s->follow)
        return cli_failf(x->cli, "--follow and --format %s exclude each other: it is written when all rows are there",
                         export_formats[s->format]);
    if (s->format == FORMAT_SQLITE && !x->output)
        return cli_failf(x->cli, "--format sqlite writes a file: -o FILE says which");
    return choose_columns(x);
}

static int write_arrays(struct exporting *x)
{
    struct export_arrow rows = {x->tape, x->kind, x->settings->columns, users_name, &x->users, 0};
    bool parquet = x->settings->format == FORMAT_PARQUET;
    int r = parquet ? export_parquet(&rows, &x->out, &x->err) : export_arrow(&rows, &x->out, &x->err);
    x->damage = rows.damage;
    return r < 0 ? cli_fail(x->cli, &x->err) : r ? CLI_FAILED : 0;
}

static const struct export_format formats[] = {
    [FORMAT_CSV] = {choose_columns, begin_csv, rows_record, end_rows, NULL},
    [FORMAT_JSONL] = {choose_columns, NULL, rows_record, end_rows, NULL},
    [FORMAT_TRACE] = {choose_trace, begin_trace, trace_take, end_trace, NULL},
    [FORMAT_ARROW] = {choose_arrays, NULL, NULL, NULL, write_arrays},
    [FORMAT_PARQUET] = {choose_arrays, NULL, NULL, NULL, write_arrays},
    [FORMAT_SQLITE] = {choose_arrays, NULL, NULL, NULL, NULL}, /* another program writes it */
};
static const struct export_format of_dialect = {choose_dialect, begin_dialect, dialect_take, end_dialect, NULL};

/* ---- the export ---- */

static int write_records(struct exporting *x)
{
    struct baro_record record;
    int status = 0, code = 0;
    do {
        while (!status && (code = baro_tape_next(x->tape, &record, &x->err)) > 0) {
            status = x->format->record(x, &record);
            status = status ? status : flush_text(x, CHUNK);
            if (x->end_ns && record.kind == BARO_RECORD_SAMPLE)
                progress(x, record.t_ns);
        }
        if (!status && code < 0)
            status = cli_fail(x->cli, &x->err);
        if (!status)
            status = flush_text(x, 1);
    } while (!status && x->settings->follow && reader_wait(x->tape));
    if (!status && x->format->end)
        status = x->format->end(x);
    return status ? status : flush_text(x, 1);
}

/* Makes what rows are or have that no record of the tape has: steps, and the timeline with phases. */
static int make_lists(struct exporting *x)
{
    uint64_t first_ns;
    if (x->rows.columns.phase || x->kind == ROW_PHASE) {
        if (baro_fold_of_tape(x->tape, BARO_FOLD_TIMELINE, &x->fold, &x->err) < 0)
            return cli_fail(x->cli, &x->err);
        if (baro_tape_range(x->tape, &first_ns, &x->known_ns, NULL) <= 0)
            x->known_ns = 0;
        if (!row_is_of_list(x->kind) && baro_tape_rewind(x->tape, &x->err) < 0)
            return cli_fail(x->cli, &x->err);
        x->rows.timeline = baro_fold_timeline(x->fold);
    }
    if (x->kind == ROW_STEP && baro_steps_of_tape(x->tape, &x->steps, &x->err) < 0)
        return cli_fail(x->cli, &x->err);
    x->rows.steps = x->steps;
    return 0;
}

static int export(struct exporting *x)
{
    if (x->format->begin)
        x->format->begin(x);
    int status = x->format->write ? 0 : make_lists(x);
    if (status)
        return status;
    progress_begin(x);
    status = x->format->write ? x->format->write(x) : write_records(x);
    progress_end(x);
    if (status)
        return status;
    if (output_commit(&x->out, &x->err) < 0)
        return cli_fail(x->cli, &x->err);
    if (x->settings->follow && baro_tape_state(x->tape) == BARO_TAPE_CUT_OFF)
        cli_note(x->cli, "no recorder writes %s any more; it has no end", x->path);
    uint64_t damage = x->format->write ? x->damage : baro_tape_damage(x->tape);
    if (damage)
        cli_note(x->cli, "%llu bytes of the tape are damaged and were left out", (unsigned long long)damage);
    return 0;
}

/* Lists the kinds of the named tape, including those that only the tape has. */
static int list_kinds(struct cli *cli, const char *name)
{
    struct baro_tape *tape = NULL;
    struct reader_path path;
    struct baro_error err = BARO_ERROR_INIT;
    struct buf text = {0};
    int status = name ? reader_open(cli, name, &tape, &path) : 0;
    if (!status && tape && baro_tape_read_kinds(tape, &err) < 0)
        status = cli_fail(cli, &err);
    if (!status) {
        export_list(tape, &text);
        status = cli_out_text(cli, &text);
    }
    buf_done(&text);
    baro_tape_close(tape);
    return status;
}

/* What jobstats keeps of a job in Slurm's database, of the ranks in a folder or of one tape. */
static int export_jobstats(struct cli *cli, char **argv)
{
    struct tape_list list = {0};
    struct rank_tapes tapes = {0};
    struct ranks r = {0};
    struct buf text = {0};
    struct baro_error err = BARO_ERROR_INIT;
    int code = tape_list_read(&list, argv, &err), found = code < 0 ? 0 : rank_tapes_find(&list, true, &tapes, &err);
    if (code >= 0 && !found)
        code = error_set(&err, BARO_E_SYNTAX, "--jobstats is for the ranks of one job, or a single tape");
    code = code < 0 ? code : found < 0 ? found : rank_tapes_read(&tapes, &r, &err);
    if (code >= 0)
        ranks_jobstats(&r, &text);
    if (code >= 0 && tapes.n < tapes.ranks)
        cli_note(cli, "%u of %u ranks are missing", tapes.ranks - (unsigned)tapes.n, tapes.ranks);
    int status = code < 0 ? cli_fail(cli, &err) : cli_out(cli, &text);
    ranks_done(&r);
    rank_tapes_done(&tapes);
    tape_list_done(&list);
    buf_done(&text);
    return status;
}

int cmd_export(struct cli *cli, const struct settings *s, char **argv)
{
    struct reader_path path;
    if (s->fleet)
        return export_fleet(cli, s, argv);
    if (argv[0] && argv[1])
        return cli_failf(cli, "one tape at a time: '%s' is one too many; --fleet takes several", argv[1]);
    if (s->jobstats)
        return export_jobstats(cli, argv);
    if (s->all || s->log.since_ns)
        return cli_failf(cli, "%s is for --fleet DIR", s->all ? "--all" : "--since");
    if ((s->from || s->to) && s->follow)
        return cli_failf(cli, "--follow goes on with what is newest; --from and --to are of the past");
    if (s->list)
        return list_kinds(cli, argv[0]);
    const char *output = s->output && strcmp(s->output, "-") == 0 ? NULL : s->output;
    struct exporting x = {.output = output, .cli = cli, .settings = s, .path = path.at};
    int status = reader_open(cli, argv[0], &x.tape, &path);
    if (status)
        return status;
    x.format = s->dialect >= 0 && s->format != FORMAT_TRACE ? &of_dialect : &formats[s->format];
    if (onto_itself(&x))
        status = cli_failf(cli, "%s is the tape itself; it is left alone", output);
    else if (s->safe && s->format != FORMAT_CSV)
        status = cli_failf(
            cli, "--safe is for CSV: text in JSON is never a formula; leave one of --safe and --format %s out",
            export_formats[s->format]);
    else if (s->smi_rounding && s->dialect < 0)
        status = cli_failf(cli, "--smi-rounding is for --dialect: barograph's own rows are exact");
    else
        status = x.format->choose(&x);
    if (!status && s->format == FORMAT_SQLITE) {
        status = export_sqlite(cli, s, argv[0]);
    } else if (!status) {
        status = output_open(&x.out, output, s->force, s->follow, &x.err) < 0 ? cli_fail(cli, &x.err) : export(&x);
        output_done(&x.out);
    }
    dialect_free(x.dialect);
    trace_free(x.trace);
    baro_fold_free(x.fold);
    baro_steps_free(x.steps);
    row_source_done(&x.rows);
    buf_done(&x.text);
    baro_tape_close(x.tape);
    return status;
}
