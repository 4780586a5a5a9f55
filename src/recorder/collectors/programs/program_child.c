/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper process of a collector program.
 *
 * It is a child subreaper: whatever the command starts and leaves behind becomes its child, so that all of it can be
 * found and ended, and nothing of it is ever taken for a process of the job. It ends when the other end of its control
 * socket is closed, which the recorder does at its end, and the kernel does if the recorder is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "recorder/collectors/programs/program_shared.h"
#include "recorder/helper/detach.h"

#define DEADLINE_LEAST (10 * NS_PER_SEC) /* 10 s, or 10 intervals */
#define DEADLINE_INTERVALS 10
#define PAUSE_FIRST NS_PER_SEC
#define PAUSE_MOST (64 * NS_PER_SEC)
#define LIVED (60 * NS_PER_SEC) /* a command that fails later than this did not fail at once */
/* What is read of a program: 1 MiB a second; 4 MiB may come at once. Then it waits in its write(2). */
#define BYTES_PER_SEC (1u << 20)
#define BYTES_AT_ONCE (4u << 20)
#define BYTES_LEAST (64u << 10)
#define ROUND (64u << 10)       /* bytes read from a pipe before other work has its turn */
#define GRACE (100 * NS_PER_MS) /* from SIGTERM to SIGKILL */
#define KILLED_WITHIN (300 * NS_PER_MS)
#define LOOK 500000 /* ns */

struct runner {
    const struct program_options *options;
    int32_t job_pid;
    struct program_shared *shared;
    struct program_status status;
    struct reading_parser *parser;
    uint32_t slot;
    int control_fd, signal_fd, out_fd, err_fd;
    pid_t pid; /* of the command; 0: it does not run */
    bool ended;
    int wait_status;
    bool repeats;                                        /* it ended after its reading when it was last started */
    bool silent;                                         /* and this was reported */
    uint32_t readings;                                   /* since it was started */
    uint64_t started_ns, reading_ns, start_ns, pause_ns; /* start_ns: when it must be started */

    char *text; /* READING_BYTES */
    size_t len;
    struct reading_frame frame;
    bool skipping;             /* skips the rest of a reading that was too long */
    uint64_t first_ns;         /* when the first byte of text came */
    uint64_t bytes, bytes_ns;  /* that may be read, as of bytes_ns */
    char words[PROGRAM_WORDS]; /* a line of standard error that has not ended yet */
    size_t n_words;
};

/* ---- to the recorder ---- */

