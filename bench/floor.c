/* SPDX-License-Identifier: Apache-2.0 */
/* floor PERIOD_US TICKS PID...: reads the CPU clock of each process once in a period; prints the CPU that takes, in microseconds per process. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
    int n = argc - 3, ticks = argc > 2 ? atoi(argv[2]) : 0;
    long period = argc > 1 ? atol(argv[1]) : 0;
    clockid_t *clock;
    double begin;

    if (n < 1 || ticks < 1)
        return 2;
    clock = calloc((size_t)n, sizeof(*clock));
    for (int i = 0; i < n; i++)
        clock[i] = (~(clockid_t)atoi(argv[3 + i]) << 3) | 2; /* CPUCLOCK_SCHED, see clock_getcpuclockid(3) */
    begin = cpu_us();
    for (int t = 0; t < ticks; t++) {
        struct timespec pause = {period / 1000000, period % 1000000 * 1000};

        nanosleep(&pause, NULL);
        for (int i = 0; i < n; i++)
            clock_gettime(clock[i], &pause);
    }
    printf("%.3f\n", (cpu_us() - begin) / ticks / n);
    return 0;
}
