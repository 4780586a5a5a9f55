/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-report/compare_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/fmt.h"
#include "programs/common/find_program.h"

#define SHELL "/bin/sh"

static volatile sig_atomic_t interrupted; /* how often, up to 2; set by the handler of SIGINT and SIGTERM */
static volatile sig_atomic_t interrupted_by;

static void on_signal(int signal)
{
    interrupted_by = signal;
    interrupted = interrupted < 2 ? interrupted + 1 : 2;
}

static bool find_baro(char ret[PATH_MAX])
{
    return (program_beside("baro", ret) && access(ret, X_OK) == 0) ||
           (program_beside(BARO_BIN "/baro", ret) && access(ret, X_OK) == 0);
}

/* Executes a program and waits for it. The command's output goes to /dev/null, unless it is to be seen. Returns the
 * status of wait4(2), or -errno. */
static int execute(const struct compared_runs *r, const char *program, char *const *argv)
{
    int status;
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (!pid) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null >= 0)
            dup2(null, STDIN_FILENO);
        if (null >= 0 && !r->s->show_output)
            dup2(null, STDOUT_FILENO);
        if (null >= 0 && !r->s->show_output)
            dup2(null, STDERR_FILENO);
        execvp(program, argv);
        _exit(127);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        if (interrupted > 1) { /* asked for twice: the job may be stopped */
            kill(pid, SIGTERM);
            kill(pid, SIGCONT);
        }
    }
    return status;
}

static int execute_shell(const struct compared_runs *r, const char *command)
{
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)command, NULL};
    return execute(r, SHELL, argv);
}

static bool is_failure(int status)
{
    return status < 0 || !WIFEXITED(status) || WEXITSTATUS(status);
}

static int prepare(const struct compared_runs *r)
{
    int status = r->s->prepare ? execute_shell(r, r->s->prepare) : 0;
    if (is_failure(status) && !interrupted)
        return cli_failf(r->cli, "--prepare failed: %s", r->s->prepare);
    return 0;
}

/* Records one run. */
static int record(struct compared_runs *r, const char *baro, unsigned command, unsigned round)
{
    struct compared_run *run = &r->run[r->n];
    run->command = command;
    if (snprintf(run->path, sizeof(run->path), "%s/%c-%03u.baro", r->folder, 'a' + (int)command, round + 1) >=
        (int)sizeof(run->path))
        return cli_failf(r->cli, "%s: the name is too long", r->folder);
    const char *named = r->commands[command];
    const char *head[] = {"baro", "run", "-q", "-o", run->path, "--name", named, "--"}, *const shell[] = {"sh", "-c",
                                                                                                          named, NULL};
    const char *const *tail = r->argv ? (const char *const *)r->argv : shell;
    size_t n = 0;
    while (tail[n])
        n++;
    const char **argv = malloc(sizeof(head) + (n + 1) * sizeof(*argv));
    if (!argv)
        return cli_failf(r->cli, "out of memory");
    memcpy(argv, head, sizeof(head));
    memcpy(argv + sizeof(head) / sizeof(*head), tail, (n + 1) * sizeof(*argv));
    int status = execute(r, baro, (char *const *)argv);
    free(argv);
    if (interrupted)
        return 0;
    if (status < 0 || access(run->path, F_OK) < 0)
        return cli_failf(r->cli, "run %u of '%s' could not be recorded", round + 1, r->commands[command]);
    run->status = (unsigned)status;
    r->n++;
    if (is_failure(status) && !r->s->ignore_failure) {
        r->has_failed = true;
        cli_note(r->cli, "run %u of '%s' failed; its tape is %s (--ignore-failure goes on)", round + 1,
                 r->commands[command], run->path);
    }
    return 0;
}

static void say_progress(const struct compared_runs *r, unsigned done, unsigned all, uint64_t began_ns)
{
    struct buf b = {0};
    uint64_t took = clock_monotonic_ns() - began_ns;
    if (!r->cli->tty_err)
        return;
    buf_printf(&b, "\r\033[K%u of %u runs", done, all);
    if (done) {
        buf_str(&b, ", about ");
        fmt_duration(&b, took / done * (all - done));
        buf_str(&b, " left");
    }
    if (!b.failed)
        fprintf(stderr, "%.*s", (int)b.len, (const char *)b.at);
    fflush(stderr);
    buf_done(&b);
}

/* Rounds go forth and back (A B, B A, A B, ...), so that what changes with time meets all commands alike. */
static int run_rounds(struct compared_runs *r, const char *baro)
{
    uint64_t began_ns = clock_monotonic_ns();
    unsigned all = r->s->runs * r->n_commands;
    int status = 0;
    for (unsigned i = 0; i < r->s->warmup * r->n_commands && !status && !interrupted; i++) {
        status = prepare(r);
        if (!status)
            r->argv ? execute(r, *r->argv, r->argv) : execute_shell(r, r->commands[i % r->n_commands]);
    }
    for (unsigned i = 0; i < all && !status && !interrupted && !r->has_failed; i++) {
        unsigned round = i / r->n_commands, place = i % r->n_commands;
        say_progress(r, i, all, began_ns);
        status = prepare(r);
        if (!status && !interrupted)
            status = record(r, baro, round % 2 ? r->n_commands - 1 - place : place, round);
    }
    if (r->cli->tty_err)
        fprintf(stderr, "\r\033[K");
    r->interrupted_by = interrupted ? interrupted_by : 0;
    return status;
}

static int make_folder(struct compared_runs *r)
{
    const char *tmp = getenv("TMPDIR");
    if (r->s->keep) {
        int code = fd_make_folders(r->s->keep);
        if (code < 0)
            return cli_failf(r->cli, "can't make %s: %s", r->s->keep, strerror(-code));
        snprintf(r->folder, sizeof(r->folder), "%s", r->s->keep);
        return 0;
    }
    snprintf(r->folder, sizeof(r->folder), "%s/baro-compare-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
    return mkdtemp(r->folder) ? 0
                              : cli_failf(r->cli, "can't make a folder in %s: %s", tmp ? tmp : "/tmp", strerror(errno));
}

int compare_runs(struct compared_runs *r)
{
    struct sigaction action = {.sa_handler = on_signal}, old_int, old_term;
    char baro[PATH_MAX];
    if (!find_baro(baro))
        return cli_failf(r->cli, "the program baro, which records, is not found");
    r->run = calloc((size_t)r->s->runs * r->n_commands, sizeof(*r->run));
    if (!r->run)
        return cli_failf(r->cli, "out of memory");
    int status = make_folder(r);
    if (status)
        return status;
    interrupted = 0;
    sigaction(SIGINT, &action, &old_int);
    sigaction(SIGTERM, &action, &old_term);
    status = run_rounds(r, baro);
    sigaction(SIGINT, &old_int, NULL);
    sigaction(SIGTERM, &old_term, NULL);
    return status;
}

void compare_runs_done(struct compared_runs *r)
{
    for (unsigned i = 0; i < r->n && !r->s->keep && !r->has_failed; i++)
        unlink(r->run[i].path);
    if (*r->folder && !r->s->keep && !r->has_failed)
        rmdir(r->folder);
    free(r->run);
}