static void publish_status(struct runner *r)
{
    struct program_shared *s = r->shared;
    uint32_t turn = atomic_load_explicit(&s->turn, memory_order_relaxed);
    atomic_store_explicit(&s->turn, turn + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    memcpy(&s->status, &r->status, sizeof(s->status));
    atomic_store_explicit(&s->turn, turn + 2, memory_order_release);
}

static void publish_cpu(struct runner *r)
{
    struct rusage u;
    if (getrusage(RUSAGE_CHILDREN, &u) < 0)
        return;
    uint64_t ns = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NS_PER_SEC +
                  (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000u;
    atomic_store(&r->shared->children_cpu_ns, ns);
}

/* ---- the command ---- */

/* Runs in a fork. A failure here shows in what the command prints to standard error. */
static _Noreturn void execute(const struct runner *r, int out, int err, pid_t parent)
{
    const struct program_options *o = r->options;
    char text[32];
    sigset_t none;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    setsid();
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int null = open("/dev/null", O_RDONLY);
    if (dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        _exit(127);
    if (null > STDERR_FILENO)
        close(null);
    if (o->folder && chdir(o->folder) < 0) {
        /* then the directory stays the same */
    }
    snprintf(text, sizeof(text), "%llu.%03llu", (unsigned long long)(o->interval_ns / NS_PER_SEC),
             (unsigned long long)(o->interval_ns / NS_PER_MS % 1000));
    setenv("BARO_INTERVAL", text, 1);
    snprintf(text, sizeof(text), "%d", r->job_pid);
    if (r->job_pid)
        setenv("BARO_PID", text, 1);
    else
        unsetenv("BARO_PID");
    execl("/bin/sh", "sh", "-c", o->command, (char *)NULL);
    static const char words[] = "/bin/sh can't be executed\n";
    if (write(STDERR_FILENO, words, sizeof(words) - 1) < 0)
        _exit(126);
    _exit(127);
}

static void note_failure(struct runner *r, enum program_failure why)
{
    uint64_t now = clock_monotonic_ns();
    r->status.failures++;
    r->status.failure = (uint8_t)why;
    r->status.wait_status = r->wait_status;
    r->pause_ns = !r->pause_ns || (r->started_ns && now - r->started_ns >= LIVED) ? PAUSE_FIRST
                  : r->pause_ns < PAUSE_MOST                                      ? r->pause_ns * 2
                                                                                  : PAUSE_MOST;
    r->start_ns = now + r->pause_ns;
    r->repeats = false;
}

/* Output from before belongs to the last start. */
static void forget_output(struct runner *r)
{
    r->out_fd = fd_close(r->out_fd);
    r->err_fd = fd_close(r->err_fd);
    r->len = r->n_words = 0;
    r->frame = (struct reading_frame){0};
    r->skipping = false;
}

static bool open_pipes(int out[2], int err[2])
{
    if (pipe2(out, O_CLOEXEC) < 0)
        return false;
    if (pipe2(err, O_CLOEXEC) < 0) {
        close(out[0]);
        close(out[1]);
        return false;
    }
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(err[0], F_SETFL, O_NONBLOCK);
    return true;
}

static void start_command(struct runner *r)
{
    int out[2], err[2];
    pid_t self = getpid(), pid = -1;
    forget_output(r);
    reading_parser_init(r->parser);
    r->status.starts++;
    r->status.words[0] = 0;
    r->started_ns = r->reading_ns = clock_monotonic_ns();
    r->readings = 0;
    r->ended = r->silent = false;
    if (open_pipes(out, err)) {
        pid = fork();
        if (pid == 0)
            execute(r, out[1], err[1], self);
        int error = errno;
        close(out[1]);
        close(err[1]);
        r->out_fd = out[0];
        r->err_fd = err[0];
        errno = error;
    }
    if (pid < 0) {
        r->status.error_number = errno;
        forget_output(r);
        note_failure(r, PROGRAM_REFUSED);
        return;
    }
    r->pid = pid;
    setpgid(pid, pid); /* until it has called setsid() */
    atomic_store(&r->shared->group, pid);
}

/* ---- ends ---- */

static void reap(struct runner *r)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != r->pid)
            continue;
        r->pid = 0;
        r->wait_status = status;
        r->ended = true;
    }
    publish_cpu(r);
}

