/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/wrapper/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/span.h"
#include "recorder/wrapper/wrapper.h"

#define NO_FD (-1)
#define ALWAYS_TRIED 4 /* probes: what executing the command at once depends on */

/* ---- the probes: one call each, as the wrapper makes it, without an effect outside of the child ---- */

#define SCRAP ((char[256]){0}) /* a buffer for calls that read or write */

/* The core of a killed child is of no use. A limit of 1 also disables a core pattern that is a pipe
 * (fs/coredump.c). */
static void no_core(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_CORE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max < 1 ? limit.rlim_max : 1;
    setrlimit(RLIMIT_CORE, &limit);
}

static void try_write(void)
{
    (void)!write(NO_FD, SCRAP, 1);
}

static void try_wait4(void)
{
    wait4(INT_MAX, NULL, WNOHANG, NULL);
}

static void try_waitid(void)
{
    siginfo_t info;

    waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
}

static void try_prctl(void)
{
    int value;

    prctl(PR_SET_DUMPABLE, 0);
    prctl(PR_GET_PDEATHSIG, &value);
    prctl(PR_SET_PDEATHSIG, 0);
    prctl(PR_GET_CHILD_SUBREAPER, &value);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "baro-probe");
}

static void try_fcntl(void)
{
    fcntl(NO_FD, F_GETFD);
    fcntl(NO_FD, F_DUPFD_CLOEXEC, 3);
}

static void try_open(void)
{
    int fd = open("/", O_PATH | O_CLOEXEC);

    if (fd >= 0)
        close(fd);
}

static void try_stat(void)
{
    struct stat st;

    fstat(STDIN_FILENO, &st); /* for negative descriptors some C libraries make no system call */
    fstatat(NO_FD, "-", &st, AT_SYMLINK_NOFOLLOW);
}

static void try_getpid(void)
{
    getpid();
}

static void try_getcwd(void)
{
    (void)!getcwd(SCRAP, sizeof(SCRAP));
}

static void try_geteuid(void)
{
    geteuid();
}

static void try_flock(void)
{
    flock(NO_FD, LOCK_EX | LOCK_NB);
}

static void try_dup(void)
{
    dup2(NO_FD, STDERR_FILENO);
}

static void try_signals(void)
{
    struct sigaction now;

    sigaction(SIGCHLD, NULL, &now);
    sigmask_set(SIG_BLOCK, SIGMASK_ALL);
}

static void try_wait_for_signal(void)
{
    const struct timespec at_once = {0, 0};
    siginfo_t info;

    sigmask_wait(SIGMASK_OF(SIGURG), &info, &at_once);
}

static void try_kill(void)
{
    kill(getpid(), 0);
}

static void try_socketpair(void)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0)
        return;
    close(ends[0]);
    close(ends[1]);
}

