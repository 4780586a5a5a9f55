/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls that the wrapper makes, one call each, as the wrapper makes it, without an effect outside of the
 * child. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
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
#include "recorder/wrapper/seccomp.h"
#include "recorder/wrapper/wrapper.h"

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

void seccomp_try(const char *volatile *at, volatile bool *ret_writes)
{
    TRY("prlimit64", disable_core());
    TRY("write", write(NO_FD, SCRAP, 1));
    *ret_writes = true;
    try_process_calls(at);
    try_file_calls(at);
    try_other_calls(at);
    *at = NULL;
}
