/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/span.h"
#include "recorder/marks/marks_file.h"
#include "recorder/wrapper/own_cgroup.h"
#include "recorder/wrapper/wrapper.h"

/* How long the recorder may delay the end. If the wrapper is process 1 of a PID namespace, its end kills the recorder:
 * on a machine so busy that the recorder gets no CPU for a second, its tape would have no end, or nothing at all. */
#define RECORDER_GRACE_NS NS_PER_SEC
#define RECORDER_GRACE_RUNNABLE_NS (10 * NS_PER_SEC)
#define RECORDER_GRACE_PROCESS_1_NS (10 * NS_PER_SEC)
#define HELPERS_GRACE_NS (500 * NS_PER_MS)
#define HELPERS_GRACE_HANGING_NS (5 * NS_PER_MS)
#define HELPERS_CHECK_NS (2 * NS_PER_MS)
#define CHECK_NS (5 * NS_PER_MS) /* how often it is checked whether the recorder hangs in a write, or the view left */

/* Raises the recorder's soft limits. They were meant for the job, and must not end the recorder before the job ends. */
static void recorder_unbind(void)
{
    static const int ignored[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF,
                                  SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU, SIGXCPU, SIGXFSZ, SIGPWR,  SIGIO};
    static const int limits[] = {RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_DATA};
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct rlimit limit;

    /* The terminal's signals, and signals to the process group, must not reach the recorder. It stays in the session:
     * in one of its own it would have an autogroup of its own (sched(7)), and beside a storm of forks on two CPUs,
     * Linux 6.18 gave such a group no CPU time for 0.2 to 0.6 s at a stretch. */
    setpgid(0, 0);
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        sigaction(ignored[i], &ignore, NULL);
    sigmask_set(SIG_SETMASK, 0);
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        if (getrlimit(limits[i], &limit) < 0 || limit.rlim_cur == limit.rlim_max)
            continue;
        limit.rlim_cur = limit.rlim_max;
        setrlimit(limits[i], &limit);
    }
    prctl(PR_SET_NAME, "baro-recorder");
}

/* The locks show that the group is in use until both wrapper and recorder have ended
 * (recorder/wrapper/own_cgroup_dir.h). */
static size_t locks_of(const struct own_group *own, int *ret)
{
    size_t n = own ? own->n : 0;

    for (size_t i = 0; i < n; i++)
        ret[i] = own->at[i].fd;
    return n;
}

static _Noreturn void recorder_run(const struct wrapper *w, int link, const struct run_options *options,
                                   run_recorder *recorder_main, void *context)
{
    const struct link_end end = {.fd = link,
                                 .wrapper = w->self,
                                 .write_hangs_at = w->write_hangs_at,
                                 .limit_word = w->limit_word,
                                 .other = w->other,
                                 .n_others = w->n_others};
    int keep[6 + OWN_MOST] = {
        link, options->tape_fd, options->segments_fd, options->events_fd, options->folder_fd, marks_fd(options->marks)};
    size_t count = 6 + locks_of(options->own, keep + 6);

    recorder_unbind();
    fds_null_standard(-1);
    fds_close_others(keep, count);
    if (chdir("/") < 0) {
        /* If this fails, the recorder stays in the job's directory, which does no harm. */
    }
    _exit(recorder_main(context, &end));
}