/* Do we still have any child? */
static bool alone(struct runner *r)
{
    siginfo_t info;
    reap(r);
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

/* Signals all our children, also those that left the process group. (Without CONFIG_PROC_CHILDREN only the group.) */
static void kill_children(void)
{
    char path[64], text[4096];
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    ssize_t n = fd_read_file(AT_FDCWD, path, text, sizeof(text));
    struct span rest = span_of(text, n > 0 ? (size_t)n : 0);
    uint64_t pid;
    for (scan_blanks(&rest); scan_u64(&rest, &pid) && scan_char(&rest, ' ');) { /* one that is cut off has no blank */
        if (pid > 1 && pid <= INT32_MAX)
            kill((pid_t)pid, SIGKILL);
    }
}

/* When a child ends, its children become ours: repeats until there are none. One in an uninterruptible sleep is left
 * behind. */
static void kill_all(struct runner *r)
{
    uint64_t until = clock_monotonic_ns() + KILLED_WITHIN;
    int32_t group = atomic_load(&r->shared->group);
    if (group > 1 && !alone(r))
        kill(-group, SIGKILL);
    while (!alone(r) && clock_monotonic_ns() < until) {
        kill_children();
        nanosleep(&(struct timespec){.tv_nsec = LOOK}, NULL);
    }
    atomic_store(&r->shared->group, 0);
}

static _Noreturn void end_command(struct runner *r)
{
    int32_t group = atomic_load(&r->shared->group);
    uint64_t until = clock_monotonic_ns() + GRACE;
    if (group > 1 && !alone(r)) {
        kill(-group, SIGTERM);
        kill(-group, SIGCONT);
        while (!alone(r) && clock_monotonic_ns() < until)
            nanosleep(&(struct timespec){.tv_nsec = LOOK}, NULL);
    }
    kill_all(r);
    _exit(0);
}

/* ---- what it prints ---- */

static void take_piece(struct runner *r, struct span piece)
{
    struct reading *reading = &r->shared->mailbox.slot[r->slot];
    bool good = reading_parse(r->parser, piece, reading);
    if (reading->bad_lines && !r->status.bad_lines)
        memcpy(r->status.bad, reading->bad, sizeof(r->status.bad));
    r->status.bad_lines += reading->bad_lines;
    r->status.cut += reading->cut_columns + reading->cut_rows + reading->cut_cells;
    if (!good)
        return;
    reading->read_ns = r->reading_ns = r->first_ns;
    r->status.readings++;
    r->readings++;
    r->silent = false;
    r->slot = mailbox_put(&r->shared->mailbox, r->slot);
}

/* Takes all readings off the front. Of several that came at once only the newest is parsed. */
static void take_pieces(struct runner *r, bool ended)
{
    struct span last = {NULL, 0};
    size_t begin = 0, n;
    while (begin < r->len && (n = reading_next(&r->frame, span_of(r->text + begin, r->len - begin), ended)) > 0) {
        struct span piece = span_of(r->text + begin, n);
        begin += n;
        r->frame = (struct reading_frame){0};
        if (r->skipping || strspn(piece.at, " \t\r\n") >= n) { /* text ends with a NUL */
            r->skipping = false;
            continue;
        }
        last = piece;
    }
    if (last.len)
        take_piece(r, last);
    if (!begin)
        return;
    r->len -= begin;
    memmove(r->text, r->text + begin, r->len);
    r->text[r->len] = 0;
    if (strspn(r->text, " \t\r\n") == r->len) /* the end of the line: the next reading begins with its first byte */
        r->len = 0;
    r->first_ns = clock_monotonic_ns();
    r->frame = (struct reading_frame){0};
}

static void refill(struct runner *r)
{
    uint64_t now = clock_monotonic_ns(), more = (now - r->bytes_ns) / 1000 * BYTES_PER_SEC / 1000000;
    if (!more)
        return;
    r->bytes = r->bytes + more < BYTES_AT_ONCE ? r->bytes + more : BYTES_AT_ONCE;
    r->bytes_ns = now;
}

/* Returns whether there may be more. */
static bool read_output(struct runner *r)
{
    for (size_t sum = 0; sum < ROUND;) {
        size_t room = READING_BYTES - r->len, most = room < r->bytes ? room : r->bytes;
        ssize_t n = r->out_fd >= 0 && most ? read(r->out_fd, r->text + r->len, most) : -1;
        if (n < 0 || !most)
            return false;
        if (n == 0) {
            r->out_fd = fd_close(r->out_fd);
            return false;
        }
        if (!r->len)
            r->first_ns = clock_monotonic_ns();
        r->len += (size_t)n;
        r->text[r->len] = 0;
        r->bytes -= (size_t)n;
        sum += (size_t)n;
        take_pieces(r, false);
        if (r->len == READING_BYTES) {
            r->status.too_long += !r->skipping;
            r->skipping = true;
            r->len = 0;
            r->frame = (struct reading_frame){0};
        }
    }
    return true;
}

/* Keeps the last line that is not empty. */
static void read_errors(struct runner *r)
{
    char text[4096];
    for (int rounds = 0; rounds < 16 && r->bytes >= sizeof(text) && r->err_fd >= 0; rounds++) {
        ssize_t n = read(r->err_fd, text, sizeof(text));
        if (n == 0)
            r->err_fd = fd_close(r->err_fd);
        if (n <= 0)
            return;
        r->bytes -= (uint64_t)n;
        for (ssize_t i = 0; i < n; i++) {
            if (text[i] == '\n') {
                r->n_words = 0;
                continue;
            }
            if (r->n_words + 1 < sizeof(r->status.words)) {
                r->status.words[r->n_words++] = text[i] ? text[i] : '?';
                r->status.words[r->n_words] = 0;
            }
        }
    }
}

/* ---- turns ---- */

static uint64_t deadline(const struct runner *r)
{
    uint64_t ns = DEADLINE_INTERVALS * r->options->interval_ns;
    return ns < DEADLINE_LEAST ? DEADLINE_LEAST : ns;
}

/* All output from before its end is there; processes that it left running are not part of it any more. */
static void finish_start(struct runner *r, enum program_failure killed_for)
{
    kill_all(r);
    r->bytes += READING_BYTES;
    while (read_output(r))
        continue;
    take_pieces(r, true);
    read_errors(r);
    forget_output(r);
    r->ended = false;
    if (killed_for != PROGRAM_FINE) {
        note_failure(r, killed_for);
    } else if (!WIFEXITED(r->wait_status) || WEXITSTATUS(r->wait_status)) {
        note_failure(r, PROGRAM_ENDED);
    } else if (!r->readings) {
        note_failure(r, PROGRAM_EMPTY);
    } else {
        uint64_t now = clock_monotonic_ns(), next = r->started_ns + r->options->interval_ns;
        r->repeats = true;
        r->pause_ns = 0;
        r->start_ns = next > now ? next : now;
    }
}

static void on_time(struct runner *r)
{
    uint64_t now = clock_monotonic_ns();
    if (r->ended) {
        finish_start(r, PROGRAM_FINE);
    } else if (r->pid && r->repeats && now >= r->started_ns + deadline(r)) {
        finish_start(r, PROGRAM_LATE);
    } else if (r->pid && !r->silent && now >= r->reading_ns + deadline(r)) {
        r->silent = true;
        r->status.silences++;
    } else if (!r->pid && now >= r->start_ns) {
        start_command(r);
    }
}

static uint64_t next_due(const struct runner *r)
{
    uint64_t due = UINT64_MAX;
    if (!r->pid)
        return r->start_ns;
    if (r->repeats)
        due = r->started_ns + deadline(r);
    if (!r->silent && r->reading_ns + deadline(r) < due)
        due = r->reading_ns + deadline(r);
    if (r->bytes < BYTES_LEAST) {
        uint64_t refilled = r->bytes_ns + NS_PER_SEC / (BYTES_PER_SEC / BYTES_LEAST);
        due = refilled < due ? refilled : due;
    }
    return due;
}

static void wait_turn(struct runner *r)
{
    bool free = r->bytes >= BYTES_LEAST; /* else it has to wait, as it printed too much */
    struct pollfd p[] = {{.fd = r->control_fd, .events = POLLIN},
                         {.fd = r->signal_fd, .events = POLLIN},
                         {.fd = free ? r->out_fd : -1, .events = POLLIN},
                         {.fd = free ? r->err_fd : -1, .events = POLLIN}};
    uint64_t due = next_due(r), now = clock_monotonic_ns(), left = due > now ? due - now : 0;
    struct timespec t = {(time_t)(left / NS_PER_SEC), (long)(left % NS_PER_SEC)};
    if (ppoll(p, 4, due == UINT64_MAX ? NULL : &t, NULL) < 0 && errno != EINTR)
        end_command(r);
    if (p[0].revents)
        end_command(r);
    struct signalfd_siginfo info;
    while (read(r->signal_fd, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGTERM) /* from the kernel: the recorder has ended */
            end_command(r);
    }
    refill(r);
    if (p[2].revents)
        read_output(r);
    if (p[3].revents)
        read_errors(r);
    reap(r);
}

static bool prepare_pipes(struct runner *r)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGTERM, SIG_DFL);
    r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *text = mmap(NULL, READING_BYTES + 1, PROT_READ | PROT_WRITE, flags, -1, 0);
    void *parser = mmap(NULL, sizeof(*r->parser), PROT_READ | PROT_WRITE, flags, -1, 0);
    if (r->signal_fd < 0 || text == MAP_FAILED || parser == MAP_FAILED)
        return false;
    r->text = text;
    r->parser = parser;
    return true;
}

_Noreturn void program_child(const struct program_child_options *o)
{
    struct runner r = {.options = o->options,
                       .job_pid = o->pid,
                       .shared = o->shared,
                       .control_fd = o->control_fd,
                       .out_fd = -1,
                       .err_fd = -1,
                       .bytes = BYTES_AT_ONCE,
                       .bytes_ns = clock_monotonic_ns()};
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != o->parent)
        _exit(0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    helper_detach(&o->control_fd, 1);
    prctl(PR_SET_NAME, "baro-collect");
    if (!prepare_pipes(&r))
        _exit(1);
    for (;;) {
        on_time(&r);
        r.status.unfinished = (uint32_t)r.len;
        publish_status(&r);
        wait_turn(&r);
    }
}
