/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account FOLDER STEP...: for tests. A job whose processes write down what they have used, so that a recording can be
 * compared with what they say. Each process executes its steps one after the other, and then writes one line to
 * FOLDER/log: a JSON object. test_truth.py has the jobs.
 *
 *   (  STEP... )      a child that executes these steps; `wait` waits for all children
 *   burn=MS           uses so much CPU time                    threads=N,MS    so do N threads at once, which then end
 *   idle=N            N threads that sleep                     sleep=MS
 *   grow=MB           fills memory of its own                  share=MB        memory that it shares with its children
 *   free              gives both back                          touch           reads both
 *   write=MB          writes and syncs a file                  meet=N          waits until N processes are here; each
 *                                                              writes down the memory that it has at that moment
 *   name=NAME         changes its name                         exec=NAME       executes itself by another name
 *   ignore            ignores SIGCHLD                          nocldwait       the same with SA_NOCLDWAIT
 *   setsid            a session of its own                     subreaper       adopts orphans below it
 *   pidns             the next child is the first process of a PID namespace; with a user namespace if need be
 *   exit=N, kill=N    ends so, after writing its line          leader          the first thread ends, another goes on
 *   spawn=NAME        a child by vfork and exec that executes the steps in parentheses that follow
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { AT_ONCE = 256 };

static const char *folder;
static int log_fd = -1;
static _Atomic int *arrived;         /* in a file that all processes map */
static _Atomic uint64_t ended_delay; /* of threads that have ended, in ns */
static uint64_t passed_bytes;        /* to write(2); /proc/self/io has those of children that were waited for as well */
static uint64_t file_bytes;          /* of these, to a file that was synced */
static char *grown, *shared;
static size_t grown_bytes, shared_bytes;
static pthread_mutex_t forever = PTHREAD_MUTEX_INITIALIZER;

static void steps(char **step);

static void fail(const char *what)
{
    fprintf(stderr, "account: %s: %s\n", what, strerror(errno));
    _exit(99);
}

