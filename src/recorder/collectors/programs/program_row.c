/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/programs/program_row.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/escape.h"
#include "recorder/collectors/programs/program_table.h"
#include "recorder/redact/redact.h"

#define PERIOD_LEAST (100 * NS_PER_MS) /* readings are taken at most this often */
#define INTERVAL_AUTO NS_PER_SEC
#define SHORT_RUN NS_PER_SEC /* a program that ran shorter may have printed nothing */
#define ANCESTORS_MOST 64

struct program_row {
    struct sampling *sampling;
    const char *name;
    struct program *program;
    struct program_table table;
    struct program_status reported; /* what events have reported so far */
    bool left_out_reported;
};

int program_row_new(struct program_row **ret, struct sampling *sampling, const struct program_request *request,
                    struct baro_error *err)
{
    if (sampling->n_declared == PROGRAMS_MOST)
        return error_set(err, BARO_E_RANGE, "more than %u collectors", PROGRAMS_MOST);
    struct program_row *r = calloc(1, sizeof(*r));
    if (!r)
        return error_set(err, -ENOMEM, "out of memory");
    const struct program_options options = {
        .command = request->command,
        .folder = request->folder,
        .interval_ns = request->interval_ns ? request->interval_ns : INTERVAL_AUTO,
    };
    int code = program_new(&r->program, &options, err);
    if (code < 0) {
        free(r);
        return code;
    }
    r->sampling = sampling;
    r->name = request->name;
    program_table_init(&r->table, request->name);
    sampling->declared[sampling->n_declared++] = &r->table.kind;
    sampling->sample.declared = sampling->declared;
    sampling->sample.n_declared = sampling->n_declared;
    *ret = r;
    return 0;
}

/* ---- what went wrong ---- */

/* "ended with status 1", "was ended by signal 9" */
static void put_failure(struct buf *b, const struct program_status *s)
{
    switch (s->failure) {
    case PROGRAM_EMPTY: buf_str(b, "ended with status 0 and had printed no reading"); break;
    case PROGRAM_LATE: buf_str(b, "was killed: it did not end, as it had before"); break;
    case PROGRAM_REFUSED: buf_printf(b, "could not be started: %s", strerror(s->error_number)); break;
    case PROGRAM_LOST: buf_str(b, "was lost: somebody killed the process that runs it"); break;
    default:
        if (WIFSIGNALED(s->wait_status))
            buf_printf(b, "was ended by signal %d", WTERMSIG(s->wait_status));
        else
            buf_printf(b, "ended with status %d", WEXITSTATUS(s->wait_status));
        break;
    }
}

static void put_redacted(struct buf *b, const char *before, const char *text)
{
    struct buf plain = {0};
    redact_name(span_str(text), &plain);
    if (!plain.failed && plain.len) {
        buf_str(b, before);
        buf_escaped(b, (const char *)plain.at, plain.len);
    }
    buf_done(&plain);
}

static bool left_out(const struct program_row *r, const struct program_status *s)
{
    const struct program_left_out *l = &r->table.left_out;
    return s->cut || l->columns || l->rows || l->values;
}

/* Reports what is not on the tape, and why. Example: "157 columns beyond the 128 that a kind has, the first is
 * node_load1;" */
static void put_left_out(struct buf *b, const struct program_row *r, const struct program_status *s)
{
    const struct program_left_out *l = &r->table.left_out;
    buf_str(b, "left out:");
    if (l->columns) {
        buf_printf(b, " %u columns beyond the %u that a kind has", l->columns, PROGRAM_COLUMNS);
        put_redacted(b, ", the first is ", l->first_column);
        buf_str(b, " (let the command print fewer, or use --collect once for each part);");
    }
    if (l->rows)
        buf_printf(b, " %u rows beyond the %u that a kind has;", l->rows, READING_ROWS);
    if (s->cut)
        buf_printf(b, " %u rows, columns or values of readings that are too large;", s->cut);
    if (l->values)
        buf_printf(b, " %llu values that don't fit their unit, such as -5 bytes;", (unsigned long long)l->values);
    b->len -= !b->failed; /* the last semicolon */
}

static void report_failure(struct program_row *r, uint64_t number, struct buf *line)
{
    buf_byte(line, 0);
    if (!line->failed)
        job_event(r->sampling->job, r->sampling->now_ns, BARO_EVENT_WARNING, NULL, number, (const char *)line->at);
    buf_clear(line);
    buf_printf(line, "collector %s ", r->name);
}