static void try_send(void)
{
    send(NO_FD, SCRAP, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void try_receive(void)
{
    recv(NO_FD, SCRAP, 1, MSG_DONTWAIT);
}

static void try_shutdown(void)
{
    shutdown(NO_FD, SHUT_WR);
}

static void try_poll(void)
{
    const struct timespec at_once = {0, 0};

    ppoll(NULL, 0, &at_once, NULL);
}

static void try_clock(void)
{
    clock_monotonic_ns(); /* makes a system call only if the clock can't be read from user space */
    clock_realtime_ns();
}

static void try_munmap(void)
{
    munmap(SCRAP, 0);
}

static void try_terminal(void)
{
    struct winsize size;

    ioctl(NO_FD, TIOCGWINSZ, &size);
}

static void try_netlink(void)
{
    socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
}

static void try_connect(void)
{
    connect(NO_FD, NULL, 0);
}

static void try_bind(void)
{
    bind(NO_FD, NULL, 0);
}

static void try_setsockopt(void)
{
    setsockopt(NO_FD, SOL_SOCKET, SO_RCVBUFFORCE, SCRAP, sizeof(int));
    setsockopt(NO_FD, SOL_SOCKET, SO_RCVBUF, SCRAP, sizeof(int));
}

static void try_getsockopt(void)
{
    socklen_t len = sizeof(int);

    getsockopt(NO_FD, SOL_SOCKET, SO_RCVBUF, SCRAP, &len);
}

static void try_getxattr(void)
{
    getxattr("/", "user.delegate", SCRAP, sizeof(SCRAP));
}

static void try_getrandom(void)
{
    (void)!getrandom(SCRAP, 4, GRND_NONBLOCK);
}

static void try_access(void)
{
    (void)!faccessat(NO_FD, ".", W_OK, 0);
    (void)!faccessat(NO_FD, ".", W_OK, AT_EACCESS);
    (void)!access("/", X_OK);
}

static void try_clone3(void)
{
#ifdef SYS_clone3
    syscall(SYS_clone3, NULL, 0ul);
#endif
}

static void try_folders(void)
{
    (void)!mkdir("", 0755);
    (void)!mkdirat(NO_FD, "-", 0755);
}

static void try_remove(void)
{
    (void)!rmdir("");
    (void)!unlinkat(NO_FD, "-", 0);
}

static void try_filesystem(void)
{
    struct statfs fs;

    fstatfs(NO_FD, &fs);
}

static void try_read_folder(void)
{
#ifdef SYS_getdents64
    syscall(SYS_getdents64, NO_FD, SCRAP, sizeof(SCRAP));
#endif
}

static void try_pread(void)
{
    (void)!pread(NO_FD, SCRAP, 1, 0);
}

static void try_close_range(void)
{
#ifdef SYS_close_range
    syscall(SYS_close_range, 1u, 0u, 0u); /* refused, because the last is before the first: closes nothing */
#endif
}

static void try_getitimer(void)
{
    struct itimerval now;

    getitimer(ITIMER_REAL, &now);
}

static void try_setitimer(void)
{
    const struct itimerval off = {{0, 0}, {0, 0}};

    setitimer(ITIMER_REAL, &off, NULL);
}

static void try_readlink(void)
{
    (void)!readlinkat(NO_FD, "self", SCRAP, sizeof(SCRAP));
}

static void try_cpu_clock(void)
{
    uint64_t ns;

    clock_process_cpu_ns(1, &ns);
}

static void try_getsid(void)
{
    getsid(0);
}

static void try_setpgid(void)
{
    setpgid(0, 0);
}

static void try_pidfd(void)
{
#ifdef SYS_pidfd_open
    syscall(SYS_pidfd_open, -1, 0u);
#endif
}

static void try_getppid(void)
{
    getppid();
}

static void try_queue(void)
{
    siginfo_t info = {0};

    syscall(SYS_rt_sigqueueinfo, -1, 0, &info);
}

static void try_stack(void)
{
    sigaltstack(NULL, NULL);
}

struct probe {
    const char *name; /* of the system call, for messages */
    void (*call)(void);
    unsigned lack; /* 0: there can be no wrapper without this call */
};

static const struct probe probes[] = {
    {"prlimit64", no_core, FILTER_LIMITS},
    {"write", try_write, FILTER_MESSAGES | FILTER_OWN_GROUP},
    {"wait4", try_wait4, 0},
    {"waitid", try_waitid, 0},
    {"prctl", try_prctl, FILTER_PRCTL},
    {"fcntl", try_fcntl, 0},
    {"open", try_open, 0},
    {"fstat", try_stat, 0},
    {"getpid", try_getpid, 0},
    {"getcwd", try_getcwd, 0},
    {"geteuid", try_geteuid, 0},
    {"flock", try_flock, 0},
    {"rt_sigaction", try_signals, 0},
    {"rt_sigtimedwait", try_wait_for_signal, 0},
    {"kill", try_kill, 0},
    {"socketpair", try_socketpair, 0},
    {"sendto", try_send, 0},
    {"recvfrom", try_receive, 0},
    {"shutdown", try_shutdown, 0},
    {"ppoll", try_poll, 0},
    {"clock_gettime", try_clock, 0},
    {"munmap", try_munmap, 0},
    {"dup2", try_dup, 0},
    {"access", try_access, FILTER_OWN_GROUP | FILTER_RARE},
    {"ioctl", try_terminal, FILTER_TERMINAL},
    {"socket", try_netlink, FILTER_EVENTS},
    {"bind", try_bind, FILTER_EVENTS},
    {"connect", try_connect, FILTER_EVENTS},
    {"setsockopt", try_setsockopt, FILTER_EVENTS},
    {"getsockopt", try_getsockopt, FILTER_EVENTS},
    {"getxattr", try_getxattr, FILTER_OWN_GROUP},
    {"getrandom", try_getrandom, FILTER_OWN_GROUP},
    {"clone3", try_clone3, FILTER_OWN_GROUP},
    {"mkdir", try_folders, FILTER_OWN_GROUP | FILTER_RARE},
    {"unlinkat", try_remove, FILTER_OWN_GROUP | FILTER_RARE},
    {"getdents64", try_read_folder, FILTER_OWN_GROUP | FILTER_READ_FOLDER | FILTER_RARE},
    {"fstatfs", try_filesystem, FILTER_RARE}, /* an old tape without an end, or a link in the way to the folder */
    {"pread64", try_pread, 0},
    {"close_range", try_close_range, FILTER_CLOSE_RANGE},
    {"getitimer", try_getitimer, FILTER_TIMERS},
    {"setitimer", try_setitimer, FILTER_TIMERS},
    {"readlinkat", try_readlink, FILTER_PROC_SELF | FILTER_OWN_GROUP | FILTER_RARE},
    {"clock_gettime", try_cpu_clock, FILTER_CPU_CLOCK},
    {"getsid", try_getsid, FILTER_SESSION},
    {"setpgid", try_setpgid, FILTER_SETPGID},
    {"pidfd_open", try_pidfd, FILTER_PIDFD},
    {"getppid", try_getppid, FILTER_PARENT},
    {"rt_sigqueueinfo", try_queue, FILTER_QUEUE},
    {"sigaltstack", try_stack, FILTER_STACK},
};
#define PROBES (sizeof(probes) / sizeof(probes[0]))

/* ---- children ---- */

/* Clones a child whose end is not reported: no SIGCHLD stays pending for the command, and only __WALL waits for it. We
 * are suspended until it has ended (CLONE_VFORK), so it has ended before it is known whether wait4(2) may be called.
 * Returns -1 if no process can be created. */
static pid_t child_clone(void)
{
    return (pid_t)syscall(SYS_clone, (unsigned long)CLONE_VFORK, 0ul, 0ul, 0ul, 0ul);
}

static void child_reap(pid_t pid, bool by_waitid)
{
    siginfo_t info;

    if (by_waitid)
        waitid(P_PID, (id_t)pid, &info, WEXITED | __WALL);
    else
        wait4(pid, NULL, __WALL, NULL);
}

/* ---- is there a filter? ---- */

/* prctl(PR_GET_SECCOMP) may be what the filter kills at. If this can't be read, a filter is assumed: it only costs
 * time. */
static bool is_there(void)
{
    char text[4096];
    ssize_t len = fd_read_file(AT_FDCWD, "/proc/self/status", text, sizeof(text));
    struct span rest = span_of(text, len > 0 ? (size_t)len : 0), line;

    while (scan_line(&rest, &line))
        if (span_starts(line, "Seccomp:"))
            return !memchr(line.at, '0', line.len);
    return true;
}

/* Returns the number of the probe in which the child was killed, or PROBES; *ret is the child's pid, or -errno. */
static size_t probe_from(size_t from, bool may_limit, volatile size_t *at, pid_t *ret)
{
    *at = from;
    *ret = child_clone();
    if (*ret < 0) {
        *ret = -errno;
        return PROBES;
    }
    if (*ret > 0)
        return *at;
    if (from > 0 && may_limit)
        no_core();
    for (size_t i = from; i < PROBES; i++) {
        *at = i;
        probes[i].call();
    }
    *at = PROBES;
    _exit(0);
}

static void probe_all(struct filter *f, volatile size_t *at)
{
    pid_t child[PROBES + 1];
    size_t n = 0;
    bool no_wait4 = false, no_waitid = false;

    for (size_t i = 0; i < PROBES && !(f->essential && i >= ALWAYS_TRIED); i++) {
        i = probe_from(i, !filter_lacks(f, FILTER_LIMITS), at, &child[n]);
        if (child[n] < 0)
            f->process_errno = -child[n];
        n += child[n] > 0;
        if (i == PROBES)
            break;
        f->lacks |= probes[i].lack;
        if (!probes[i].lack && !f->essential)
            f->essential = probes[i].name;
        no_wait4 = no_wait4 || probes[i].call == try_wait4;
        no_waitid = no_waitid || probes[i].call == try_waitid;
    }
    for (size_t i = 0; i < n && !(no_wait4 && no_waitid); i++)
        child_reap(child[i], no_wait4);
}

/* Replaces a function of glibc (elf/dl-origin.c) in a static program. glibc's calls readlink(2) before main(), which a
 * filter may kill at, to know what $ORIGIN is in the paths of dlopen(3); nothing here calls that. -1: not known. A libc
 * without a function of this name does not call it. */
const char *_dl_get_origin(void);
const char *_dl_get_origin(void)
{
    return (const char *)-1;
}

void filter_look(struct filter *ret)
{
    volatile size_t *at;

    *ret = (struct filter){.there = is_there()};
    if (!ret->there)
        return;
    at = mmap(NULL, sizeof(*at), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return;
    probe_all(ret, at);
}

/* ---- work that the filter may kill at, without the job noticing ---- */

bool filter_apart(const struct filter *f, bool quiet, bool (*fn)(void *context), void *context)
{
    int status = 0;
    pid_t pid = f && f->there ? child_clone() : -1;

    if (pid < 0)
        return fn(context);
    if (pid == 0) {
        if (!filter_lacks(f, FILTER_LIMITS))
            no_core();
        if (quiet)
            fds_null_standard(-1);
        _exit(!fn(context));
    }
    return wait4(pid, &status, __WALL, NULL) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int filter_fork(void)
{
    return (int)syscall(SYS_clone, (unsigned long)SIGCHLD, 0ul, 0ul, 0ul, 0ul);
}

int filter_execute(char *const *argv)
{
    struct spawn s = {.argv = argv, .for_shell = spawn_for_shell(argv)};

    if (!s.for_shell)
        return ENOMEM;
    exec_command(&s, environ);
    return errno;
}
