/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grow DEPTH WIDTH LIFE: a chain of DEPTH processes, each of which first starts WIDTH - 1 others that live for LIFE
 * microseconds and then the next one of the chain; each waits for its children. That makes 1 + DEPTH * WIDTH processes,
 * this one among them; the shorter LIFE is, the sooner they end.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void live(long us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};

    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
}

static pid_t start(void)
{
    pid_t pid = fork();

    if (pid < 0)
        _exit(75); /* the count would be wrong */
    return pid;
}

/* All of them ended with success, so all were started. */
static void wait_all(void)
{
    int status;

    while (wait(&status) > 0 || errno == EINTR)
        if (status)
            _exit(75);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    long depth = strtol(argv[1], NULL, 10), width = strtol(argv[2], NULL, 10), life = strtol(argv[3], NULL, 10);

    for (long level = 0; level < depth; level++) {
        for (long i = 1; i < width; i++) {
            if (start() == 0) {
                live(life);
                _exit(0);
            }
        }
        if (start() > 0)
            break;
    }
    live(life);
    wait_all();
    return 0;
}
