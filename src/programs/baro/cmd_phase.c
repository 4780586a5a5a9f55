/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baro phase: runs a command as a phase of the job. The lines that report its begin and end name this process, so that
 * the phase ends with it even if it is killed.
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "baro/text.h"
#include "base/clock.h"
#include "programs/baro/inside.h"
#include "programs/baro/mark_line.h"
#include "programs/common/cli.h"
#include "recorder/wrapper/run.h"

struct phase {
    const struct cli *cli;
    bool quiet;
    const char *name;
    char **attributes;
    size_t n_attributes;
    char **command;
    uint64_t begin_ns;
};

static void note_failure(const struct phase *p, int code)
{
    if (code < 0 && !p->quiet)
        cli_note(p->cli, "%s is no phase: %s", p->name, mark_line_why(code));
}

/* Adds an id, made from this process and the time, that tells the phase from others with its name. */
static void put_id(struct buf *line, const struct phase *p)
{
    struct buf id = {0};
    buf_printf(&id, "%d.%llu", (int)getpid(), (unsigned long long)p->begin_ns);
    buf_byte(&id, 0);
    if (!id.failed)
        mark_line_text(line, "id", (const char *)id.at);
    buf_done(&id);
}

static int report_begin(const struct phase *p)
{
    struct buf line = {0};
    mark_line_begin(&line, "begin", p->name, p->begin_ns);
    put_id(&line, p);
    inside_put_process(&line);
    for (size_t i = 0; i < p->n_attributes; i++)
        mark_line_attribute(&line, p->attributes[i]);
    int code = mark_line_append(&line);
    buf_done(&line);
    return code;
}

static void put_end(struct buf *line, const struct run_result *r)
{
    if (r->exec_errno) {
        mark_line_number(line, "status", r->exec_errno == ENOENT ? 127 : 126);
    } else if (WIFEXITED(r->wait_status)) {
        mark_line_number(line, "status", (uint64_t)WEXITSTATUS(r->wait_status));
    } else {
        const char *name = baro_signal_name(WTERMSIG(r->wait_status));
        mark_line_text(line, "signal", name ? name + strlen("SIG") : "unknown"); /* "TERM", as kill(1) has it */
    }
}

static void report_end(const struct phase *p, const struct run_result *r)
{
    struct buf line = {0};
    mark_line_begin(&line, "end", p->name, r->ended_ns ? r->ended_ns : clock_monotonic_ns());
    put_id(&line, p);
    put_end(&line, r);
    mark_line_append(&line);
    buf_done(&line);
}

/* NAME [KEY=VALUE...] -- COMMAND, or NAME COMMAND. */
static bool take_operands(struct phase *p, char **argv)
{
    size_t n = 1;
    p->name = argv[0];
    while (argv[n] && strcmp(argv[n], "--") != 0 && strchr(argv[n], '='))
        n++;
    bool has_end = argv[n] && strcmp(argv[n], "--") == 0;
    p->attributes = argv + 1;
    p->n_attributes = has_end ? n - 1 : 0;
    p->command = has_end ? argv + n + 1 : argv + 1;
    return *p->command != NULL;
}

static void ended(void *context, const struct run_result *result)
{
    report_end(context, result);
}

int cmd_phase(struct cli *cli, const struct settings *s, char **argv)
{
    struct phase p = {.cli = cli, .quiet = s->record.quiet, .begin_ns = clock_monotonic_ns()};
    if (!take_operands(&p, argv))
        return cli_failf(cli, "the command is missing; usage: baro phase %s", cli->command->operands);
    note_failure(&p, report_begin(&p));
    return inside_run(cli, p.command, ended, &p);
}
