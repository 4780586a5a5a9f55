/* SPDX-License-Identifier: Apache-2.0 */
/* baro run: the wrapper and the recorder put together. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "kernel/cgroup/discover.h"
#include "programs/baro/beside.h"
#include "programs/baro/inside.h"
#include "programs/baro/mark_line.h"
#include "programs/baro/follower.h"
#include "programs/baro/mlflow.h"
#include "programs/baro/options_select.h"
#include "programs/baro/programs.h"
#include "programs/baro/recording.h"
#include "programs/common/cli.h"
#include "recorder/collectors/sockets/sockets.h"
#include "recorder/marks/marks_file.h"
#include "recorder/wrapper/own_cgroup.h"
#include "recorder/wrapper/run.h"

/* ---- --runs ---- */

/* baro run --runs N: the command several times, by baro compare. */

/* Returns an option that was given, and that a set of runs can't have; NULL: there is none. */
static const char *option_too_many(const struct settings *s)
{
    const struct record_settings *r = &s->record;
    const struct {
        const char *name;
        bool is_given;
    } others[] = {
        {"--keep", r->keep_ns || r->keep_bytes},
        {"--force", r->force},
        {"--tag", s->tags.n > 0},
        {"--note", r->note != NULL},
        {"--verbose", r->verbose},
        {"--interval", r->interval_ns > 0},
        {"--du", r->n_directories > 0},
        {"--gpu", strcmp(r->gpu, "auto") != 0},
        {"--no-cmdline", !r->cmdline},
        {"--name", r->name != NULL},
        {"--task", r->task || r->select.n_rules},
        {"--cgroup", r->own_group != 0},
        {"--on-limit", r->on_limit},
        {"--wait-all", r->wait_all},
        {"--no-subreaper", !r->subreaper},
        {"--no-host", !r->host},
        {"--top", r->top},
        {"--mlflow", r->mlflow},
        {"--push", r->push != NULL},
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        if (others[i].is_given)
            return others[i].name;
    }
    for (size_t i = 0; i < SETTINGS_LIMITS; i++) {
        if (r->limits[i])
            return "--limit";
    }
    return NULL;
}

/* Becomes baro compare. Returns only on failure, with the exit status. */
static int repeat_run(struct cli *cli, const struct settings *s, char **argv)
{
    const char *other = option_too_many(s);
    char runs[16], warmup[16];
    size_t n = 0, at = 0;
    while (argv[n])
        n++;
    if (other)
        return cli_failf(cli, "%s and --runs: one of them; baro compare has the options of a set of runs", other);
    int code = s->record.output ? fd_make_folders(s->record.output) : 0;
    if (code < 0)
        return cli_failf(cli, "can't make the folder %s for the tapes: %s", s->record.output, strerror(-code));
    char **all = calloc(n + 13, sizeof(*all));
    if (!all)
        return cli_failf(cli, "out of memory");
    snprintf(runs, sizeof(runs), "%u", s->compare.runs);
    snprintf(warmup, sizeof(warmup), "%u", s->compare.warmup);
    const char *const head[] = {"", "compare", "--no-shell", "--show-output", "--runs", runs, "--warmup", warmup};
    for (; at < sizeof(head) / sizeof(*head); at++)
        all[at] = (char *)head[at];
    if (s->compare.prepare) {
        all[at++] = (char *)"--prepare";
        all[at++] = (char *)s->compare.prepare;
    }
    if (s->record.output) {
        all[at++] = (char *)"--keep";
        all[at++] = (char *)s->record.output;
    }
    all[at++] = (char *)"--";
    memcpy(all + at, argv, n * sizeof(*argv));
    programs_become((char *)"baro-report", all);
    int error = errno;
    free(all);
    return cli_failf(cli, "can't execute baro-report, which runs a command several times: %s", strerror(error));
}

/* ---- --check ---- */

/* `baro run --check`: `baro check`, which another program has, before and after the command. */

/* Executes `baro-report` with standard output on a descriptor. All signals are blocked in a wrapper, and not in what it
 * starts. Returns its exit status. */