static void path_of(char *ret, size_t size, const char *name)
{
    if ((size_t)snprintf(ret, size, "%s/%s", folder, name) >= size)
        fail("path");
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void nap(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
}

static void burn(long ms)
{
    uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + (uint64_t)ms * 1000000;

    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        ;
}

/* How long a thread of this process has waited for a CPU, as schedstat has it: its second number. */
static uint64_t delay_of(const char *thread)
{
    char path[64], text[128] = "";

    snprintf(path, sizeof(path), "/proc/%s/schedstat", thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    close(fd);
    char *second = n > 0 ? strchr(text, ' ') : NULL;
    return second != NULL ? strtoull(second, NULL, 10) : 0;
}

/* The number after a key of a file such as /proc/self/status, in the file's unit; 0 without the key. */
static uint64_t number_in(const char *file, const char *key)
{
    char text[8192];
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    char *at = strstr(text, key);
    return at != NULL ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void *burner(void *ms)
{
    burn((long)(intptr_t)ms);
    atomic_fetch_add(&ended_delay, delay_of("thread-self"));
    return NULL;
}

static void *idler(void *nothing)
{
    pthread_mutex_lock(&forever);
    return nothing;
}

static void threads(long n, long ms)
{
    pthread_t made[AT_ONCE];

    if (n > AT_ONCE)
        fail("threads");
    for (long i = 0; i < n; i++)
        if (pthread_create(&made[i], NULL, burner, (void *)(intptr_t)ms) != 0)
            fail("pthread_create");
    for (long i = 0; i < n; i++)
        pthread_join(made[i], NULL);
}

static char *fill(long mb, int flags)
{
    size_t bytes = (size_t)mb << 20;
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        fail("mmap");
    madvise(at, bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < bytes; i += 4096)
        at[i] = 1;
    return at;
}

static void touch(void)
{
    volatile char seen;

    for (size_t i = 0; i < grown_bytes; i += 4096)
        seen = grown[i];
    for (size_t i = 0; i < shared_bytes; i += 4096)
        seen = shared[i];
    (void)seen;
}

static void give_back(void)
{
    if (grown != NULL)
        munmap(grown, grown_bytes);
    if (shared != NULL)
        munmap(shared, shared_bytes);
    grown = shared = NULL;
    grown_bytes = shared_bytes = 0;
}

static void write_file(long mb)
{
    char path[4096], name[64];
    static char block[1 << 20];

    snprintf(name, sizeof(name), "data-%d", (int)getpid());
    path_of(path, sizeof(path), name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    for (long i = 0; i < mb; i++)
        if (write(fd, block, sizeof(block)) != sizeof(block))
            fail(path);
    if (fsync(fd) < 0)
        fail(path);
    close(fd);
    unlink(path);
    passed_bytes += (uint64_t)mb << 20;
    file_bytes += (uint64_t)mb << 20;
}

static void line(const char *text, int length)
{
    if (write(log_fd, text, (size_t)length) != length)
        fail("log");
    passed_bytes += (uint64_t)length;
}

/* What this process uses at a moment at which others do the same. */
static void meet(long n)
{
    char text[512];
    int before = atomic_fetch_add(arrived, 1);
    int round = before / (int)n;

    while (atomic_load(arrived) < (round + 1) * (int)n)
        nap(1);
    unsigned long long rss = number_in("/proc/self/status", "VmRSS:"),
                       pss = number_in("/proc/self/smaps_rollup", "\nPss:"),
                       clean = number_in("/proc/self/smaps_rollup", "Private_Clean:"),
                       dirty = number_in("/proc/self/smaps_rollup", "Private_Dirty:");
    line(text, snprintf(text, sizeof(text), "{\"met\": %d, \"pid\": %d, \"rss\": %llu, \"pss\": %llu, \"uss\": %llu}\n",
                        round, (int)getpid(), rss << 10, pss << 10, (clean + dirty) << 10));
}

static void write_account(void)
{
    char text[1024], name[17] = "";
    struct rusage r;

    /* thread-self: where the first thread has ended, the files of self say nothing of memory. */
    uint64_t delay = atomic_load(&ended_delay) + delay_of("thread-self");
    uint64_t hwm = number_in("/proc/thread-self/status", "VmHWM:") << 10;
    prctl(PR_GET_NAME, name);
    getrusage(RUSAGE_SELF, &r);
    int length = snprintf(
        text, sizeof(text),
        "{\"name\": \"%s\", \"pid\": %d, \"cpu\": %llu, \"delay\": %llu, \"vol\": %ld, \"invol\": %ld, \"minor\": %ld, "
        "\"wchar\": %llu, \"written\": %llu, \"hwm\": %llu}\n",
        name, (int)getpid(), (unsigned long long)clock_ns(CLOCK_PROCESS_CPUTIME_ID), (unsigned long long)delay,
        r.ru_nvcsw, r.ru_nivcsw, r.ru_minflt, (unsigned long long)passed_bytes, (unsigned long long)file_bytes,
        (unsigned long long)hwm);
    line(text, length);
}

/* The step after the ')' that belongs to the '(' at step. */
static char **behind(char **step)
{
    int depth = 0;

    for (; *step != NULL; step++) {
        depth += strcmp(*step, "(") == 0;
        if (strcmp(*step, ")") == 0 && --depth == 0)
            return step + 1;
    }
    errno = EINVAL;
    fail("parentheses");
    return NULL;
}

/* The steps between the parentheses, as a list that ends with NULL. */
static char **between(char **step)
{
    char **end = behind(step) - 1;

    *end = NULL;
    return step + 1;
}

static void execute(const char *name, char **rest)
{
    char path[4096], *argv[AT_ONCE] = {(char *)(uintptr_t)name, (char *)(uintptr_t)folder};
    int n = 2;

    path_of(path, sizeof(path), name); /* a link to this program, made by the test */
    for (; *rest != NULL && n < AT_ONCE - 1; rest++)
        argv[n++] = *rest;
    argv[n] = NULL;
    execv(path, argv);
    fail(path);
}

static char **child(char **step)
{
    char **next = behind(step);
    pid_t pid = fork();

    if (pid < 0)
        fail("fork");
    if (pid == 0) {
        atomic_store(&ended_delay, 0);
        passed_bytes = file_bytes = 0;
        steps(between(step));
    }
    return next;
}

static char **spawn(const char *name, char **step)
{
    char **next = behind(step);
    char **rest = between(step);
    pid_t pid = vfork();

    if (pid < 0)
        fail("vfork");
    if (pid == 0)
        execute(name, rest);
    next[-1] = (char *)")"; /* for a step that is executed again */
    return next;
}

static void wait_all(void)
{
    while (wait(NULL) > 0 || errno == EINTR)
        ;
}

static void ignore(int flags)
{
    struct sigaction a = {.sa_flags = flags};

    a.sa_handler = flags != 0 ? SIG_DFL : SIG_IGN;
    sigaction(SIGCHLD, &a, NULL);
}

static void pidns(void)
{
    if (unshare(CLONE_NEWPID) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
        fail("unshare");
}

static void *go_on(void *rest)
{
    nap(50); /* the first thread has ended by then */
    steps(rest);
    return NULL;
}

static void leader(char **rest)
{
    pthread_t other;

    atomic_fetch_add(&ended_delay, delay_of("thread-self"));
    if (pthread_create(&other, NULL, go_on, rest) != 0)
        fail("pthread_create");
    pthread_exit(NULL);
}

static long argument(const char *step, int which)
{
    const char *at = strchr(step, which == 0 ? '=' : ',');

    return at != NULL ? strtol(at + 1, NULL, 10) : 0;
}

static void one(const char *s)
{
    long a = argument(s, 0);
    pthread_t idle;

    if (strncmp(s, "burn=", 5) == 0)
        burn(a);
    else if (strncmp(s, "sleep=", 6) == 0)
        nap(a);
    else if (strncmp(s, "threads=", 8) == 0)
        threads(a, argument(s, 1));
    else if (strncmp(s, "idle=", 5) == 0)
        for (pthread_mutex_trylock(&forever); a > 0; a--)
            pthread_create(&idle, NULL, idler, NULL);
    else if (strncmp(s, "grow=", 5) == 0)
        grown = fill(a, MAP_PRIVATE), grown_bytes = (size_t)a << 20;
    else if (strncmp(s, "share=", 6) == 0)
        shared = fill(a, MAP_SHARED), shared_bytes = (size_t)a << 20;
    else if (strcmp(s, "touch") == 0)
        touch();
    else if (strcmp(s, "free") == 0)
        give_back();
    else if (strncmp(s, "write=", 6) == 0)
        write_file(a);
    else if (strncmp(s, "meet=", 5) == 0)
        meet(a);
    else if (strncmp(s, "name=", 5) == 0)
        prctl(PR_SET_NAME, s + 5);
    else if (strcmp(s, "wait") == 0)
        wait_all();
    else if (strcmp(s, "ignore") == 0)
        ignore(0);
    else if (strcmp(s, "nocldwait") == 0)
        ignore(SA_NOCLDWAIT);
    else if (strcmp(s, "setsid") == 0)
        setsid();
    else if (strcmp(s, "subreaper") == 0)
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    else if (strcmp(s, "pidns") == 0)
        pidns();
    else
        errno = EINVAL, fail(s);
}

static void steps(char **step)
{
    while (*step != NULL) {
        const char *s = *step++;
        if (strcmp(s, "(") == 0) {
            step = child(step - 1);
        } else if (strncmp(s, "spawn=", 6) == 0) {
            step = spawn(s + 6, step);
        } else if (strncmp(s, "exec=", 5) == 0) {
            execute(s + 5, step);
        } else if (strcmp(s, "leader") == 0) {
            leader(step);
        } else if (strncmp(s, "exit=", 5) == 0) {
            write_account();
            _exit((int)argument(s, 0));
        } else if (strncmp(s, "kill=", 5) == 0) {
            write_account();
            kill(getpid(), (int)argument(s, 0));
            nap(10000);
        } else {
            one(s);
        }
    }
    write_account();
    _exit(0);
}

int main(int argc, char **argv)
{
    char path[4096];

    if (argc < 3)
        return 98;
    folder = argv[1];
    path_of(path, sizeof(path), "log");
    log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    path_of(path, sizeof(path), "arrived");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (log_fd < 0 || fd < 0 || ftruncate(fd, 4096) < 0)
        fail(path);
    arrived = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (arrived == MAP_FAILED)
        fail(path);
    close(fd);
    steps(argv + 2);
}
