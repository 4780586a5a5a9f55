/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "programs/baro/programs.h"
#include "recorder/wrapper/fds.h"

/* A view that was stopped or hangs must not keep the job from ending. A view that waits for a CPU gets this much
 * time, because anything that it wrote later would overwrite the shell's prompt. */
#define END_NS (10 * NS_PER_SEC)

/* Becomes the view. Its descriptors get the numbers that it expects. It keeps no other descriptor of the job except
 * standard error, for the message of a failure. */
static _Noreturn void become_view(const struct cli *cli, int terminal, int end, int tape_fd, bool quiet)
{
    char path[32], program[] = "baro-top", command[] = "top";
    char *argv[] = {NULL, command, NULL};
    const int keep[] = {BESIDE_SOCKET, BESIDE_TAPE};
    snprintf(path, sizeof(path), "/proc/self/fd/%d", tape_fd);
    int tape = open(path, O_RDONLY | O_CLOEXEC); /* an open file of its own: the recorder's open file has the lock */
    /* First above all numbers that are overwritten below. */
    int high_end = fcntl(end, F_DUPFD, BESIDE_TAPE + 1), high_tape = fcntl(tape, F_DUPFD, BESIDE_TAPE + 1);
    if (tape >= 0 && dup2(terminal, STDIN_FILENO) >= 0 && dup2(terminal, STDOUT_FILENO) >= 0 &&
        dup2(high_end, BESIDE_SOCKET) >= 0 && dup2(high_tape, BESIDE_TAPE) >= 0) {
        fds_close_others(keep, 2);
        setenv("BARO_TOP_BESIDE", quiet ? "quiet" : "1", 1);
        programs_become(program, argv);
    }
    cli_note(cli, "--top: can't execute baro-top: %s", strerror(errno));
    _exit(127);
}

int beside_start(const struct cli *cli, int tape_fd, bool quiet, int *ret_fd, struct baro_error *err)
{
    int ends[2], status;
    if (isatty(STDOUT_FILENO) || isatty(STDERR_FILENO))
        return error_set(err, -EINVAL,
                         "--top needs the terminal: let the command write elsewhere, such as "
                         "`baro run --top -- make >log 2>&1`");
    int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (terminal < 0)
        return error_set(err, -errno, "--top: there is no terminal: %s", strerror(errno));
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        close(terminal);
        return error_set(err, -errno, "--top: %s", strerror(errno));
    }
    /* ^Z must not stop the view, not even before it has begun: it gives the terminal back when the wrapper asks. */
    sigset_t stop, before;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    sigprocmask(SIG_BLOCK, &stop, &before);
    pid_t child = fork();
    if (child == 0) {
        /* The view is a grandchild: another process reaps it. */
        if (fork() == 0)
            become_view(cli, terminal, ends[1], tape_fd, quiet);
        _exit(0);
    }
    int error = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(terminal);
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return error_set(err, -error, "--top: %s", strerror(error));
    }
    waitpid(child, &status, 0);
    *ret_fd = ends[0];
    return 0;
}

void beside_end(int fd)
{
    struct pollfd gone = {.fd = fd, .events = POLLIN};
    uint64_t now_ns = clock_monotonic_ns(), until_ns = now_ns + END_NS;
    uint8_t late; /* an answer to a stop that was over before it came */
    if (fd < 0)
        return;
    shutdown(fd, SHUT_WR);
    for (; now_ns < until_ns; now_ns = clock_monotonic_ns()) {
        if (poll(&gone, 1, (int)((until_ns - now_ns) / NS_PER_MS) + 1) > 0 && recv(fd, &late, 1, MSG_DONTWAIT) <= 0)
            break;
    }
    close(fd);
}
