/* SPDX-License-Identifier: Apache-2.0 */
/* Messages from the recorder to the wrapper: lines are printed, and the last message is never lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "recorder/wrapper/wrapper.h"

struct ends {
    struct wrapper wrapper;
    struct link_end recorder;
    int printed; /* what the wrapper printed is read here */
};

static void begin(struct ends *e)
{
    int link[2], out[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link), 0);
    assert_int_equal(pipe2(out, O_NONBLOCK | O_CLOEXEC), 0);
    *e = (struct ends){
        .wrapper = {.link = link[0], .stderr_fd = out[1]}, .recorder = {.fd = link[1]}, .printed = out[0]};
}

static void end(struct ends *e, const char *printed)
{
    char text[256] = "";
    ssize_t n = read(e->printed, text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = 0;
    assert_string_equal(text, printed);
    close(e->wrapper.link);
    close(e->wrapper.stderr_fd);
    close(e->recorder.fd);
    close(e->printed);
}

static void say(const struct ends *e, const char *line)
{
    link_say(&e->recorder, line, strlen(line), true);
}

/* Woken by a line, the wrapper may find the last message behind it. */
static void test_last_message_behind_a_line(void **state)
{
    (void)state;
    struct ends e;
    begin(&e);
    say(&e, "one\n");
    say(&e, "two\n");
    link_done(&e.recorder);
    link_print(&e.wrapper);
    assert_true(link_print_last(&e.wrapper, clock_monotonic_ns()));
    end(&e, "one\ntwo\n");
}

static void test_last_message_alone(void **state)
{
    (void)state;
    struct ends e;
    begin(&e);
    say(&e, "one\n");
    link_print(&e.wrapper);
    assert_false(link_print_last(&e.wrapper, clock_monotonic_ns()));
    say(&e, "two\n");
    link_done(&e.recorder);
    assert_true(link_print_last(&e.wrapper, clock_monotonic_ns() + NS_PER_SEC));
    end(&e, "one\ntwo\n");
}

/* A recorder that was killed sends nothing: this must not be taken for its end. */
static void test_no_last_message(void **state)
{
    (void)state;
    struct ends e;
    begin(&e);
    say(&e, "one\n");
    close(e.recorder.fd);
    e.recorder.fd = -1;
    link_print(&e.wrapper);
    assert_false(link_print_last(&e.wrapper, clock_monotonic_ns()));
    end(&e, "one\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_last_message_behind_a_line),
        cmocka_unit_test(test_last_message_alone),
        cmocka_unit_test(test_no_last_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
