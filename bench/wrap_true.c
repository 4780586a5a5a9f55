/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a wrapper adds to a short command. The variants run in turn, so that whatever the machine does meanwhile hits
 * all of them alike; medians are printed, and what each adds to the first.
 *
 *     cc -O2 -D_GNU_SOURCE bench/wrap_true.c -o /tmp/wrap_true
 *     /tmp/wrap_true 500 true , build/baro run -q -- true , env true
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define VARIANTS_MAX 16

struct variant {
    char **argv;
    double *wall_us, *cpu_us;
};

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void run_once(const struct variant *v, int round)
{
    struct rusage usage;
    double start = now_us();
    int status;
    pid_t pid;

    if (posix_spawnp(&pid, v->argv[0], NULL, NULL, v->argv, environ) != 0 || wait4(pid, &status, 0, &usage) < 0) {
        perror(v->argv[0]);
        exit(1);
    }
    v->wall_us[round] = now_us() - start;
    v->cpu_us[round] = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
                       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    struct variant variants[VARIANTS_MAX] = {{0}};
    int rounds = argc > 1 ? atoi(argv[1]) : 0, count = 0;

    if (rounds < 1 || argc < 3)
        return 2;
    variants[count++].argv = argv + 2;
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], ",") == 0 && count < VARIANTS_MAX) {
            argv[i] = NULL;
            variants[count++].argv = argv + i + 1;
        }
    for (int i = 0; i < count; i++) {
        variants[i].wall_us = calloc((size_t)rounds, sizeof(double));
        variants[i].cpu_us = calloc((size_t)rounds, sizeof(double));
    }
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < count; i++)
            run_once(&variants[i], round);
    for (int i = 0; i < count; i++) {
        struct variant *v = &variants[i];

        qsort(v->wall_us, (size_t)rounds, sizeof(double), compare);
        qsort(v->cpu_us, (size_t)rounds, sizeof(double), compare);
        printf("wall median %7.0f us (+%5.0f)  p90 %7.0f  cpu median %7.0f us  ", v->wall_us[rounds / 2],
               v->wall_us[rounds / 2] - variants[0].wall_us[rounds / 2], v->wall_us[rounds * 9 / 10],
               v->cpu_us[rounds / 2]);
        for (char **a = v->argv; *a; a++)
            printf(" %s", *a);
        putchar('\n');
    }
    return 0;
}
