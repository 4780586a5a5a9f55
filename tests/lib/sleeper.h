/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that tests fork. Include after cmocka.h. */
#ifndef TESTS_SLEEPER_H
#define TESTS_SLEEPER_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

/* For use in a forked process: an assertion of cmocka would go on with the other tests there. */
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

/* Forks a process that waits for signals, after prepare (NULL: nothing) has run in it. */
static inline pid_t sleeper(void (*prepare)(void *), void *argument)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (prepare)
            prepare(argument);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_true(pid > 0);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

#endif
