/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lives WAY: for tests. One process named "burner" computes for 80 ms; WAY says how it is started and how it ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static char *self;
static int burning[2] = {-1, -1}; /* a pipe that processes keep open that burn CPU time, or will */

static double cpu(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void nap(double s)
{
    struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};

    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
}

static void burn(void)
{
    prctl(PR_SET_NAME, "burner");
    while (cpu() < 0.08)
        ;
    close(burning[1]);
}

/* However long it takes: the machine may be busy. */
static void until_burnt(void)
{
    char c;

    close(burning[1]);
    while (read(burning[0], &c, 1) < 0 && errno == EINTR)
        ;
    nap(0.2);
}

static void burn_and_go(void)
{
    burn();
    _exit(3);
}

static void wait_all(void)
{
    while (wait(NULL) > 0 || errno == EINTR)
        ;
}

static pid_t make(void)
{
    pid_t pid = fork();

    if (pid == 0)
        burn_and_go();
    return pid;
}

static void by_vfork(void)
{
    if (vfork() == 0) {
        execl(self, "lives", "burn", NULL);
        _exit(127);
    }
    wait_all();
}

static void by_spawn(void)
{
    char *argv[] = {"lives", "burn", NULL};
    pid_t pid;

    posix_spawn(&pid, self, NULL, NULL, argv, environ);
    wait_all();
}

static void *forks(void *nothing)
{
    make();
    nap(0.05);
    return nothing;
}

static void by_thread(void)
{
    pthread_t t;

    pthread_create(&t, NULL, forks, NULL);
    pthread_join(t, NULL);
    wait_all();
}

static void by_exec_chain(void)
{
    if (fork() == 0) {
        execl(self, "lives", "chain1", NULL);
        _exit(127);
    }
    wait_all();
}

static void by_double_fork(int leader)
{
    if (fork() == 0) {
        if (leader)
            setsid();
        make();
        _exit(0);
    }
    wait_all();
    until_burnt();
}

static void by_kill(int signal)
{
    pid_t pid = fork();

    if (pid == 0) {
        burn();
        for (;;)
            pause();
    }
    until_burnt();
    kill(pid, signal);
    wait_all();
}

static void by_stop(void)
{
    pid_t pid = make();

    nap(0.02);
    kill(pid, SIGSTOP);
    nap(0.15);
    kill(pid, SIGCONT);
    wait_all();
}

static void by_leader_that_goes(void)
{
    if (fork() == 0) {
        pthread_t t;

        prctl(PR_SET_NAME, "burner");
        pthread_create(&t, NULL, (void *(*)(void *))(void *)burn, NULL);
        pthread_exit(NULL);
    }
    wait_all();
}

/* The same pid twice, one right after the other. */
static void by_same_pid(void)
{
    pid_t first = fork();

    if (first == 0)
        _exit(0);
    waitpid(first, NULL, 0);
    struct clone_args args = {.exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&first, .set_tid_size = 1};
    pid_t second = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    if (second == 0)
        burn_and_go();
    if (second != first)
        exit(77); /* not allowed, or taken meanwhile */
    wait_all();
}

static int go(const char *way)
{
    if (strcmp(way, "burn") == 0)
        burn_and_go();
    else if (strcmp(way, "chain1") == 0)
        execl(self, "lives", "chain2", NULL);
    else if (strcmp(way, "chain2") == 0)
        execl(self, "lives", "burn", NULL);
    else if (strcmp(way, "fork") == 0)
        make(), wait_all();
    else if (strcmp(way, "vfork") == 0)
        by_vfork();
    else if (strcmp(way, "spawn") == 0)
        by_spawn();
    else if (strcmp(way, "thread") == 0)
        by_thread();
    else if (strcmp(way, "exec-chain") == 0)
        by_exec_chain();
    else if (strcmp(way, "double-fork") == 0)
        by_double_fork(0);
    else if (strcmp(way, "setsid") == 0)
        by_double_fork(1);
    else if (strcmp(way, "ignored") == 0)
        signal(SIGCHLD, SIG_IGN), make(), wait_all(), until_burnt();
    else if (strcmp(way, "reaped-late") == 0)
        make(), nap(0.5), wait_all();
    else if (strcmp(way, "never-reaped") == 0)
        make(), until_burnt();
    else if (strcmp(way, "killed") == 0)
        by_kill(SIGKILL);
    else if (strcmp(way, "terminated") == 0)
        by_kill(SIGTERM);
    else if (strcmp(way, "stopped") == 0)
        by_stop();
    else if (strcmp(way, "leader-goes") == 0)
        by_leader_that_goes();
    else if (strcmp(way, "same-pid") == 0)
        by_same_pid();
    else
        return 2;
    return 0;
}

int main(int argc, char **argv)
{
    self = "/proc/self/exe";
    return argc == 2 && pipe2(burning, O_CLOEXEC) == 0 ? go(argv[1]) : 2;
}
