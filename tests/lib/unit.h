/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every unit test begins with: cmocka and the headers that it needs, TEST(name), which stands in place of the head
 * of a function and of a line in a list, and main(). A program that has a set-up of its own defines UNIT_OWN_MAIN
 * before it includes this, and hands unit_tests to cmocka.
 */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* cmocka passes over those without a name. */
static struct CMUnitTest unit_tests[64];

static inline void add_unit_test(struct CMUnitTest test)
{
    for (size_t i = 0; i < sizeof(unit_tests) / sizeof(*unit_tests); i++) {
        if (!unit_tests[i].name) {
            unit_tests[i] = test;
            return;
        }
    }
    abort();
}

/* What runs before and after each test; a program may define it before it includes this. */
#ifndef UNIT_EACH
#define UNIT_EACH NULL, NULL
#endif

/* Begins a test. Tests run in the order of the file, as constructors do. */
#define TEST(name)                                                                                                     \
    static void test_##name(void **state);                                                                             \
    __attribute__((constructor)) static void add_test_##name(void)                                                     \
    {                                                                                                                  \
        add_unit_test((struct CMUnitTest){"test_" #name, test_##name, UNIT_EACH, NULL});                               \
    }                                                                                                                  \
    static void test_##name(__attribute__((unused)) void **state)

/* The call returns 0 (or 1), and then the value that it sets is this. */
#define assert_gives(call, value, is) assert_returns(0, call, value, is)
#define assert_one(call, value, is) assert_returns(1, call, value, is)
#define assert_returns(code, call, value, is)                                                                          \
    do {                                                                                                               \
        assert_int_equal(call, code);                                                                                  \
        assert_int_equal(value, is);                                                                                   \
    } while (0)

/* The same for a condition. */
#define assert_then(call, condition)                                                                                   \
    do {                                                                                                               \
        assert_int_equal(call, 0);                                                                                     \
        assert_true(condition);                                                                                        \
    } while (0)

#ifndef UNIT_OWN_MAIN
int main(void)
{
    return cmocka_run_group_tests(unit_tests, NULL, NULL);
}
#endif

#endif
