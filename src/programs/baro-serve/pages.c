/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of the host and of a running job, and the report of a job, which the program baro-report makes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "programs/baro-serve/embedded.h"
#include "programs/baro-serve/route.h"
#include "programs/baro-serve/server.h"
#include "programs/common/find_program.h"

#define REPORT_BYTES (64u << 20)    /* largest size of a report */
#define REPORT_NS (60 * NS_PER_SEC) /* how long making it may take */
#define CHUNK 65536u

static void constant(struct request *q, const char *type, const char *text)
{
    q->status = 200;
    q->type = type;
    if (!request_unchanged(q, serve_version))
        q->text = text;
}

#define CONSTANT(function, type, text)                                                                                 \
    void function(struct request *q)                                                                                   \
    {                                                                                                                  \
        constant(q, type "; charset=utf-8", text);                                                                     \
    }
CONSTANT(host_page, "text/html", serve_html)
CONSTANT(host_style, "text/css", serve_css)
CONSTANT(host_script, "text/javascript", serve_js)
CONSTANT(shared_script, "text/javascript", serve_shared_js)
CONSTANT(job_page, "text/html", serve_job_html)
CONSTANT(job_script, "text/javascript", serve_job_js)

static int start(const char *tape, int out, int said, pid_t *ret)
{
    char program[PATH_MAX];
    char *const argv[] = {(char *)"baro-report", (char *)"report", (char *)"--format",
                          (char *)"html",        (char *)"-o",     (char *)"-",
                          (char *)"--",          (char *)tape,     NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none;
    if (!program_beside("baro-report", program))
        return -ENOENT;
    sigemptyset(&none);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (said >= 0)
        posix_spawn_file_actions_adddup2(&actions, said, STDERR_FILENO);
    int error = posix_spawn(ret, program, &actions, &attr, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    return -error;
}

/* Reads everything that the child writes. Returns false if it took too long or wrote too much. */
static bool read_all(int fd, struct buf *out)
{
    uint64_t until_ns = clock_monotonic_ns() + REPORT_NS;
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= until_ns || out->len > REPORT_BYTES || !buf_reserve(out, CHUNK))
            return false;
        if (poll(&ready, 1, (int)((until_ns - now_ns) / NS_PER_MS) + 1) <= 0)
            continue;
        ssize_t n = read(fd, out->at + out->len, CHUNK);
        if (n > 0)
            out->len += (size_t)n;
        else if (n == 0 || (errno != EINTR && errno != EAGAIN))
            return n == 0;
    }
}

/* Fails the request with the reason why the child has failed. */
static void fail_child(struct request *q, int status, int said)
{
    char text[512];
    ssize_t n = said < 0 ? -1 : pread(said, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = 0;
    if (strstr(text, "out of memory") || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) {
        request_fail(q, 503, "no_memory", "out of memory for the report of job %s", job_id(q->job));
        return;
    }
    if (n > 0)
        fd_write_all(STDERR_FILENO, text, (size_t)n, NULL); /* may fail: standard error may be closed */
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        request_fail(q, 503, "no_reporter", "the program baro-report, which makes reports, can't be run");
    else
        request_fail(q, 500, "unreadable", "no report can be made of job %s: its tape is damaged, or was removed",
                     job_id(q->job));
}

static void fail_start(struct request *q, int code)
{
    if (code == -ENOENT)
        request_fail(q, 503, "no_reporter", "the program baro-report, which makes reports, is not beside baro-serve");
    else
        request_fail(q, 503, code == -ENOMEM ? "no_memory" : "no_reporter",
                     "can't start the program baro-report, which makes reports: %s", strerror(-code));
}

/* Reads the report from the child and reaps it. `said` is a file with its messages. */
static void run_child(struct request *q, int ends[2], int said)
{
    int status = 0;
    unsigned tries = 0;
    pid_t child = -1;
    int code = start(q->job->path, ends[1], said, &child);
    close(ends[1]);
    if (code == 0)
        workers_child(&q->server->workers, q, child);
    bool is_whole = code == 0 && read_all(ends[0], &q->out);
    if (code == 0 && !is_whole)
        kill(child, SIGKILL);
    workers_child(&q->server->workers, q, 0); /* after it was reaped, another process may get its pid */
    while (code == 0 && waitpid(child, &status, 0) < 0 && fd_again(&tries))
        ;
    q->is_frozen = code == 0 && is_whole && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (code < 0)
        fail_start(q, code);
    else if (!q->is_frozen && q->out.failed)
        return; /* the budget has no room for the report */
    else if (!is_whole)
        request_fail(q, 503, "too_slow", "the report of job %s takes too long to make, or is too large",
                     job_id(q->job));
    else if (!q->is_frozen)
        fail_child(q, status, said);
}

static void make_report(struct request *q)
{
    int ends[2], said = memfd_create("report", MFD_CLOEXEC); /* for messages of the child; -1: it writes to ours */
    q->status = 200;
    q->type = "text/html; charset=utf-8";
    if (pipe2(ends, O_CLOEXEC) == 0) {
        run_child(q, ends, said);
        close(ends[0]);
    } else {
        request_fail(q, 503, "no_descriptors", "can't make a report: %s", strerror(errno));
    }
    fd_close(said);
}

void report_page(struct request *q)
{
    char version[80];
    uint64_t bytes;
    if (job_version(q->server->catalogue, q->job, &bytes) == JOB_ENDED) {
        snprintf(version, sizeof(version), "report-%llx-%llx-%.8s", (unsigned long long)q->job->inode,
                 (unsigned long long)bytes, serve_version);
        if (request_unchanged(q, version))
            return;
    }
    make_report(q);
}
