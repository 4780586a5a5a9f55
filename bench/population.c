/* SPDX-License-Identifier: Apache-2.0 */
/*
 * population PROCESSES BUSY PERIOD_US [KIB]: children with 2 MB (or KIB) each, of which the first BUSY wake up once per
 * period, compute for some microseconds, and once in ten periods free their memory and allocate some more; the others
 * sleep. Prints "ready" when all exist.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static void live(int busy, long period_us, size_t size)
{
    struct timespec period = {period_us / 1000000, period_us % 1000000 * 1000};
    char *memory = malloc(size);

    memset(memory, 1, size);
    while (!busy)
        pause();
    for (unsigned k = 0;; k++) {
        nanosleep(&period, NULL);
        for (volatile int j = 0; j < 20000; j++)
            ;
        if (k % 10)
            continue;
        free(memory);
        size_t now = size + k / 10 % 3 * (size / 2);
        memory = malloc(now);
        memset(memory, (int)k, now);
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 200, busy = argc > 2 ? atoi(argv[2]) : 10;
    long period_us = argc > 3 ? atol(argv[3]) : 100000;
    size_t size = argc > 4 ? (size_t)atol(argv[4]) << 10 : 2 << 20;

    for (int i = 0; i < n; i++) {
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            live(i < busy, period_us, size);
        }
    }
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
