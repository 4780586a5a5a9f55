/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of the host and of a running job; the report of a job, which the program baro-report makes, and the trend
 * of its command, which baro-log makes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/fmt.h"
#include "programs/baro-serve/embedded.h"
#include "programs/baro-serve/route.h"
#include "programs/baro-serve/server.h"
#include "programs/baro-serve/sight.h"
#include "programs/common/find_program.h"

#define REPORT_BYTES (64u << 20)    /* largest size of a report */
#define REPORT_NS (60 * NS_PER_SEC) /* how long making it may take */
#define CHUNK 65536u
#define TREND_JOBS 200u    /* most jobs of a trend */
#define TREND_LOOKED 5000u /* of the newest that have ended */

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

/* A program beside this one that writes a page to standard output. */
struct maker {
    const char *program;
    const char *const *argv;
    const char *what; /* "report" */
    const char *none; /* what it means if it fails; NULL: the tape can't be read */
};

static int start(const struct maker *m, int out, int said, pid_t *ret)
{
    char program[PATH_MAX];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none;
    if (!program_beside(m->program, program))
        return -ENOENT;
    sigemptyset(&none);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (said >= 0)
        posix_spawn_file_actions_adddup2(&actions, said, STDERR_FILENO);
    int error = posix_spawn(ret, program, &actions, &attr, (char *const *)m->argv, environ);
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
static void fail_child(struct request *q, const struct maker *m, int status, int said)
{
    char text[512];
    ssize_t n = said < 0 ? -1 : pread(said, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = 0;
    if (strstr(text, "out of memory") || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) {
        request_fail(q, 503, "no_memory", "out of memory for the %s of job %s", m->what, job_id(q->job));
        return;
    }
    if (m->none && WIFEXITED(status) && WEXITSTATUS(status) == 2) {
        request_fail(q, 404, "no_value", "%s", m->none);
        return;
    }
    if (n > 0)
        fd_write_all(STDERR_FILENO, text, (size_t)n, NULL); /* may fail: standard error may be closed */
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        request_fail(q, 503, "no_reporter", "the program %s, which makes the %s, can't be run", m->program, m->what);
    else
        request_fail(q, 500, "unreadable", "no %s can be made of job %s: its tape is damaged, or was removed", m->what,
                     job_id(q->job));
}

static void fail_start(struct request *q, const struct maker *m, int code)
{
    if (code == -ENOENT)
        request_fail(q, 503, "no_reporter", "the program %s, which makes the %s, is not beside baro-serve", m->program,
                     m->what);
    else
        request_fail(q, 503, code == -ENOMEM ? "no_memory" : "no_reporter",
                     "can't start the program %s, which makes the %s: %s", m->program, m->what, strerror(-code));
}

/* Reads the page from the child and reaps it. `said` is a file with its messages. */
static void run_child(struct request *q, const struct maker *m, int ends[2], int said)
{
    int status = 0;
    unsigned tries = 0;
    pid_t child = -1;
    int code = start(m, ends[1], said, &child);
    close(ends[1]);
    bool is_whole = code == 0 && read_all(ends[0], &q->out);
    if (code == 0 && !is_whole)
        kill(child, SIGKILL);
    while (code == 0 && waitpid(child, &status, 0) < 0 && fd_again(&tries))
        ;
    q->is_frozen = code == 0 && is_whole && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (code < 0)
        fail_start(q, m, code);
    else if (!q->is_frozen && q->out.failed)
        return; /* the budget has no room for the report */
    else if (!is_whole)
        request_fail(q, 503, "too_slow", "the %s of job %s takes too long to make, or is too large", m->what,
                     job_id(q->job));
    else if (!q->is_frozen)
        fail_child(q, m, status, said);
}

static void make_page(struct request *q, const struct maker *m)
{
    int ends[2], said = memfd_create("report", MFD_CLOEXEC); /* for messages of the child; -1: it writes to ours */
    q->status = 200;
    q->type = "text/html; charset=utf-8";
    if (pipe2(ends, O_CLOEXEC) == 0) {
        run_child(q, m, ends, said);
        close(ends[0]);
    } else {
        request_fail(q, 503, "no_descriptors", "can't make a %s: %s", m->what, strerror(errno));
    }
    fd_close(said);
}

/* Each of from, to and by may be NULL. */
static void make_report(struct request *q, const char *path, const char *from, const char *to, const char *by)
{
    const char *argv[16] = {"baro-report", "report", "--format", "html", "-o", "-"};
    const struct {
        const char *option, *value;
    } given[] = {{"--from", from}, {"--to", to}, {"--by", by}};
    size_t n = 6;
    for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++) {
        if (!given[i].value)
            continue;
        argv[n++] = given[i].option;
        argv[n++] = given[i].value;
    }
    argv[n++] = "--";
    argv[n] = path;
    make_page(q, &(struct maker){"baro-report", argv, "report",
                                 from || to || by ? "its tape has no such stretch of time, or no such groups" : NULL});
}

/* Finds the newest recording of the machine that had begun before the job did and goes on into it, to be released with
 * job_release(); NULL: there is none that the client may see. */
static struct job *machine_of(struct request *q)
{
    const struct job_filter any = {.state = -1, .no_private = !sight_all(q)};
    struct catalogue *c = q->server->catalogue;
    struct job_list list = {0};
    int64_t start_ns, end_ns, began_ns, ended_ns;
    struct job *found = NULL;
    if (job_is_machine(c, q->job, &start_ns, &end_ns) || !start_ns ||
        catalogue_list(c, &any, 0, TREND_LOOKED, &list) < 0)
        return NULL;
    for (size_t i = 0; i < list.n && !found; i++) {
        bool is_machine = job_is_machine(c, list.at[i], &began_ns, &ended_ns) && !list.at[i]->hangs;
        found = is_machine && began_ns <= start_ns && ended_ns > start_ns ? list.at[i] : NULL;
    }
    found = found ? catalogue_find(c, found->shown) : NULL;
    job_list_done(c, &list);
    return found;
}

/* Adds a link to /jobs/ID/machine to the report. Its address is relative: the id needs no escaping. */
static void link_machine(struct buf *page)
{
    static const char mark[] = "<span class=\"tools\">",
                      link[] = "<a href=\"machine\" title=\"the machine while it ran\">Machine</a>";
    const unsigned char *at = memmem(page->at, page->len, mark, sizeof(mark) - 1);
    size_t before = at ? (size_t)(at - page->at) + sizeof(mark) - 1 : 0, n = sizeof(link) - 1;
    if (!at || !buf_reserve(page, n))
        return;
    memmove(page->at + before + n, page->at + before, page->len - before);
    memcpy(page->at + before, link, n);
    page->len += n;
}

void report_page(struct request *q)
{
    char version[96];
    uint64_t bytes;
    const char *from = request_param(q, "from"), *to = request_param(q, "to"), *by = request_param(q, "by");
    const bool is_whole = !from && !to && !by;
    struct job *machine = is_whole ? machine_of(q) : NULL;
    const bool has_machine = machine != NULL;
    if (machine)
        job_release(q->server->catalogue, machine);
    if (is_whole && job_version(q->server->catalogue, q->job, &bytes) == JOB_ENDED) {
        snprintf(version, sizeof(version), "report-%llx-%llx-%.8s%s", (unsigned long long)q->job->inode,
                 (unsigned long long)bytes, serve_version, has_machine ? "-machine" : "");
        q->is_frozen = request_unchanged(q, version); /* a 304 replaces the policy that the browser has kept */
        if (q->is_frozen)
            return;
    }
    make_report(q, q->job->path, from, to, by);
    if (q->is_frozen && has_machine)
        link_machine(&q->out);
}

#define READ_NS (500 * NS_PER_MS) /* CPU time to find when a job was */

/* When the job began and ended, as --from and --to take it. */
static bool find_times(struct request *q, struct buf *from, struct buf *to)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_tape_end end = {.size = sizeof(end)};
    struct baro_tape *tape = job_open(q->job, READ_NS, &err);
    if (!tape || baro_tape_read_end(tape, &end, &err) < 0) {
        baro_tape_close(tape);
        return false;
    }
    fmt_time_zone(from, baro_header_start_realtime_ns(baro_tape_header(tape)), 0, true);
    buf_byte(from, 0);
    fmt_time_zone(to, baro_header_realtime_ns(baro_tape_header(tape), end.end_ns), 0, true);
    buf_byte(to, 0);
    baro_tape_close(tape);
    return !from->failed && !to->failed;
}

