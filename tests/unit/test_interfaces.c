/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of what the interfaces of a network namespace have counted: it never falls. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recorder/collectors/sockets/interfaces.h"

#define HEAD                                                                                                           \
    "Inter-|   Receive                                                |  Transmit\n"                                   \
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier " \
    "compressed\n"

struct counters {
    const char *name;
    unsigned received, sent;
};

/* Ends with one without a name. */
static int take(struct interfaces *t, const struct counters *of, bool is_theirs)
{
    char text[4096] = HEAD;
    for (; of->name; of++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%6s: %u 1 0 0 0 0 0 0 %u 1 0 0 0 0 0 0\n", of->name,
                 of->received, of->sent);
    return interfaces_take(t, span_str(text), is_theirs);
}

static void assert_total(const struct interfaces *t, uint64_t received, uint64_t sent)
{
    assert_int_equal(t->total[0], received);
    assert_int_equal(t->total[1], sent);
}

static void all_but_lo_are_added_up(void **state)
{
    struct interfaces t = {0};
    (void)state;
    assert_int_equal(take(&t, (struct counters[]){{"lo", 7, 7}, {"v", 10, 20}, {"w", 1, 2}, {0}}, false), 0);
    assert_total(&t, 11, 22);
    assert_int_equal(take(&t, (struct counters[]){{"lo", 9, 9}, {"v", 15, 20}, {"w", 1, 3}, {0}}, false), 0);
    assert_total(&t, 16, 23);
    free(t.at);
}

static void what_was_before_is_not_counted(void **state)
{
    struct interfaces t = {0};
    (void)state;
    assert_int_equal(take(&t, (struct counters[]){{"v", 100, 200}, {0}}, true), 0);
    assert_total(&t, 0, 0);
    assert_true(interfaces_any(&t));
    assert_int_equal(take(&t, (struct counters[]){{"v", 101, 202}, {0}}, false), 0);
    assert_total(&t, 1, 2);
    free(t.at);
}

static void one_that_is_removed_keeps_what_it_counted(void **state)
{
    struct interfaces t = {0};
    (void)state;
    assert_int_equal(take(&t, (struct counters[]){{"v", 10, 5000}, {"w", 1, 1}, {0}}, false), 0);
    assert_int_equal(take(&t, (struct counters[]){{"w", 1, 2}, {0}}, false), -ENOENT);
    assert_total(&t, 11, 5002);
    assert_int_equal(take(&t, (struct counters[]){{"w", 1, 2}, {"v", 3, 4}, {0}}, false), 0);
    assert_total(&t, 14, 5006);
    free(t.at);
}

static void one_that_is_made_anew_counts_from_zero(void **state)
{
    struct interfaces t = {0};
    (void)state;
    take(&t, (struct counters[]){{"v", 10, 5000}, {0}}, false);
    /* The old one may have counted more before it was removed. */
    assert_int_equal(take(&t, (struct counters[]){{"v", 9, 40}, {0}}, false), -ENOENT);
    assert_total(&t, 19, 5040);
    free(t.at);
}

/* What a veth has received is what its other end has sent, and 0 once that is gone. */
static void a_counter_that_falls_alone(void **state)
{
    struct interfaces t = {0};
    (void)state;
    take(&t, (struct counters[]){{"v", 266, 5000}, {0}}, false);
    assert_int_equal(take(&t, (struct counters[]){{"v", 0, 5000}, {0}}, false), -ENOENT);
    assert_total(&t, 266, 5000);
    free(t.at);
}

static void one_that_is_renamed_goes_on(void **state)
{
    struct interfaces t = {0};
    (void)state;
    take(&t, (struct counters[]){{"v", 266, 5000}, {"w", 0, 0}, {0}}, false);
    assert_int_equal(take(&t, (struct counters[]){{"eth0", 300, 5001}, {"w", 0, 0}, {0}}, false), -ENOENT);
    assert_total(&t, 300, 5001);
    assert_int_equal(take(&t, (struct counters[]){{"eth0", 301, 5003}, {"w", 0, 1}, {0}}, false), 0);
    assert_total(&t, 301, 5004);
    free(t.at);
}

static void what_others_did_meanwhile_is_not_counted(void **state)
{
    struct interfaces t = {0};
    (void)state;
    take(&t, (struct counters[]){{"v", 1, 2}, {0}}, false);
    assert_int_equal(take(&t, (struct counters[]){{"v", 1000, 2000}, {0}}, true), 0);
    assert_int_equal(take(&t, (struct counters[]){{"v", 1001, 2002}, {0}}, false), 0);
    assert_total(&t, 2, 4);
    free(t.at);
}

static void none(void **state)
{
    struct interfaces t = {0};
    (void)state;
    assert_int_equal(take(&t, (struct counters[]){{"lo", 7, 7}, {0}}, false), 0);
    assert_int_equal(interfaces_take(&t, span_str("no such text: 1 2"), false), 0);
    assert_false(interfaces_any(&t));
    assert_total(&t, 0, 0);
    free(t.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_but_lo_are_added_up),
        cmocka_unit_test(what_was_before_is_not_counted),
        cmocka_unit_test(one_that_is_removed_keeps_what_it_counted),
        cmocka_unit_test(one_that_is_made_anew_counts_from_zero),
        cmocka_unit_test(a_counter_that_falls_alone),
        cmocka_unit_test(one_that_is_renamed_goes_on),
        cmocka_unit_test(what_others_did_meanwhile_is_not_counted),
        cmocka_unit_test(none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
