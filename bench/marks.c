/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a mark costs the job that makes it. cc -O2 -Iinclude -o marks bench/marks.c -Lbuild -lbaro, and then
 * LD_LIBRARY_PATH=build baro run -q -o /tmp/marks.baro -- ./marks [COUNT]
 * CPU time and elapsed time of a baro_mark(), with two attributes, in batches of 100 marks with pauses between them, as
 * jobs make them; the median and the least of the batches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "baro/mark.h"

enum { BATCH = 100, BATCHES_MOST = 1000 };

static double now_us(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static double wall[BATCHES_MOST], cpu[BATCHES_MOST];
    int n = argc > 1 ? atoi(argv[1]) / BATCH : 100;
    n = n < 1 ? 1 : n > BATCHES_MOST ? BATCHES_MOST : n;
    for (int i = 0; i < n; i++) {
        double wall_at = now_us(CLOCK_MONOTONIC), cpu_at = now_us(CLOCK_THREAD_CPUTIME_ID);
        for (int k = 0; k < BATCH; k++) {
            int code = baro_mark("step", "{\"epoch\": 3, \"loss\": 0.125}");
            if (code < 0) {
                fprintf(stderr, "baro_mark(): %d; run this by baro run\n", code);
                return 1;
            }
        }
        cpu[i] = (now_us(CLOCK_THREAD_CPUTIME_ID) - cpu_at) / BATCH;
        wall[i] = (now_us(CLOCK_MONOTONIC) - wall_at) / BATCH;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    qsort(wall, (size_t)n, sizeof(*wall), compare);
    qsort(cpu, (size_t)n, sizeof(*cpu), compare);
    printf("a mark: %.2f us of CPU time (least %.2f), %.2f us elapsed (least %.2f)\n", cpu[n / 2], cpu[0], wall[n / 2],
           wall[0]);
    return 0;
}