/* Reports each failure when it happens (the pauses between restarts grow). What was left out is reported once. */
static void report_changes(struct program_row *r)
{
    const struct program_status *now = program_status(r->program);
    struct program_status *then = &r->reported;
    struct buf line = {0};
    bool left = left_out(r, now) && !r->left_out_reported;
    if (!memcmp(now, then, sizeof(*now)) && !left)
        return;
    buf_printf(&line, "collector %s ", r->name);
    if (now->failures != then->failures) {
        put_failure(&line, now);
        put_redacted(&line, "; last words: ", now->words);
        report_failure(r, now->failures, &line);
    }
    if (now->silences != then->silences) {
        buf_str(&line, "has printed no reading for 10 s or 10 intervals");
        report_failure(r, now->silences, &line);
    }
    if (now->bad_lines && !then->bad_lines) {
        buf_str(&line, "prints what is not OpenMetrics text: ");
        put_redacted(&line, "", now->bad);
        report_failure(r, now->bad_lines, &line);
    }
    if (now->too_long && !then->too_long) {
        buf_str(&line, "printed more than 1 MiB without an end of a reading");
        report_failure(r, now->too_long, &line);
    }
    if (left) {
        put_left_out(&line, r, now);
        report_failure(r, 0, &line);
        r->left_out_reported = true;
    }
    *then = *now;
    buf_done(&line);
}

static void trouble(void *state, collector_say *say, void *context)
{
    struct program_row *r = state;
    struct buf line = {0};
    const struct program_status *s = program_status(r->program);
    bool nothing = s->starts && !s->readings && !s->failures && r->sampling->now_ns >= SHORT_RUN;
    if (!s->failures && !s->silences && !s->bad_lines && !s->too_long && !left_out(r, s) && !nothing)
        return;
    buf_printf(&line, "collector %s:", r->name);
    if (s->failures) {
        buf_str(&line, " ");
        put_failure(&line, s);
        if (s->failures > 1)
            buf_printf(&line, ", the last of %u failures", s->failures);
        put_redacted(&line, "; last words: ", s->words);
    } else if (nothing) {
        buf_str(&line, s->unfinished ? " no reading: text needs a line '# EOF' at its end" : " no reading");
    } else if (s->silences) {
        buf_str(&line, " no reading for 10 s or longer");
    }
    const char *before = s->failures || nothing || s->silences ? ";" : "";
    if (s->too_long) {
        buf_printf(&line, "%s %u times more than 1 MiB without an end of a reading", before, s->too_long);
        before = ";";
    }
    if (s->bad_lines) {
        buf_printf(&line, "%s %u lines not understood, the first: ", before, s->bad_lines);
        put_redacted(&line, "", s->bad);
        before = ";";
    }
    if (left_out(r, s)) {
        buf_printf(&line, "%s ", before);
        put_left_out(&line, r, s);
    }
    buf_byte(&line, 0);
    if (!line.failed)
        say(context, (const char *)line.at);
    buf_done(&line);
}

/* ---- the row ---- */

static uint64_t start_of(void *context, int32_t pid)
{
    struct program_row *r = context;
    const struct member *m = tree_find(&r->sampling->job->tree, pid);
    return m && m->row.key.start ? m->row.key.start : proc_read_start(r->sampling->options.proc_fd, pid);
}

/* The first process of the job, which is passed to the program. */
static int32_t first_pid(const struct sampling *g)
{
    const struct tree *tree = &g->job->tree;
    return tree->n && tree->at[0] && tree->at[0]->is_target ? tree->at[0]->row.key.pid : 0;
}

static bool tick_program(void *state, const struct collector_tick *t)
{
    struct program_row *r = state;
    uint32_t failures = r->reported.failures;
    if (!t->last)
        program_run(r->program, first_pid(r->sampling));
    const struct reading *reading = program_take(r->program);
    uint64_t start = r->sampling->options.start_monotonic_ns;
    if (reading) {
        uint64_t read_ns = reading->read_ns > start ? reading->read_ns - start : 0;
        read_ns = read_ns < t->now_ns ? read_ns : t->now_ns;
        program_table_take(&r->table, reading, &r->sampling->entity_ids, read_ns ? read_ns : 1, start_of, r);
    }
    report_changes(r);
    if (!reading && r->reported.failures != failures)
        program_table_clear(&r->table, t->now_ns);
    return true;
}

static int32_t program_helper_pid(void *state)
{
    const struct program_row *r = state;
    return (int32_t)program_pid(r->program);
}

/* Was the process started by the helper process or by a descendant of it? */
static bool owns(void *state, int32_t pid)
{
    const struct program_row *r = state;
    const struct sampling *g = r->sampling;
    struct pid_stat st;
    int32_t helper = (int32_t)program_pid(r->program);
    for (int i = 0; helper && pid > 1 && i < ANCESTORS_MOST; i++, pid = st.ppid) {
        if (pid == helper)
            return true;
        if (proc_read_stat(g->options.proc_fd, pid, &st) < 0)
            return false;
    }
    return false;
}

static void cost_of_program(void *state, struct collector_cost *ret)
{
    struct program_row *r = state;
    ret->unbudgeted_ns = program_cpu_ns(r->program);
}

static void finish_program(void *state)
{
    struct program_row *r = state;
    program_end(r->program);
}

static void close_program(void *state, bool exiting)
{
    struct program_row *r = state;
    program_free(r->program);
    r->program = NULL;
    if (exiting)
        return;
    program_table_done(&r->table);
    free(r);
}

const struct collector program_collector = {
    .name = "program",
    .period_ns = PERIOD_LEAST,
    .tick = tick_program,
    .helper = program_helper_pid,
    .owns = owns,
    .cost = cost_of_program,
    .trouble = trouble,
    .finish = finish_program,
    .close = close_program,
};