static int execute(char **argv, int out_fd, int err_fd)
{
    const struct sigaction wanted = {.sa_handler = SIG_DFL};
    struct sigaction before;
    int status = CLI_FAILED << 8;
    sigaction(SIGCHLD, &wanted, &before); /* where it is ignored, a child leaves no status */
    pid_t pid = fork();
    if (!pid) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (err_fd >= 0)
            dup2(err_fd, STDERR_FILENO);
        dup2(out_fd, STDOUT_FILENO);
        programs_become((char[]){"baro-report"}, argv);
        dprintf(STDERR_FILENO, "baro run: --check: can't execute baro-report: %s\n", strerror(errno));
        _exit(CLI_FAILED);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    sigaction(SIGCHLD, &before, NULL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : CLI_FAILED;
}

/* Is the budget well-formed? Else that was reported. */
static bool check_run_is_valid(const char *budget)
{
    char *argv[] = {NULL, (char[]){"check"}, (char[]){"--list"}, (char[]){"--budget"}, (char *)budget, NULL};
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int status = null < 0 ? CLI_FAILED : execute(argv, null, -1);
    if (null >= 0)
        close(null);
    return status == 0;
}

/* Checks a tape, and prints to stderr_fd what it says. Returns the exit status. */
static int check_run(const char *budget, const char *tape, int stderr_fd)
{
    char *argv[] = {NULL, (char[]){"check"}, (char[]){"--budget"}, (char *)budget, (char[]){"--"}, (char *)tape, NULL};
    return execute(argv, stderr_fd >= 0 ? stderr_fd : STDERR_FILENO, stderr_fd);
}

/* ---- processes that the control group allows ---- */

/*
 * Checks the number of processes that the job's control group allows (pids.max). If it is low, a recorder and its
 * helpers must not take the places that the command needs. A recording needs three besides this process: the recorder,
 * the command, and a child of the command. Two helpers make five. --gpu starts one more, which is ignored here.
 */

enum room { ROOM_ENOUGH, ROOM_NO_HELPERS, ROOM_NONE };

#define ROOM_LEAST 3u /* recorder, command, a child of it */
#define ROOM_WHOLE 5u /* two helpers as well */

/* What there is room for; ret_why: why not for all. */
static enum room room_check(struct baro_error *ret_why)
{
    char text[4096];
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text));
    int fd = n > 0 ? open("/sys/fs/cgroup", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0)
        return ROOM_ENOUGH;
    const struct cgroup_room r = cgroup_pids_room(fd, span_of(text, (size_t)n));
    fd_close(fd);
    if (r.left >= ROOM_WHOLE)
        return ROOM_ENOUGH;
    unsigned long long most = r.most, taken = r.most - r.left;
    if (r.left >= ROOM_LEAST) {
        error_set(ret_why, -EAGAIN,
                  "no helper was started: pids.max of the control group is %llu; with %llu it would be", most,
                  taken + ROOM_WHOLE);
        return ROOM_NO_HELPERS;
    }
    error_set(ret_why, -EAGAIN, "pids.max of the control group is %llu, and recording takes %llu processes", most,
              taken + ROOM_LEAST);
    return ROOM_NONE;
}

struct running {
    struct recording recording;
    struct record_options options;
    struct own_group own;
    struct marks_file marks;
    struct namespaces namespaces;
    struct baro_error no_helpers; /* the reason why there is no room for helpers; empty: there is room */
};

