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

static inline void unit_add(struct CMUnitTest test)
{
    for (size_t i = 0; i < sizeof(unit_tests) / sizeof(*unit_tests); i++) {
        if (!unit_tests[i].name) {
            unit_tests[i] = test;
            return;
        }
    }
    abort();
}

/* Begins a test. Tests run in the order of the file, as constructors do. */
#define TEST(name)                                                                                                     \
    static void test_##name(void **state);                                                                             \
    __attribute__((constructor)) static void add_test_##name(void)                                                     \
    {                                                                                                                  \
        unit_add((struct CMUnitTest)cmocka_unit_test(test_##name));                                                    \
    }                                                                                                                  \
    static void test_##name(__attribute__((unused)) void **state)

#ifndef UNIT_OWN_MAIN
int main(void)
{
    return cmocka_run_group_tests(unit_tests, NULL, NULL);
}
#endif

#endif
