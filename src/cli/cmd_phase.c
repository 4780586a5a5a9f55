/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baro phase: a command is a phase of the job. The wrapper of `baro run` runs it, without a recorder: its signals,
 * stops, terminal and end are the command's. The lines that say when it began and ended carry the process, so that a
 * phase whose wrapper was killed ends with that.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "baro/text.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/mark_line.h"
#include "command/cli.h"
#include "procfs/procfs.h"
#include "run/filter.h"
#include "run/run.h"

struct phase {
    const struct cli *cli;
    bool quiet;
    const char *name;
    char **attributes;
    size_t n_attributes;
    char **command;
    uint64_t begin_ns;
};

static void note(const struct phase *p, int code)
{
    if (code < 0 && !p->quiet)
        cli_note(p->cli, "%s is no phase: %s", p->name, mark_line_why(code));
}

static uint64_t own_start_ticks(void)
{
    char text[1024];
    struct pid_stat st;
    ssize_t n = fd_read_record(AT_FDCWD, "/proc/self/stat", text, sizeof(text));
    return n > 0 && pid_stat_parse(span_of(text, (size_t)n), &st) == 0 ? st.starttime : 0;
}

/* This process and the time tell it from others of its name. */
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
    uint64_t start = own_start_ticks();
    mark_line_begin(&line, "begin", p->name, p->begin_ns);
    put_id(&line, p);
    if (start) {
        mark_line_number(&line, "pid", (uint64_t)getpid());
        mark_line_number(&line, "start_ticks", start);
    }
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

static void say_not_executed(const struct phase *p, const struct run_result *r)
{
    struct buf line = {0};
    buf_printf(&line, "baro phase: %s: %s\n", **p->command ? *p->command : "''", strerror(r->exec_errno));
    if (r->stderr_fd >= 0 && !line.failed && !p->cli->mute)
        fd_write_all(r->stderr_fd, line.at, line.len, NULL);
    buf_done(&line);
}

/* Under a seccomp filter there may be no wrapper: the phase ends with this process then. */
static int execute_at_once(const struct phase *p)
{
    const struct run_result result = {.exec_errno = filter_execute(p->command), .filter = p->cli->filter};
    cli_note(p->cli, "%s: %s", **p->command ? *p->command : "''", strerror(result.exec_errno));
    run_die_like(&result);
}

int cmd_phase(struct cli *cli, const struct settings *s, char **argv)
{
    struct phase p = {.cli = cli, .quiet = s->record.quiet, .begin_ns = clock_monotonic_ns()};
    struct baro_error err = BARO_ERROR_INIT;
    struct run_result result;
    if (!take_operands(&p, argv))
        return cli_failf(cli, "the command is missing; usage: baro phase %s", cli->command->operands);
    note(&p, report_begin(&p));
    if (cli->filter->essential || cli->filter->process_errno)
        return execute_at_once(&p);
    const struct run_options options = {
        .argv = p.command, .tape_fd = -1, .segments_fd = -1, .events_fd = -1, .folder_fd = -1, .filter = cli->filter};
    if (run_wrapper(&options, NULL, NULL, &result, &err) < 0)
        return cli_fail(cli, &err);
    report_end(&p, &result);
    if (result.exec_errno)
        say_not_executed(&p, &result);
    run_die_like(&result);
}
