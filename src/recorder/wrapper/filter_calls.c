/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls that the wrapper makes, one call each, as the wrapper makes it, without an effect outside of the
 * child. */
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
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/clock.h"
#include "recorder/wrapper/filter.h"
#include "recorder/wrapper/wrapper.h"

#define NO_FD (-1)

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
    prctl(PR_SET_NAME, "baro-filter");
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

const struct filter_call filter_calls[] = {
    {"prlimit64", no_core},
    {"write", try_write},
    {"wait4", try_wait4},
    {"waitid", try_waitid},
    {"prctl", try_prctl},
    {"fcntl", try_fcntl},
    {"open", try_open},
    {"fstat", try_stat},
    {"getpid", try_getpid},
    {"getcwd", try_getcwd},
    {"geteuid", try_geteuid},
    {"flock", try_flock},
    {"rt_sigaction", try_signals},
    {"rt_sigtimedwait", try_wait_for_signal},
    {"kill", try_kill},
    {"socketpair", try_socketpair},
    {"sendto", try_send},
    {"recvfrom", try_receive},
    {"shutdown", try_shutdown},
    {"ppoll", try_poll},
    {"clock_gettime", try_clock},
    {"munmap", try_munmap},
    {"dup2", try_dup},
    {"access", try_access},
    {"ioctl", try_terminal},
    {"socket", try_netlink},
    {"bind", try_bind},
    {"connect", try_connect},
    {"setsockopt", try_setsockopt},
    {"getsockopt", try_getsockopt},
    {"getxattr", try_getxattr},
    {"getrandom", try_getrandom},
    {"clone3", try_clone3},
    {"mkdir", try_folders},
    {"unlinkat", try_remove},
    {"getdents64", try_read_folder},
    {"fstatfs", try_filesystem},
    {"pread64", try_pread},
    {"close_range", try_close_range},
    {"getitimer", try_getitimer},
    {"setitimer", try_setitimer},
    {"readlinkat", try_readlink},
    {"clock_gettime", try_cpu_clock},
    {"getsid", try_getsid},
    {"setpgid", try_setpgid},
    {"pidfd_open", try_pidfd},
    {"getppid", try_getppid},
    {"rt_sigqueueinfo", try_queue},
    {"sigaltstack", try_stack},
};

const size_t filter_n_calls = sizeof(filter_calls) / sizeof(filter_calls[0]);
