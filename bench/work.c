/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work to be recorded:
 *
 *   work burn MS                 computes for MS milliseconds of CPU
 *   work storm N MS              N children in turn, each of which executes `work burn MS`
 *   work spike N MB MS           N children in turn that fill MB megabytes, keep them for MS milliseconds and end
 *   work mmap MB SECONDS         fills MB megabytes in pages of 4 KiB, then maps, touches and unmaps 64 KiB over and
 * over, while a second thread faults pages in; prints how often a second each was done, and the longest time that one
 * took, in microseconds
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void burn(double ms)
{
    double end = now(CLOCK_PROCESS_CPUTIME_ID) + ms / 1e3;

    while (now(CLOCK_PROCESS_CPUTIME_ID) < end)
        ;
}

static void storm(const char *self, int n, const char *ms)
{
    for (int i = 0; i < n; i++) {
        pid_t pid = vfork();

        if (pid == 0) {
            execl(self, "work", "burn", ms, NULL);
            _exit(127);
        }
        waitpid(pid, NULL, 0);
    }
}

static void spike(int n, size_t mb, long ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000}, between = {0, 300000000};

    for (int i = 0; i < n; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            char *at = mmap(NULL, mb << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

            nanosleep(&pause, NULL);
            _exit(at == MAP_FAILED);
        }
        waitpid(pid, NULL, 0);
        nanosleep(&between, NULL);
    }
}

/* Prints the number of operations per second, and the longest one. */
struct rate {
    double begin, last, longest;
    unsigned long n;
};

static void done(struct rate *r)
{
    double t = now(CLOCK_MONOTONIC);

    if (t - r->last > r->longest)
        r->longest = t - r->last;
    r->last = t;
    r->n++;
}

static void print(const struct rate *r, const char *end)
{
    printf("%.0f %.0f%s", (double)r->n / (r->last - r->begin), r->longest * 1e6, end);
}

static atomic_bool over;

#define FAULTING ((size_t)4 << 20)

static void *fault(void *context)
{
    struct rate *r = context;
    char *at = mmap(NULL, FAULTING, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    madvise(at, FAULTING, MADV_NOHUGEPAGE);
    r->begin = r->last = now(CLOCK_MONOTONIC);
    while (!over) {
        for (size_t i = 0; i < FAULTING && !over; i += 4096) {
            at[i] = 1;
            done(r);
        }
        madvise(at, FAULTING, MADV_DONTNEED);
        r->last = now(CLOCK_MONOTONIC); /* freeing them is no fault */
    }
    return NULL;
}

static void map(size_t mb, double seconds)
{
    char *all = mmap(NULL, mb << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct rate maps = {0}, faults = {0};
    pthread_t other;

    madvise(all, mb << 20, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < mb << 20; i += 4096)
        all[i] = 1;
    puts("ready");
    fflush(stdout);
    if (pthread_create(&other, NULL, fault, &faults) != 0)
        exit(1);
    for (maps.begin = maps.last = now(CLOCK_MONOTONIC); maps.last < maps.begin + seconds; done(&maps)) {
        char *at = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        at[0] = 1;
        munmap(at, 65536);
    }
    over = true;
    pthread_join(other, NULL);
    print(&maps, " ");
    print(&faults, "\n");
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "burn") == 0)
        burn(atof(argv[2]));
    else if (argc == 4 && strcmp(argv[1], "storm") == 0)
        storm("/proc/self/exe", atoi(argv[2]), argv[3]);
    else if (argc == 5 && strcmp(argv[1], "spike") == 0)
        spike(atoi(argv[2]), strtoul(argv[3], NULL, 10), atol(argv[4]));
    else if (argc == 4 && strcmp(argv[1], "mmap") == 0)
        map(strtoul(argv[2], NULL, 10), atof(argv[3]));
    else
        return 2;
    return 0;
}
