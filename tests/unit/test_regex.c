/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions of users: how large they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/regex.h"

/* The C library would take gigabytes, or all of the stack. */
static void test_states(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned long states;
    } cases[] = {
        {"abc", 3},
        {"a{3}", 3},
        {"a{2,5}b", 6},
        {"a{2,}", 3},
        {"a{0}", 1},
        {"(ab){10}", 30}, /* a group is a state as well */
        {"((a{10}){10}){10}", 1110},
        {"[a-z]{4}", 4},
        {"[]a]{4}[^]]{2}[[:alpha:]]{3}", 9},
        {"\\({9}", 9},
        {"{9}", 0}, /* nothing stands before it */
        {"a{", 2},
        {"(a{10}", 10},
        {"(a|b)*c", 6},
        {"a+", 2},
        {"(ab)+c", 7},
        {"a+++", 8},
        {"(a*){10}", 30},
        {"a?{10}", 20},
    };
    struct baro_error err = BARO_ERROR_INIT;
    char deep[1000];
    regex_t regex;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        unsigned long states = regex_states(cases[i].text);
        if (states != cases[i].states)
            fail_msg("%s: %lu, expected %lu", cases[i].text, states, cases[i].states);
    }
    assert_int_equal(regex_make(&regex, "((a{1,255}){1,255}){1,255}", 0, &err), BARO_E_SYNTAX);
    assert_string_equal(err.text, "'((a{1,255}){1,255}){1,255}' repeats too much, or has too many groups within each "
                                  "other");
    assert_int_equal(regex_make(&regex, "a{99999999999999999999999}", 0, NULL), BARO_E_SYNTAX);
    assert_int_equal(regex_make(&regex, "a++++++++++++++++++++++", 0, NULL), BARO_E_SYNTAX);
    memset(deep, '(', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = 0;
    assert_int_equal(regex_make(&regex, deep, 0, NULL), BARO_E_SYNTAX);
    assert_int_equal(regex_make(&regex, "(a{1,90}){1,100}", 0, NULL), 0);
    regfree(&regex);
}

/* What is in the literal is in each text that fits, so none that fits is missed. */
static void test_literals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *literal, *fits;
    } cases[] = {
        {"gulpy", "gulpy", "x gulpy y"},
        {"^run/job-17( |$)", "run/job-17", "run/job-17 a"},
        {"ab*c", "a", "ac"},
        {"abc?", "ab", "ab"},
        {"abc+d", "abc", "abccd"},
        {"abc+*", "ab", "ab"},
        {"a{0}bc", "bc", "bc"},
        {"a{2}b", "b", "aab"},
        {"x{10,12}", "", "xxxxxxxxxxx"},
        {"(abc)?de", "de", "de"},
        {"(a(b|c))*def", "def", "def"},
        {"abc|de", "", "de"},
        {"[abc|]de", "de", "|de"},
        {"[]x]yz", "yz", "]yz"},
        {"\\.abc\\b", "abc", ".abc"},
        {"a\\|bcd", "bcd", "a|bcd"},
        {"(\\)|[)])xyz", "xyz", ")xyz"},
        {"", "", "a"},
        {"\\", "", NULL},
        {"a(b", "a", NULL},
        {"a[b", "a", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct span literal = regex_literal(cases[i].text);
        regex_t regex;
        assert_true(span_equal(literal, cases[i].literal));
        if (!cases[i].fits)
            continue;
        assert_int_equal(regex_make(&regex, cases[i].text, 0, NULL), 0);
        assert_int_equal(regexec(&regex, cases[i].fits, 0, NULL, 0), 0);
        regfree(&regex);
        assert_non_null(memmem(cases[i].fits, strlen(cases[i].fits), literal.at, literal.len));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_literals),
        cmocka_unit_test(test_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
