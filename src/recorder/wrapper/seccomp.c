/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/wrapper/seccomp.h"

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
#include <sys/time.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/span.h"
#include "recorder/wrapper/wrapper.h"

/* ---- each call ---- */

/* The system calls that the wrapper makes, one call each, as the wrapper makes it, without an effect outside of the
 * child. */

#define NO_FD (-1)

#define SCRAP ((char[256]){0}) /* a buffer for calls that read or write */

/* Notes the name of the call in *at, then makes the call. No signal comes here, so only a filter can say EINTR, and it
 * would say it each time. */
#define TRY(name, ...)                                                                                                 \
    do {                                                                                                               \
        *at = name;                                                                                                    \
        errno = 0;                                                                                                     \
        (void)!(__VA_ARGS__);                                                                                          \
        if (errno == EINTR)                                                                                            \
            _exit(0);                                                                                                  \
    } while (0)

/* The core of a killed child is of no use. A limit of 1 also disables a core pattern that is a pipe
 * (fs/coredump.c). */
static int disable_core(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_CORE, &limit) < 0)
        return -1;
    limit.rlim_cur = limit.rlim_max < 1 ? limit.rlim_max : 1;
    return setrlimit(RLIMIT_CORE, &limit);
}

static void try_process_calls(const char *volatile *at)
{
    siginfo_t info = {0};
    struct sigaction now;
    const struct timespec at_once = {0, 0};
    int value;

    TRY("wait4", wait4(INT_MAX, NULL, WNOHANG, NULL));
    TRY("waitid", waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT));
    TRY("prctl", prctl(PR_SET_DUMPABLE, 0));
    TRY("prctl", prctl(PR_GET_PDEATHSIG, &value));
    TRY("prctl", prctl(PR_SET_PDEATHSIG, 0));
    TRY("prctl", prctl(PR_GET_CHILD_SUBREAPER, &value));
    TRY("prctl", prctl(PR_SET_CHILD_SUBREAPER, 1));
    TRY("prctl", prctl(PR_SET_NAME, "baro-filter"));
    TRY("getpid", getpid());
    TRY("getppid", getppid());
    TRY("geteuid", geteuid());
    TRY("getsid", getsid(0));
    TRY("setpgid", setpgid(0, 0));
    TRY("rt_sigaction", sigaction(SIGCHLD, NULL, &now));
    TRY("rt_sigprocmask", (sigmask_set(SIG_BLOCK, SIGMASK_ALL), 0));
    if (errno)
        _exit(0); /* refused: the end of the command would not be noticed */
    TRY("rt_sigtimedwait", sigmask_wait(SIGMASK_OF(SIGURG), &info, &at_once));
    TRY("rt_sigqueueinfo", syscall(SYS_rt_sigqueueinfo, -1, 0, &info));
    TRY("kill", kill(getpid(), 0));
    TRY("sigaltstack", sigaltstack(NULL, NULL));
#ifdef SYS_clone3
    TRY("clone3", syscall(SYS_clone3, NULL, 0ul));
#endif
#ifdef SYS_pidfd_open
    TRY("pidfd_open", syscall(SYS_pidfd_open, -1, 0u));
#endif
}

static void try_file_calls(const char *volatile *at)
{
    struct stat st;
    struct statfs fs;
    struct winsize size;
    int fd;

    TRY("fcntl", fcntl(NO_FD, F_GETFD));
    TRY("fcntl", fcntl(NO_FD, F_DUPFD_CLOEXEC, 3));
    TRY("open", fd = open("/", O_PATH | O_CLOEXEC));
    if (fd >= 0)
        close(fd);
    TRY("fstat", fstat(STDIN_FILENO, &st)); /* for negative descriptors some C libraries make no system call */
    TRY("fstat", fstatat(NO_FD, "-", &st, AT_SYMLINK_NOFOLLOW));
    TRY("getcwd", getcwd(SCRAP, sizeof(SCRAP)));
    TRY("flock", flock(NO_FD, LOCK_EX | LOCK_NB));
    TRY("dup2", dup2(NO_FD, STDERR_FILENO));
    TRY("access", faccessat(NO_FD, ".", W_OK, 0));
    TRY("access", faccessat(NO_FD, ".", W_OK, AT_EACCESS));
    TRY("access", access("/", X_OK));
    TRY("ioctl", ioctl(NO_FD, TIOCGWINSZ, &size));
    TRY("getxattr", getxattr("/", "user.delegate", SCRAP, sizeof(SCRAP)));
    TRY("mkdir", mkdir("", 0755));
    TRY("mkdir", mkdirat(NO_FD, "-", 0755));
    TRY("unlinkat", rmdir(""));
    TRY("unlinkat", unlinkat(NO_FD, "-", 0));
    TRY("fstatfs", fstatfs(NO_FD, &fs));
    TRY("pread64", pread(NO_FD, SCRAP, 1, 0));
    TRY("readlinkat", readlinkat(NO_FD, "self", SCRAP, sizeof(SCRAP)));
#ifdef SYS_getdents64
    TRY("getdents64", syscall(SYS_getdents64, NO_FD, SCRAP, sizeof(SCRAP)));
#endif
#ifdef SYS_close_range
    /* is refused and closes nothing, because the last descriptor is before the first */
    TRY("close_range", syscall(SYS_close_range, 1u, 0u, 0u));
#endif
}

