/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints all that a process inherits, one fact per line, sorted by kind, without anything in which two runs of the same
 * program must differ (pids, times). Run bare and wrapped, the outputs must be equal except for BARO_* and the parent.
 * The output goes to the file named first, so that the standard descriptors can be in any state.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static void print_fds(FILE *out, int own)
{
    for (int fd = 0; fd < 1024; fd++) {
        struct stat st;
        int flags = fcntl(fd, F_GETFL), close_on_exec = fcntl(fd, F_GETFD);

        if (flags < 0 || fd == own || fstat(fd, &st) < 0)
            continue;
        fprintf(out, "fd %d flags=%x cloexec=%d dev=%llx ino=%llu mode=%o pos=%lld tty=%d\n", fd, flags, close_on_exec,
                (unsigned long long)st.st_dev, (unsigned long long)st.st_ino, st.st_mode,
                (long long)lseek(fd, 0, SEEK_CUR), isatty(fd));
    }
}

static void print_signals(FILE *out)
{
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");

    /* The kernel's own view of masks: libc hides 32 and 33. */
    while (status && fgets(line, sizeof(line), status)) {
        static const char *const wanted[] = {"SigPnd",     "ShdPnd",   "SigBlk",        "SigIgn",     "SigCgt",
                                             "CapInh",     "CapPrm",   "CapEff",        "CapBnd",     "CapAmb",
                                             "NoNewPrivs", "Seccomp:", "Cpus_allowed:", "Umask",      "Uid",
                                             "Gid",        "Groups",   "CoreDumping",   "THP_enabled"};

        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
            if (strncmp(line, wanted[i], strlen(wanted[i])) == 0)
                fprintf(out, "status %s", line);
    }
    if (status)
        fclose(status);
}

static void print_limits(FILE *out)
{
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit l;

        if (getrlimit(i, &l) == 0)
            fprintf(out, "limit %d %llu %llu\n", i, (unsigned long long)l.rlim_cur, (unsigned long long)l.rlim_max);
    }
}

static void print_place(FILE *out)
{
    char text[4096];
    int fd, len, death = 0, reaper = 0;
    struct itimerval timer;

    fprintf(out, "cwd %s\n", getcwd(text, sizeof(text)) ? text : "?");
    errno = 0;
    fprintf(out, "nice %d\n", getpriority(PRIO_PROCESS, 0));
    fprintf(out, "policy %d ioprio %ld\n", sched_getscheduler(0), syscall(SYS_ioprio_get, 1, 0));
    fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
    len = fd >= 0 ? (int)read(fd, text, sizeof(text)) : 0;
    close(fd);
    fprintf(out, "oom %.*s", len > 0 ? len : 0, text);
    fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    fprintf(out, "tty %d foreground %d\n", fd >= 0, fd >= 0 ? tcgetpgrp(fd) == getpgrp() : 0);
    close(fd);
    prctl(PR_GET_PDEATHSIG, &death);
    prctl(PR_GET_CHILD_SUBREAPER, &reaper);
    fprintf(out, "death %d reaper %d dumpable %d slack %d keep %d\n", death, reaper, prctl(PR_GET_DUMPABLE),
            prctl(PR_GET_TIMERSLACK), prctl(PR_GET_SECUREBITS));
    for (int i = 0; i < 3; i++) {
        getitimer(i, &timer);
        fprintf(out, "timer %d %d\n", i, timer.it_value.tv_sec || timer.it_value.tv_usec);
    }
    /* The ids differ from run to run, but whether they are those of the parent can be compared. */
    fprintf(out, "leader %d session-is-ours %d\n", getpgrp() == getpid(), getsid(0) == getpid());
}

/* Prints the signals that it gets, from which sender and with what value, until TERM: `probe --signals FILE`. */
static int report_signals(const char *path)
{
    FILE *out = fopen(path, "w");
    siginfo_t info;
    sigset_t all;

    if (!out)
        return 99;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    fprintf(out, "ready %d\n", getpid());
    do {
        fflush(out);
        if (sigwaitinfo(&all, &info) < 0)
            continue;
        fprintf(out, "signal %d code %d pid %d value %d\n", info.si_signo, info.si_code, info.si_pid,
                info.si_code == SI_QUEUE ? info.si_value.sival_int : 0);
    } while (info.si_signo != SIGTERM);
    return fclose(out) == 0 ? 0 : 98;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--signals") == 0)
        return report_signals(argv[2]);

    int fd = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1, high;
    FILE *out;

    high = fcntl(fd, F_DUPFD_CLOEXEC, 900); /* away from the descriptors that are checked */
    if (high < 0)
        high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
    out = fdopen(high, "w");
    if (!out)
        return 99;
    for (int i = 0; i < argc; i++)
        fprintf(out, "arg %d %s\n", i, argv[i]);
    for (char **e = environ; *e; e++)
        fprintf(out, "env %s\n", *e);
    print_fds(out, high);
    print_signals(out);
    print_limits(out);
    print_place(out);
    fprintf(out, "ids ppid=%d pgrp=%d sid=%d\n", getppid(), getpgrp(), getsid(0));
    return fclose(out) == 0 ? 0 : 98;
}