/* The machine while the job ran. */
void machine_page(struct request *q)
{
    struct buf from = {0}, to = {0};
    struct job *machine = machine_of(q);
    if (!machine)
        request_fail(q, 404, "no_machine", "no recording of the machine was made when job %s began", job_id(q->job));
    else if (!find_times(q, &from, &to))
        request_fail(q, 500, "unreadable", "can't read when job %s ran", job_id(q->job));
    else
        make_report(q, machine->path, (const char *)from.at, (const char *)to.at, NULL);
    if (machine)
        job_release(q->server->catalogue, machine);
    buf_done(&from);
    buf_done(&to);
}

/* A word that is no name of a tape, since an operand may be one as well. */
static bool is_fact(const char *word)
{
    size_t n = strlen(word);
    bool is_scoped =
        strncmp(word, "phase:", 6) == 0 || strncmp(word, "command:", 8) == 0 || strncmp(word, "task:", 5) == 0;
    return n < 200 && !strstr(word, "..") && (n < 5 || strcmp(word + n - 5, ".baro") != 0) &&
           (is_scoped || (n && word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_.")] == 0));
}

/* The newest ended jobs of the same command are the operands. */
void trend_page(struct request *q)
{
    const char *argv[8 + TREND_JOBS + 1] = {"baro-log", "trend", "--format", "html",
                                            "-o",       "-",     "--",       request_param(q, "fact")};
    const struct job_filter ended = {.state = JOB_ENDED, .no_private = !sight_all(q)};
    struct job_list list = {0};
    int64_t start_ns;
    size_t n = 8;
    argv[7] = argv[7] ? argv[7] : "wall";
    if (!is_fact(argv[7])) {
        request_fail(q, 400, "bad_parameter", "fact: a fact such as cpu, phase:link cpu or mark.loss");
        return;
    }
    char *title = job_title(q->server->catalogue, q->job, &start_ns);
    if (!title || catalogue_list(q->server->catalogue, &ended, 0, TREND_LOOKED, &list) < 0) {
        request_fail(q, 503, "no_memory", "out of memory for the trend of job %s", job_id(q->job));
        free(title);
        return;
    }
    for (size_t i = 0; i < list.n && n < 8 + TREND_JOBS; i++) {
        char *other = job_title(q->server->catalogue, list.at[i], &start_ns);
        if (other && strcmp(title, other) == 0 && !list.at[i]->hangs)
            argv[n++] = list.at[i]->path;
        free(other);
    }
    if (n > 8)
        make_page(q,
                  &(struct maker){"baro-log", argv, "trend", "no job of this command that ended well has this fact"});
    else
        request_fail(q, 404, "no_job", "no job of this command has ended");
    free(title);
    job_list_done(q->server->catalogue, &list);
}