static int recorder(void *context, const struct link_end *link)
{
    struct running *run = context;
    struct baro_error err = BARO_ERROR_INIT;
    run->recording.stderr_fd = -1;
    run->recording.link = link;
    int code = record_run(&run->options, link, &err);
    if (code < 0)
        recording_say(&run->recording, err.text);
    else if (code > 0)
        recording_tidy(&run->recording);
    return code < 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Reports that the recorder was lost. If it hangs in the tape's file system, this process would hang there, too, so
 * it does not open the tape then. */
static void say_lost(struct running *run, const struct run_result *result, struct baro_error *line)
{
    struct recording *r = &run->recording;
    struct stat st;
    const char *path = r->path.len ? (const char *)r->path.at : "";
    const char *why =
        result->recorder_errno ? strerror(result->recorder_errno) : "the recorder went away before it could write";
    if (result->recorder_stays)
        error_set(line, -1, "the recorder has not finished; what it has written is readable: %s",
                  *path ? path : "nowhere");
    else if (recording_settle(r))
        error_set(line, -1, "the recorder %s; what it had written is readable: %.200s",
                  result->recorder_killed ? "was killed (baro summary says whether memory ran out)" : "went away",
                  path);
    else if (*path && fstatat(r->file.dir_fd, r->file.name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        error_set(line, -1, "nothing was recorded: %s; %.120s is as it was", why, path);
    else
        error_set(line, -1, "nothing was recorded: %s", why);
}

static void report_problem(struct running *run, const struct run_result *result, const char *command)
{
    struct baro_error line = BARO_ERROR_INIT;
    run->recording.stderr_fd = result->stderr_fd;
    if (result->exec_errno)
        recording_discard(&run->recording);
    if (result->exec_errno)
        error_set(&line, -result->exec_errno, "%s: %s", *command ? command : "''", strerror(result->exec_errno));
    else if (result->recorder_lost)
        say_lost(run, result, &line);
    else if (result->wait_refused)
        error_set(&line, -1, "--wait-all: nothing was waited for: /proc does not list what the command left behind");
    if (line.text[0])
        recording_say(&run->recording, line.text);
}

static void becoming(void *context, int error)
{
    struct running *run = context;
    struct baro_error line = BARO_ERROR_INIT;
    bool is_limited = run->options.run.limits.is_set;
    error_set(&line, -error, "%s: no process can be started and waited for: %s",
              is_limited ? "--limit: nothing was run" : "nothing was recorded", strerror(error));
    recording_say(&run->recording, line.text);
    recording_discard(&run->recording);
    own_remove(&run->own);
    marks_file_remove(&run->marks);
    if (is_limited)
        _exit(CLI_RUN_FAILED);
}

/* Runs the command without wrapper and recorder. Nothing was opened or changed so far. Returns only if the command
 * cannot be executed, with the exit status. */
static int execute_at_once(struct cli *cli, char **argv, const char *why)
{
    cli_note(cli, "nothing was recorded: %s", why);
    const struct run_result result = {.exec_errno = run_at_once(argv)};
    cli_note(cli, "%s: %s", *argv[0] ? argv[0] : "''", strerror(result.exec_errno));
    run_die_like(&result);
}

static void marks_make(struct running *run)
{
    struct baro_error line = BARO_ERROR_INIT;
    int code = marks_file_make(&run->marks);
    if (code == 0)
        return;
    error_set(&line, code, "no file for marks and phases (BARO_EVENTS): %s", strerror(-code));
    recording_say(&run->recording, line.text); /* running the job matters more than these features */
}

static int start_view(struct running *run, const struct cli *cli, bool quiet, int *ret_fd, struct baro_error *err)
{
    int code = beside_start(cli, recording_read_fd(&run->recording), quiet, ret_fd, err);
    if (code < 0)
        recording_discard(&run->recording);
    return code;
}

/* Reports the end of a task. Call it before the process ends: the recorder reads the line before it takes the last
 * sample. */
static void report_task_end(void *context, const struct run_result *result)
{
    const char *name = context;
    struct buf line = {0};
    int status = !result->exec_errno ? result->wait_status : (result->exec_errno == ENOENT ? 127 : 126) << 8;
    mark_line_begin(&line, "task_end", name, result->ended_ns ? result->ended_ns : clock_monotonic_ns());
    mark_line_number(&line, "wait_status", (uint64_t)(status & 0xffff));
    mark_line_append(&line);
    buf_done(&line);
}

/* Within a recording the command becomes a task of that recording. The line is in the file before the command
 * starts. */
static int run_inside(struct cli *cli, const struct record_settings *s, char **argv)
{
    struct buf line = {0};
    mark_line_begin(&line, "run_task", s->task, clock_monotonic_ns());
    inside_put_process(&line);
    int code = mark_line_append(&line);
    buf_done(&line);
    if (code < 0 && !s->quiet)
        cli_note(cli, "%s is no task: %s", s->task, mark_line_why(code));
    return inside_run(cli, argv, code < 0 ? NULL : report_task_end, (char *)s->task);
}

/* Returns false if the command must not be recorded: a control group allows too few processes. */
static bool has_room(struct running *run, struct baro_error *ret_why)
{
    enum room room = room_check(&run->no_helpers);
    if (room == ROOM_NONE)
        *ret_why = run->no_helpers;
    return room != ROOM_NONE;
}

/* ---- limits ---- */

static bool is_limited(const struct record_settings *s)
{
    bool any = false;
    for (size_t i = 0; i < SETTINGS_LIMITS; i++)
        any |= s->limits[i] != 0;
    return any;
}

/* Makes the command's control group. A limit of memory needs one; else running the job matters more than how it is
 * counted. */
static int make_group(struct running *run, const struct record_settings *s, struct baro_error *err)
{
    struct baro_error why = BARO_ERROR_INIT;
    bool needed = s->limits[LIMIT_MEMORY];
    int code = own_make(&run->own, needed ? OWN_OWN : (enum own_mode)s->own_group, &why);
    if (code < 0 && !needed)
        recording_say(&run->recording, why.text);
    if (!needed)
        return 0;
    if (code == 0)
        code = own_limit(&run->own, s->limits[LIMIT_MEMORY], s->limit_signal != 0, &why);
    return code == 0 ? 0
                     : error_set(err, code,
                                 "--limit memory: %s; with v2 start it as `systemd-run --user --scope -p Delegate=yes "
                                 "baro run ...`, or use --limit rss, which is polled",
                                 why.text);
}

static void fill_limits(struct record_limits *ret, const struct record_settings *s)
{
    ret->is_set = is_limited(s);
    memcpy(ret->most, s->limits, sizeof(ret->most));
    ret->signal = s->limit_signal;
    ret->grace_ns = s->limit_grace_ns;
}

/* Without a recorder nothing would end the job, so options that leave it without one are refused. */
static int check_limits(const struct record_settings *s, bool is_inside, const char *unrecorded, struct baro_error *err)
{
    if (!is_limited(s))
        return s->on_limit ? error_set(err, BARO_E_SYNTAX, "--on-limit is for --limit, which was not given") : 0;
    if (is_inside)
        return error_set(err, BARO_E_SYNTAX, "--limit and --task: one of them");
    if (!s->subreaper)
        return error_set(err, BARO_E_SYNTAX, "--limit and --no-subreaper: one of them: orphans could not be ended");
    if (s->limits[LIMIT_MEMORY] && s->own_group == OWN_NONE)
        return error_set(err, BARO_E_SYNTAX, "--limit memory and --cgroup none: one of them");
    return unrecorded ? error_set(err, -EPERM, "--limit: nothing can watch the job: %s", unrecorded) : 0;
}

/* Fills what the recorder has to know. cwd: room for its own folder; it stays borrowed. */
static void fill_options(struct running *run, const struct settings *s, char **argv, char *cwd, size_t cwd_size)
{
    recording_options(&run->recording, &run->options);
    run->options.run.argv = argv;
    run->options.scope.no_helpers = *run->no_helpers.text ? run->no_helpers.text : NULL;
    run->options.run.task = s->record.task;
    run->options.run.wait_all = s->record.wait_all;
    run->options.run.cwd = getcwd(cwd, cwd_size);
    record_listen(&run->options);
    record_note_namespaces(&run->options, &run->namespaces);
    fill_limits(&run->options.run.limits, &s->record);
    run->options.run.own_group = &run->own;
    marks_make(run);
    run->options.marks = &run->marks;
}

static void remove_made(struct running *run)
{
    own_remove(&run->own);
    marks_file_remove(&run->marks);
}

/* Starts what sends the tape elsewhere. */
static void start_followers(const struct running *run, const struct cli *cli, const struct record_settings *s,
                            const char *command)
{
    const char *tape = run->recording.path.len ? (const char *)run->recording.path.at : NULL;
    if (!tape)
        return;
    if (s->mlflow)
        mlflow_start(cli, tape, command);
    follower_push(cli, s->push, tape, 0);
}

int cmd_run(struct cli *cli, const struct settings *s, char **argv)
{
    static struct running run; /* static, because it is large: initializing it would delay a short command */
    struct baro_error err = BARO_ERROR_INIT, wrong = BARO_ERROR_INIT;
    static char cwd[4096]; /* the stack may be small */
    static struct rules rules;
    static struct buf lines;
    if (select_rules(&s->record.select, &rules, &lines, &err) < 0)
        return cli_fail(cli, &err);
    if (s->compare.is_set)
        return repeat_run(cli, s, argv);
    if (s->compare.warmup || s->compare.prepare)
        return cli_failf(cli, "%s is for --runs, which was not given", s->compare.prepare ? "--prepare" : "--warmup");
    bool is_inside = s->record.task && *(getenv("BARO_EVENTS") ?: "");
    if (s->record.wait_all && (is_inside || !s->record.subreaper))
        return cli_failf(cli, "--wait-all and %s: one of them", is_inside ? "--task" : "--no-subreaper");
    if (s->record.check && is_inside)
        return cli_failf(cli, "--check: not with --task inside of a recording");
    if (s->record.check && !check_run_is_valid(s->record.check))
        return CLI_RUN_FAILED;
    if (is_inside && !is_limited(&s->record) && !s->record.on_limit)
        return run_inside(cli, &s->record, argv);
    bool is_refused = !has_room(&run, &err);
    if (check_limits(&s->record, is_inside, is_refused ? err.text : NULL, &wrong) < 0)
        return cli_fail(cli, &wrong);
    if (is_refused)
        return execute_at_once(cli, argv, err.text);
    int code = recording_open(&run.recording, cli, &s->record, base_name(argv[0]), &err);
    if ((code == -EMFILE || code == -ENFILE) &&
        !is_limited(&s->record)) /* a limit of the job: not a wrong call, so the job runs */
        return execute_at_once(cli, argv, err.text);
    if (code < 0)
        return cli_fail(cli, &err);
    int beside_fd = -1;
    if (s->record.top && start_view(&run, cli, s->record.quiet, &beside_fd, &err) < 0)
        return cli_fail(cli, &err);
    start_followers(&run, cli, &s->record, argv[0]);
    if (make_group(&run, &s->record, &err) < 0) {
        beside_end(beside_fd);
        own_remove(&run.own);
        recording_discard(&run.recording);
        return cli_fail(cli, &err);
    }
    fill_options(&run, s, argv, cwd, sizeof(cwd));
    run.options.task_rules = rules.n ? (const char *)lines.at : NULL;
    const struct run_options options = {
        .argv = argv,
        .becoming = becoming,
        .subreaper = s->record.subreaper,
        .wait_all = s->record.wait_all,
        .tape_fd = run.recording.tape_fd,
        .segments_fd = run.recording.segments.dir_fd,
        .events_fd = run.options.run.events_fd,
        .marks = &run.marks,
        .folder_fd = run.recording.file.dir_fd,
        .beside_fd = beside_fd,
        .own = &run.own,
        .is_limited = is_limited(&s->record),
        .tape_path = run.recording.path.len ? (const char *)run.recording.path.at : NULL,
    };
    struct run_result result;
    run.options.run.start_ns = clock_monotonic_ns();
    code = run_wrapper(&options, recorder, &run, &result, &err);
    beside_end(beside_fd);
    remove_made(&run);
    if (code < 0) {
        recording_discard(&run.recording);
        return cli_fail(cli, &err);
    }
    report_problem(&run, &result, argv[0]);
    if (s->record.check && !result.exec_errno && run.recording.path.len) {
        int status = check_run(s->record.check, (const char *)run.recording.path.at, result.stderr_fd);
        if (result.wait_status == 0)
            return status;
    }
    run_die_like(&result);
}
