/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_floor PERIOD_US: reads, once per period, the files of /proc that a host sample of baro is made from, by
 * descriptors that stay open, with as many calls (of /proc/vmstat as far as it is needed), and nothing else. It parses
 * and keeps nothing: this is the minimal cost of a sample.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct {
    const char *path;
    enum { ONE_PIECE, BY_LINE, TO_THE_END } comes; /* by line: a piece of less than half a page is the last */
} files[] = {
    {"/proc/stat", ONE_PIECE},        {"/proc/loadavg", ONE_PIECE},      {"/proc/uptime", ONE_PIECE},
    {"/proc/meminfo", ONE_PIECE},     {"/proc/vmstat", BY_LINE},         {"/proc/diskstats", TO_THE_END},
    {"/proc/net/dev", BY_LINE},       {"/proc/pressure/cpu", ONE_PIECE}, {"/proc/pressure/memory", ONE_PIECE},
    {"/proc/pressure/io", ONE_PIECE}, {"/proc/pressure/irq", ONE_PIECE},
};
enum { FILES = sizeof(files) / sizeof(*files), HALF_A_PAGE = 2048 };

static char text[1 << 20];

static void read_whole(int fd, int comes, size_t most)
{
    size_t at = 0;
    ssize_t n;

    while (at < most && (n = pread(fd, text + at, most - at, (off_t)at)) > 0 &&
           (comes == TO_THE_END || (comes == BY_LINE && n >= HALF_A_PAGE)))
        at += (size_t)n;
}

static size_t vmstat_needed(int fd)
{
    const char *last;

    read_whole(fd, BY_LINE, sizeof(text) - 1);
    last = strstr(text, "oom_kill ");
    return last ? (size_t)(last - text) + 128 : sizeof(text);
}

int main(int argc, char **argv)
{
    long period = argc > 1 ? atol(argv[1]) : 0;
    size_t most[FILES];
    struct timespec due;
    int fd[FILES];

    if (period < 1)
        return 2;
    for (int i = 0; i < FILES; i++) {
        fd[i] = open(files[i].path, O_RDONLY | O_CLOEXEC);
        most[i] = fd[i] >= 0 && strcmp(files[i].path, "/proc/vmstat") == 0 ? vmstat_needed(fd[i]) : sizeof(text);
    }
    clock_gettime(CLOCK_MONOTONIC, &due);
    for (;;) {
        for (int i = 0; i < FILES; i++)
            if (fd[i] >= 0)
                read_whole(fd[i], files[i].comes, most[i]);
        due.tv_sec += (due.tv_nsec + period * 1000) / 1000000000;
        due.tv_nsec = (due.tv_nsec + period * 1000) % 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    }
}