static volatile uint64_t *shared_words(void)
{
    void *at = mmap(NULL, 2 * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

/* If this fails, the job runs without a recorder. */
static int recorder_start(struct wrapper *w, const struct run_options *options, run_recorder *recorder_main,
                          void *context)
{
    int ends[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    w->write_hangs_at = shared_words();
    w->limit_word = w->write_hangs_at ? w->write_hangs_at + 1 : NULL;
    pid = fork();
    if (pid == 0)
        recorder_run(w, ends[1], options, recorder_main, context);
    if (pid < 0) {
        int code = -errno;

        close(ends[0]);
        close(ends[1]);
        return code;
    }
    close(ends[1]);
    w->link = ends[0];
    w->recorder = pid;
    return 0;
}

/* The command's ru_maxrss starts with the high-water mark of the address space that execve() replaces, which is ours
 * (setmax_mm_hiwater_rss() in exec_mmap(), fs/exec.c). It is read from /proc, because getrusage() would include what
 * was inherited when we were started. */
static uint64_t floor_read(void)
{
    char text[2048];
    ssize_t len = fd_read_file(AT_FDCWD, "/proc/self/status", text, sizeof(text));
    struct span rest = span_of(text, len > 0 ? (size_t)len : 0), line;
    uint64_t kib;

    while (scan_line(&rest, &line)) {
        if (!span_starts(line, "VmHWM:"))
            continue;
        line = span_of(line.at + 6, line.len - 6);
        scan_blanks(&line);
        return scan_u64(&line, &kib) ? kib * 1024 : 0;
    }
    return 0;
}

/* Closes the wrapper's copies of the command's descriptors. From here on only the command holds them: if it closes a
 * pipe, the pipe is closed, and if it drops a lock, the lock is free. */
static void close_jobs_fds(const struct wrapper *w)
{
    int keep[5 + OWN_MOST] = {w->link, w->stderr_fd, w->folder_fd, w->beside_fd, w->marks_fd};
    size_t count = 5 + locks_of(w->own, keep + 5);

    fds_null_standard(w->stderr_fd);
    fds_close_others(keep, count);
}

static bool time_left(uint64_t deadline, struct timespec *ret)
{
    uint64_t now = clock_monotonic_ns();

    if (now >= deadline)
        return false;
    ret->tv_sec = (time_t)((deadline - now) / NS_PER_SEC);
    ret->tv_nsec = (long)((deadline - now) % NS_PER_SEC);
    return true;
}

static bool limit_is(const struct wrapper *w, unsigned bits)
{
    return w->limit_word && *w->limit_word & bits;
}

static bool limit_acts(struct wrapper *w)
{
    bool acts = limit_is(w, LIMIT_ACTS) && !limit_is(w, LIMIT_OVER) && !w->recorder_ended;

    if (acts)
        w->limit_acted_ns = clock_monotonic_ns();
    return acts;
}

/* Waits for the command's end, or until a limit could not end it. Each round handles everything that has happened
 * before it waits; anything that happens later leaves a pending signal. */
static void command_wait(struct wrapper *w)
{
    const struct timespec at_once = {0, 0}, soon = {.tv_nsec = CHECK_NS};
    bool more;

    for (;;) {
        const struct timespec *most = NULL;
        siginfo_t info;

        bool given_up = limit_is(w, LIMIT_OVER);

        mirror_update(w);
        more = reap_round(w);
        if (w->command_ended || (given_up && !more)) {
            mirror_end(w);
            return;
        }
        if (more)
            most = &at_once;
        else if (w->stopped_by && !w->watcher) /* the view has not left the terminal yet */
            most = &soon;
        /* The signal that is to stop us is not taken, so that it stops us. */
        if (sigmask_wait(w->watcher ? ~SIGMASK_OF(w->stopped_by) : SIGMASK_ALL, &info, most) > 0)
            signal_handle(w, &info);
    }
}

/* The signals that end the wait for what the command left behind, unless they were ignored when we began. */
static sigmask ends_of_wait(void)
{
    static const int all[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigmask ends = 0;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct sigaction now;

        if (sigaction(all[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            ends |= SIGMASK_OF(all[i]);
    }
    return ends;
}

/* Waits until all that the command started has ended. A key that ended the command came to us as well: the next one
 * ends the wait. ^Z stops us as it stops what is left in the terminal's group. */
static void left_wait(struct wrapper *w)
{
    const struct timespec at_once = {0, 0};
    sigmask ends = ends_of_wait();
    siginfo_t info;
    int signal = 0, left = 1;

    while (sigmask_wait(ends, &info, &at_once) > 0)
        ;
    sigmask_set(SIG_UNBLOCK, SIGMASK_OF(SIGTSTP));
    while ((signal <= 0 || !(ends & SIGMASK_OF(signal))) && !limit_is(w, LIMIT_OVER)) {
        bool more = reap_round(w);

        left = more ? 1 : reap_job_left(w);
        if (left <= 0)
            break;
        signal = sigmask_wait(ends | SIGMASK_OF(SIGCHLD) | SIGMASK_OF(SIGURG), &info, more ? &at_once : NULL);
        if (signal == SIGURG)
            signal_handle(w, &info);
    }
    sigmask_set(SIG_BLOCK, SIGMASK_OF(SIGTSTP));
    w->result->wait_refused = left < 0;
}

/* The recorder checks at the command's end whether a limit of the kernel was hit, and ends what the command left behind
 * if one was: it has to hear of the zombies, and orphans are found below us. A key that would have ended the command
 * ends the grace. */
static void limit_wait(struct wrapper *w)
{
    uint64_t deadline = clock_monotonic_ns() + RECORDER_GRACE_NS;
    const struct timespec at_once = {0, 0}, soon = {.tv_nsec = 4 * CHECK_NS};
    sigmask ends = ends_of_wait();
    struct timespec left;

    while (w->recorder && !w->recorder_ended &&
           (limit_acts(w) || (!limit_is(w, LIMIT_CHECKED | LIMIT_OVER) && time_left(deadline, &left)))) {
        bool more = reap_round(w);
        siginfo_t info;
        int signal = sigmask_wait(ends | SIGMASK_OF(SIGCHLD) | SIGMASK_OF(SIGURG), &info, more ? &at_once : &soon);

        if (signal == SIGURG)
            signal_handle(w, &info);
        else if (signal > 0 && ends & SIGMASK_OF(signal))
            link_report(w, LINK_SIGNAL, signal);
    }
}

/* Zombies that the command left behind belong to the job; many of them must not delay the end. */
static void reap_rest(struct wrapper *w)
{
    uint64_t deadline = clock_monotonic_ns() + RECORDER_GRACE_NS;
    struct timespec left;

    while (reap_round(w) && time_left(deadline, &left))
        ;
}

/* A recorder that waits for a CPU (state R) does not hang, however long that takes. */
static bool recorder_hangs(struct wrapper *w)
{
    uint64_t hangs_at = w->write_hangs_at ? *w->write_hangs_at : 0;

    return hangs_at && clock_monotonic_ns() > hangs_at && reap_state(w, w->recorder) != 'R';
}

static struct timespec wait_within(struct timespec left)
{
    return left.tv_sec || left.tv_nsec > (long)CHECK_NS ? (struct timespec){.tv_nsec = CHECK_NS} : left;
}

/* After the grace period, a recorder that has work to do and waits for a CPU is given more time. */
static bool recorder_may_end(struct wrapper *w, uint64_t deadline, struct timespec *left)
{
    uint64_t latest;

    if (recorder_hangs(w))
        return false;
    limit_acts(w);
    if (w->limit_acted_ns && deadline < w->limit_acted_ns + RECORDER_GRACE_NS)
        deadline = w->limit_acted_ns + RECORDER_GRACE_NS;
    latest = deadline - RECORDER_GRACE_NS + RECORDER_GRACE_RUNNABLE_NS;
    return time_left(deadline, left) || (reap_state(w, w->recorder) == 'R' && time_left(latest, left));
}

/* Sends the last message. It has the totals, so the wrapper waits, within the grace period, until the message fits into
 * the socket. */
static void send_last(struct wrapper *w, enum link_kind kind, int64_t number, uint64_t deadline)
{
    struct pollfd out = {.fd = w->link, .events = POLLOUT};
    struct timespec left;

    while (link_report(w, kind, number) == -EAGAIN && recorder_may_end(w, deadline, &left)) {
        left = wait_within(left);
        ppoll(&out, 1, &left, NULL);
    }
    shutdown(w->link, SHUT_WR); /* if the message was lost, the end of file says that this is the end */
}

/* Waits until the recorder's process has ended; otherwise it would be left to process 1, which does not reap in every
 * container. Its messages are read afterwards, so one wake-up is enough; it wakes us earlier only if its buffer is
 * full. */
static void recorder_wait(struct wrapper *w, uint64_t deadline)
{
    struct timespec left;
    siginfo_t info;

    while (!reap_recorder(w) && recorder_may_end(w, deadline, &left)) {
        left = wait_within(left);
        if (sigmask_wait(SIGMASK_OF(SIGCHLD) | SIGMASK_OF(SIGURG), &info, &left) == SIGURG)
            signal_handle(w, &info);
    }
}

/* Reaps helpers that were left to us, the subreaper, because the recorder was killed or they got no CPU time to end. A
 * helper that hangs in the kernel is left to process 1. */
static void helpers_wait(struct wrapper *w)
{
    uint64_t now = clock_monotonic_ns();
    enum reap_left some;
    struct timespec left;
    siginfo_t info;

    reap_round(w);
    while ((some = reap_helpers_left(w)) != REAP_NONE_LEFT &&
           time_left(now + (some == REAP_ENDING ? HELPERS_GRACE_NS : HELPERS_GRACE_HANGING_NS), &left)) {
        const struct timespec pause = {.tv_nsec = HELPERS_CHECK_NS};

        sigmask_wait(SIGMASK_OF(SIGCHLD), &info, &pause);
        reap_round(w);
    }
}

/* A stopped recorder is continued, so that it finishes its tape. */
static void recorder_continue(const struct wrapper *w)
{
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)w->recorder, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid)
        kill(w->recorder, SIGCONT);
}

static void recorder_finish(struct wrapper *w, enum link_kind kind, int64_t number)
{
    uint64_t grace = w->self == 1 ? RECORDER_GRACE_PROCESS_1_NS : RECORDER_GRACE_NS;
    uint64_t deadline = clock_monotonic_ns() + grace;
    bool done = false;

    if (!w->recorder)
        return;
    if (!reap_recorder(w)) {
        recorder_continue(w);
        send_last(w, kind, number, deadline);
    }
    recorder_wait(w, deadline);
    if (w->recorder_ended)
        helpers_wait(w);
    done = link_print_last(w, deadline);
    w->result->recorder_stays = !done && !w->recorder_ended;
    w->result->recorder_lost = !done;
    close(w->link);
    w->link = -1;
}

static void command_follow(struct wrapper *w)
{
    struct link_message started;

    w->totals.floor_rss_bytes = floor_read();
    started = w->totals;
    started.kind = LINK_STARTED;
    started.pid = w->command;
    started.t_ns = w->result->started_ns;
    started.number = w->entered;
    link_put(w, &started);
    close_jobs_fds(w);
    reap_prepare(w);
    command_wait(w);
    if (w->wait_all)
        left_wait(w);
    if (w->is_limited)
        limit_wait(w);
    reap_rest(w);
    recorder_finish(w, LINK_ENDED, !w->command_ended);
    w->result->limit_reached = limit_is(w, LIMIT_ACTS);
}

static void wrapper_init(struct wrapper *w, struct run_result *result)
{
    memset(result, 0, sizeof(*result));
    fd_hold_standard();
    prctl(PR_SET_NAME, "baro"); /* also where a link has another name: check_recorder() in collectors/processes */
    *w = (struct wrapper){.link = -1, .self_io = -1, .command_io = -1, .result = result, .self = getpid()};
    w->session_leader = getsid(0) == w->self;
    w->stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (w->stderr_fd < 0) /* no descriptor left: stderr is used itself */
        w->stderr_fd = STDERR_FILENO;
    result->stderr_fd = w->stderr_fd;
}

/* Can wait4(2) be used at all? Without it there can be no wrapper. No process has a pid above 2^22 (PID_MAX_LIMIT). */
static int waiting_refused(void)
{
    siginfo_t info;

    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno != ECHILD)
        return errno;
    return wait4(INT_MAX, NULL, WNOHANG, NULL) < 0 && errno != ECHILD ? errno : 0;
}

/* No process could be started for the command. Ends the recorder, so that its process is free for what the command
 * starts. */
static void drop_recorder(struct wrapper *w)
{
    if (!w->recorder)
        return;
    kill(w->recorder, SIGKILL);
    recorder_wait(w, clock_monotonic_ns() + RECORDER_GRACE_NS);
    if (w->recorder_ended)
        helpers_wait(w); /* otherwise the command, which this process becomes, would be their parent */
    close(w->link);
    w->link = -1;
    w->recorder = 0;
}

/* Runs the command unrecorded in this process, if no process can be created or none can be waited for. Returns only if
 * the command can't be executed. */
static void become(const struct run_options *options, struct spawn *s, void *context, int error)
{
    if (options->becoming)
        options->becoming(context, error);
    spawn_become(s);
    sigmask_set(SIG_BLOCK, SIGMASK_ALL);
}

int run_wrapper(const struct run_options *options, run_recorder *recorder_main, void *context, struct run_result *ret,
                struct baro_error *err)
{
    struct wrapper w;
    struct spawn spawn;
    int code;

    wrapper_init(&w, ret);
    code = spawn_prepare(&spawn, options, recorder_main != NULL, sigmask_set(SIG_BLOCK, SIGMASK_ALL));
    if (code < 0)
        return error_set(err, code, "can't start %s: out of memory", options->argv[0]);
    code = waiting_refused();
    if (code) {
        become(options, &spawn, context, code);
        ret->exec_errno = spawn.exec_errno;
        return 0;
    }
    w.wait_all = options->wait_all;
    w.is_limited = options->is_limited;
    reap_note_others(&w);
    if (w.is_limited && w.n_others == REAP_OTHERS)
        return error_set(err, -E2BIG,
                         "--limit: this process has %u children or more, which can't be told from the job's",
                         REAP_OTHERS);
    if (recorder_main)
        ret->recorder_errno = -recorder_start(&w, options, recorder_main, context);
    ret->recorder_lost = ret->recorder_errno != 0;
    if (options->is_limited && (ret->recorder_lost || !w.limit_word)) {
        drop_recorder(&w);
        return error_set(err, -EAGAIN,
                         "--limit: nothing can watch the job: no process can be started for the recorder");
    }
    if (options->tape_fd >= 0)
        close(options->tape_fd);
    if (options->subreaper)
        prctl(PR_SET_CHILD_SUBREAPER, 1);

    ret->started_ns = clock_monotonic_ns();
    w.command = spawn_start(&spawn);
    if (w.command < 0) {
        code = -w.command;
        w.command = 0;
        drop_recorder(&w);
        become(options, &spawn, context, code);
    }
    ret->exec_errno = spawn.exec_errno;
    w.entered = spawn.entered;
    w.own = options->own;
    w.folder_fd = options->folder_fd;
    w.beside_fd = options->beside_fd;
    w.marks_fd = marks_fd(options->marks);
    if (!ret->exec_errno) {
        command_follow(&w);
        return 0;
    }
    if (w.command)
        waitpid(w.command, NULL, 0);
    recorder_finish(&w, LINK_FAILED, ret->exec_errno);
    return 0;
}
