/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floor clocks|files PERIOD_US TICKS PID...: reads the CPU clock of each process once per period; with files also stat,
 * io, schedstat and the number of descriptors of each process whose clock advanced, from open files, and writes a few
 * hundred bytes. Prints the CPU time that this takes, in microseconds per process.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 3 };
static const char *const names[FILES] = {"stat", "io", "schedstat"};

struct one {
    clockid_t clock;
    struct timespec last;
    int fd[FILES], fds;
};

static double cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void hold(struct one *p, const char *pid)
{
    char path[64];

    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof(path), "/proc/%s/%s", pid, names[i]);
        p->fd[i] = open(path, O_RDONLY);
    }
    snprintf(path, sizeof(path), "/proc/%s/fd", pid);
    p->fds = open(path, O_PATH);
}

static void look(struct one *p)
{
    char text[4096];
    struct stat st;

    for (int i = 0; i < FILES; i++) {
        if (pread(p->fd[i], text, sizeof(text), 0) < 0)
            exit(1);
    }
    fstat(p->fds, &st);
}

int main(int argc, char **argv)
{
    int n = argc - 4, ticks = argc > 3 ? atoi(argv[3]) : 0, files = argc > 1 && strcmp(argv[1], "files") == 0,
        tape = -1;
    long period = argc > 2 ? atol(argv[2]) : 0;
    static char frame[400];
    struct one *all;
    double begin;

    if (n < 1 || ticks < 1)
        return 2;
    all = calloc((size_t)n, sizeof(*all));
    for (int i = 0; i < n; i++) {
        all[i].clock = (~(clockid_t)atoi(argv[4 + i]) << 3) | 2; /* CPUCLOCK_SCHED, see clock_getcpuclockid(3) */
        clock_gettime(all[i].clock, &all[i].last);
        if (files)
            hold(&all[i], argv[4 + i]);
    }
    if (files)
        tape = open(".", O_TMPFILE | O_WRONLY, 0600);
    begin = cpu_us();
    for (int t = 0; t < ticks; t++) {
        struct timespec pause = {period / 1000000, period % 1000000 * 1000};

        nanosleep(&pause, NULL);
        for (int i = 0; i < n; i++) {
            clock_gettime(all[i].clock, &pause);
            if (!files || (pause.tv_sec == all[i].last.tv_sec && pause.tv_nsec == all[i].last.tv_nsec))
                continue;
            all[i].last = pause;
            look(&all[i]);
        }
        if (files && write(tape, frame, sizeof(frame)) < 0)
            return 1;
    }
    printf("%.3f\n", (cpu_us() - begin) / ticks / n);
    return 0;
}