static void try_other_calls(const char *volatile *at)
{
    const struct timespec at_once = {0, 0};
    const struct itimerval off = {{0, 0}, {0, 0}};
    struct itimerval timer;
    socklen_t len = sizeof(int);
    uint64_t ns;
    int ends[2];

    TRY("socketpair", socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends));
    TRY("sendto", send(NO_FD, SCRAP, 1, MSG_DONTWAIT | MSG_NOSIGNAL));
    TRY("recvfrom", recv(NO_FD, SCRAP, 1, MSG_DONTWAIT));
    if (errno == EAGAIN)
        _exit(0); /* a filter's: the recorder would wait for the wrapper for ever */
    TRY("shutdown", shutdown(NO_FD, SHUT_WR));
    TRY("socket", socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR));
    TRY("bind", bind(NO_FD, NULL, 0));
    TRY("connect", connect(NO_FD, NULL, 0));
    TRY("setsockopt", setsockopt(NO_FD, SOL_SOCKET, SO_RCVBUFFORCE, SCRAP, sizeof(int)));
    TRY("setsockopt", setsockopt(NO_FD, SOL_SOCKET, SO_RCVBUF, SCRAP, sizeof(int)));
    TRY("getsockopt", getsockopt(NO_FD, SOL_SOCKET, SO_RCVBUF, SCRAP, &len));
    TRY("ppoll", ppoll(NULL, 0, &at_once, NULL));
    /* system calls only if the clock can't be read from user space */
    TRY("clock_gettime", clock_monotonic_ns());
    TRY("clock_gettime", clock_realtime_ns());
    TRY("clock_gettime", clock_process_cpu_ns(1, &ns));
    TRY("munmap", munmap(SCRAP, 0));
    TRY("getrandom", getrandom(SCRAP, 4, GRND_NONBLOCK));
    TRY("getitimer", getitimer(ITIMER_REAL, &timer));
    TRY("setitimer", setitimer(ITIMER_REAL, &off, NULL));
}

/* Makes each call. *at: the name of the one that is being made, NULL at the end; *ret_writes: write(2) was made. Not
 * inlined: its buffers would stand on the stack of the wrapper, too, which may be of 8 KiB here (ulimit -s). */
__attribute__((noinline)) static void seccomp_try(const char *volatile *at, volatile bool *ret_writes)
{
    TRY("prlimit64", disable_core());
    TRY("write", write(NO_FD, SCRAP, 1));
    *ret_writes = true;
    try_process_calls(at);
    try_file_calls(at);
    try_other_calls(at);
    *at = NULL;
}

/* Clones a child whose end is not reported: no SIGCHLD stays pending for the command, and only __WALL waits for it. We
 * are suspended until it has ended (CLONE_VFORK), so it has ended before it is known whether wait4(2) may be called.
 * Returns -1 if no process can be created. */
static pid_t child_clone(void)
{
    return (pid_t)syscall(SYS_clone, (unsigned long)CLONE_VFORK, 0ul, 0ul, 0ul, 0ul);
}

/* prctl(PR_GET_SECCOMP) may be what the filter kills at. If this can't be read, a filter is assumed: it only costs
 * time. */
static bool filter_exists(void)
{
    char text[4096];
    ssize_t len = fd_read_file(AT_FDCWD, "/proc/self/status", text, sizeof(text));
    struct span rest = span_of(text, len > 0 ? (size_t)len : 0), line;

    while (scan_line(&rest, &line))
        if (span_starts(line, "Seccomp:"))
            return !memchr(line.at, '0', line.len);
    return true;
}

void seccomp_check(struct seccomp_filter *ret)
{
    struct {
        const char *volatile call;
        volatile bool writes;
    } * shared;
    siginfo_t info;
    pid_t child;

    *ret = (struct seccomp_filter){.there = filter_exists()};
    if (!ret->there)
        return;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return;
    child = child_clone();
    if (child == 0) {
        seccomp_try(&shared->call, &shared->writes);
        _exit(0);
    }
    if (child < 0) {
        ret->process_errno = errno;
        return;
    }
    ret->forbidden = shared->call;
    ret->mute = !shared->writes;
    if (ret->forbidden && strcmp(ret->forbidden, "wait4") == 0)
        waitid(P_PID, (id_t)child, &info, WEXITED | __WALL);
    else
        wait4(child, NULL, __WALL, NULL);
}

/* Replaces a function of glibc (elf/dl-origin.c) in a static program. glibc's calls readlink(2) before main(), which a
 * filter may kill at, to know what $ORIGIN is in the paths of dlopen(3); nothing here calls that. -1: not known. A libc
 * without a function of this name does not call it. */
const char *_dl_get_origin(void);
const char *_dl_get_origin(void)
{
    return (const char *)-1;
}

int seccomp_fork(void)
{
    return (int)syscall(SYS_clone, (unsigned long)SIGCHLD, 0ul, 0ul, 0ul, 0ul);
}

int seccomp_execute(char *const *argv)
{
    struct spawn s = {.argv = argv, .for_shell = spawn_for_shell(argv)};

    if (!s.for_shell)
        return ENOMEM;
    exec_command(&s, environ);
    return errno;
}
