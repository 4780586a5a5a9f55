/* SPDX-License-Identifier: Apache-2.0 */
/* Messages from the recorder to the wrapper: lines are printed, the last message is never lost, and the signal that
 * announces them is not passed to the command. Between the wrapper and the view: who has the terminal. */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"
#include "base/clock.h"
#include "recorder/wrapper/wrapper.h"
#include "sleeper.h"

struct ends {
    struct wrapper wrapper;
    struct link_end recorder;
    int printed; /* what the wrapper printed is read here */
};

static struct ends e;

static void begin(void)
{
    int link[2], out[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link), 0);
    assert_int_equal(pipe2(out, O_NONBLOCK | O_CLOEXEC), 0);
    e = (struct ends){
        .wrapper = {.link = link[0], .stderr_fd = out[1]}, .recorder = {.fd = link[1]}, .printed = out[0]};
}

static void end(const char *printed)
{
    char text[256] = "";
    ssize_t n = read(e.printed, text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = 0;
    assert_string_equal(text, printed);
    close(e.wrapper.link);
    close(e.wrapper.stderr_fd);
    close(e.recorder.fd);
    close(e.printed);
}

static void say(const char *line)
{
    link_say(&e.recorder, line, strlen(line), true);
}

/* Woken by a line, the wrapper may find the last message behind it. */
TEST(last_message_behind_a_line)
{
    begin();
    say("one\n");
    say("two\n");
    link_done(&e.recorder);
    link_print(&e.wrapper);
    assert_true(link_print_last(&e.wrapper, clock_monotonic_ns()));
    end("one\ntwo\n");
}

TEST(last_message_alone)
{
    begin();
    say("one\n");
    link_print(&e.wrapper);
    assert_false(link_print_last(&e.wrapper, clock_monotonic_ns()));
    say("two\n");
    link_done(&e.recorder);
    assert_true(link_print_last(&e.wrapper, clock_monotonic_ns() + NS_PER_SEC));
    end("one\ntwo\n");
}

/* A recorder that was killed sends nothing: this must not be taken for its end. */
TEST(no_last_message)
{
    begin();
    say("one\n");
    close(e.recorder.fd);
    e.recorder.fd = -1;
    link_print(&e.wrapper);
    assert_false(link_print_last(&e.wrapper, clock_monotonic_ns()));
    end("one\n");
}

/* A process that blocks all signals and waits to be killed. */
static void block_all(void *none)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
}

static bool is_pending(pid_t pid, int signal)
{
    char file[64], line[256];
    unsigned long long mask = 0;
    snprintf(file, sizeof(file), "/proc/%d/status", (int)pid);
    FILE *f = fopen(file, "r");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f))
        if (sscanf(line, "ShdPnd: %llx", &mask) == 1)
            break;
    fclose(f);
    return mask >> (signal - 1) & 1;
}

/* The recorder announces a message with SIGURG. That is not for the command; the same signal of anybody else is. */
TEST(the_recorders_signal_is_not_passed_on)
{
    struct run_result result = {0};
    begin();
    pid_t command = sleeper(block_all, NULL);
    e.wrapper.result = &result;
    e.wrapper.self = getpid();
    e.wrapper.command = command;
    e.wrapper.recorder = command + 1;
    siginfo_t info = {.si_signo = SIGURG, .si_code = SI_USER};
    info.si_pid = e.wrapper.recorder;
    say("one\n");
    signal_handle(&e.wrapper, &info);
    assert_false(is_pending(command, SIGURG));
    info.si_pid = getppid();
    signal_handle(&e.wrapper, &info);
    assert_true(is_pending(command, SIGURG));
    kill(command, SIGKILL);
    assert_int_equal(waitpid(command, NULL, 0), command);
    end("one\n");
}

/* The view leaves the terminal when it is asked to; an answer to an earlier request is none. */
TEST(the_view_leaves_the_terminal)
{
    int ends[2];
    uint8_t got[2] = {0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    struct wrapper w = {.beside_fd = ends[0]};
    view_let_return(&w); /* it was not asked to leave: nothing is sent */
    assert_false(view_leaves(&w));
    assert_false(view_leaves(&w)); /* asked once */
    assert_int_equal(recv(ends[1], got, 2, MSG_DONTWAIT), 1);
    assert_int_not_equal(got[0], 0);
    view_let_return(&w); /* the stop was over before the view answered */
    assert_false(view_leaves(&w));
    assert_int_equal(send(ends[1], got, 1, 0), 1);
    assert_false(view_leaves(&w));
    assert_int_equal(recv(ends[1], got, 2, MSG_DONTWAIT), 2);
    assert_int_equal(got[0], 0);
    assert_int_equal(send(ends[1], got + 1, 1, 0), 1);
    assert_true(view_leaves(&w));
    assert_true(view_leaves(&w));
    view_let_return(&w);
    assert_int_equal(recv(ends[1], got, 2, MSG_DONTWAIT), 1);
    assert_int_equal(got[0], 0);
    assert_false(view_leaves(&w));
    close(ends[1]); /* it ended */
    assert_true(view_leaves(&w));
    view_let_return(&w);
    assert_true(view_leaves(&w));
    close(ends[0]);
    struct wrapper without = {.beside_fd = -1};
    assert_true(view_leaves(&without));
}
