/* SPDX-License-Identifier: Apache-2.0 */
/*
 * enter CGROUP NOTE COMMAND...: for tests. Enters a cgroup and executes the command. Writes two numbers of ns to NOTE;
 * the CPU time that this process used before entering lies between them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static long long used(void)
{
    struct timespec t;

    /* The kernel updates this clock up to now; /proc/PID/schedstat is as old as the last tick. */
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
    char path[4096];
    FILE *note = argc > 3 ? fopen(argv[2], "we") : NULL;

    if (note == NULL || (size_t)snprintf(path, sizeof(path), "%s/cgroup.procs", argv[1]) >= sizeof(path))
        return 120;
    int procs = open(path, O_WRONLY | O_CLOEXEC);
    long long before = used();
    if (procs < 0 || write(procs, "0", 1) != 1)
        return 121;
    long long after = used();
    if (fprintf(note, "%lld %lld\n", before, after) < 0 || fclose(note) != 0)
        return 122;
    execvp(argv[3], argv + 3);
    return 123;
}
