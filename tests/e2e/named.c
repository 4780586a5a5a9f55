/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named FILE [ARGUMENT...]: for tests. Starts a process for each record of FILE, then reads a byte from the FIFO
 * `gate`, and ends with all of them. A record is a name and three arguments (the first one is argv[0]), each terminated
 * by NUL.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGUMENTS = 3, FILE_MOST = 1 << 20 };

static char text[FILE_MOST];

/* A started process: its name is in the environment, its arguments are where the kernel keeps them. */
static int live(const char *name)
{
    char c;

    if (prctl(PR_SET_NAME, name) < 0)
        return 1;
    while (read(STDIN_FILENO, &c, 1) < 0 && errno == EINTR)
        ;
    return 0;
}

static char *word(char **at)
{
    char *it = *at;

    *at += strlen(it) + 1;
    return it;
}

static void start(char **at)
{
    char *argv[ARGUMENTS + 1] = {0}, *name = word(at);

    for (int i = 0; i < ARGUMENTS; i++)
        argv[i] = word(at);
    pid_t pid = fork();
    if (pid < 0)
        _exit(75); /* the test relies on all of them */
    if (pid)
        return;
    setenv("NAMED", name, 1);
    execv("/proc/self/exe", argv);
    _exit(75);
}

int main(int argc, char **argv)
{
    int status, all[2];
    char c;

    if (getenv("NAMED"))
        return live(getenv("NAMED"));
    int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (n < 0 || pipe2(all, O_CLOEXEC) < 0 || dup2(all[0], STDIN_FILENO) < 0)
        return 2;
    for (char *at = text; at < text + n;)
        start(&at);
    fd = open("gate", O_RDONLY);
    if (fd < 0 || read(fd, &c, 1) < 0)
        return 2;
    close(all[1]);
    while (wait(&status) > 0 || errno == EINTR)
        if (status)
            return 75;
    return 0;
}
