/* SPDX-License-Identifier: Apache-2.0 */
/* Who may ask baro serve: values of Host, Authorization and Cookie as browsers, programs and attackers send them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/baro-serve/guard.h"

#define TOKEN "0123456789abcdef"

static const char *const hosts[] = {"build7", "perf.example.org"};

/* ---- Host ---- */

static void test_hosts_that_are_known(void **state)
{
    /* clang-format off */
    static const char *const good[] = {
        "localhost", "LOCALHOST", "LocalHost:2276", "localhost:1", "localhost:65535", "127.0.0.1", "127.0.0.1:2276",
        "10.1.2.3:80", "255.255.255.255", "[::1]", "[::1]:2276", "[fe80::1:2]:80", "[::ffff:127.0.0.1]:1", "build7",
        "BUILD7:2276", "perf.example.org:443",
    };
    /* clang-format on */
    struct guard g = {.hosts = hosts, .n_hosts = 2};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        assert_true(guard_host(&g, good[i]));
}

static void test_hosts_that_are_foreign(void **state)
{
    /* clang-format off */
    static const char *const bad[] = {
        /* names of others, and what only looks like one of ours */
        "evil.example", "localhost.evil.example", "evil.localhost", "localhost.", "localhos", "localhostx", "build",
        "build77", "build7.evil.example", "evil@localhost", "localhost@evil.example", "perf.example.org.evil.example",
        "127.0.0.1.evil.example", "127.0.0.1.nip.io", "xn--localhost-", "localh\xc3\xb6st", "localhost/x", "localhost#",
        /* blanks and control characters */
        " localhost", "localhost ", "localhost\t", "\tlocalhost", "local\nhost", "localhost\r", "localhost :80",
        "localhost: 80", "localhost, evil.example",
        /* ports */
        "localhost:", "localhost:x", "localhost:80x", "localhost:-1", "localhost:+1", "localhost:123456",
        "localhost:80:80", "127.0.0.1:", ":80", ":", "",
        /* addresses that inet_pton(3) does not know */
        "127.1", "2130706433", "0x7f.0.0.1", "127.0.0.1.1", "127.0.0.256", "127.0.0.01x", "::1", "::1:80", "fe80::1",
        "[", "]", "[]", "[]:80", "[::1", "::1]", "[::1]x", "[::1]:", "[::1]:x", "[::1]:123456", "[::1]]", "[[::1]]",
        "[::1%eth0]", "[::1%25lo]:80", "[localhost]", "[127.0.0.1]", "[v1.x]", "x[::1]", "[::1].evil.example",
        "[1111:2222:3333:4444:5555:6666:7777:8888:9999]",
        "[0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001]",
    };
    /* clang-format on */
    struct guard g = {.hosts = hosts, .n_hosts = 2};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        if (guard_host(&g, bad[i]))
            fail_msg("%s is allowed", bad[i]);
    }
    assert_false(guard_host(&g, NULL));
}

static void test_a_long_host(void **state)
{
    struct guard g = {.hosts = hosts, .n_hosts = 2};
    char *host = malloc(100001);
    memset(host, '1', 100000);
    host[100000] = 0;
    assert_false(guard_host(&g, host));
    host[0] = '[';
    host[99999] = ']';
    assert_false(guard_host(&g, host));
    host[9] = ':';
    assert_false(guard_host(&g, host));
    free(host);
}

static void test_names_are_allowed_one_by_one(void **state)
{
    struct guard none = {0};
    assert_false(guard_host(&none, "build7"));
    assert_true(guard_host(&none, "localhost"));
}

/* ---- the names of headers ---- */

static const char *fault_of(const char *const *names)
{
    struct guard_headers h = {0};
    for (; *names; names++)
        guard_header(&h, *names);
    return guard_headers_fault(&h);
}

static void test_headers_that_can_be_read_in_two_ways(void **state)
{
    /* clang-format off */
    static const char *const bad[][4] = {
        {"Host", "Host"}, {"Host", "Accept", "hOST"}, {"Host", "Content-Length", "content-length"},
        {"Host", "Transfer-Encoding", "Transfer-Encoding"}, {"Host", "Content-Length", "Transfer-Encoding"},
        {"Host", "Content-Length "}, {"Host\t"}, {" Host"}, {"Host", ""}, {"Host", "X\x01"}, {"Host", "X\xc3\xa9"},
        {"Host", "X:Y"}, {"Host", "(X)"},
    };
    /* clang-format on */
    static const char *const good[][4] = {
        {NULL},
        {"Host"},
        {"Host", "Content-Length"},
        {"Host", "Transfer-Encoding"},
        {"Host", "Accept", "Accept"},
        {"Host", "X-_.!#$%&'*+^`|~09azAZ"},
        {"Hosts", "Host"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        if (!fault_of(bad[i]))
            fail_msg("%s, %s are allowed", bad[i][0], bad[i][1] ? bad[i][1] : "");
    }
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        assert_null(fault_of(good[i]));
}

/* ---- the token ---- */

static void test_without_a_token_all_may_ask(void **state)
{
    struct guard g = {0};
    assert_true(guard_bearer(&g, NULL) && guard_bearer(&g, "") && guard_bearer(&g, "Bearer x"));
    assert_true(guard_cookie(&g, NULL) && guard_cookie(&g, GUARD_COOKIE "=x"));
    assert_true(guard_token(&g, NULL) && guard_token(&g, "x"));
}

static void test_authorization(void **state)
{
    struct guard g = {.token = TOKEN, .session = "feedface"};
    /* clang-format off */
    static const char *const bad[] = {
        "", "Bearer", "Bearer ", "Bearer  ", TOKEN, "Basic " TOKEN, "Bearer" TOKEN, "Bearer\t" TOKEN, " Bearer " TOKEN,
        "Bearer " TOKEN " ", "Bearer " TOKEN "\n", "Bearer " TOKEN "x", "Bearer 0123456789abcde",
        "Bearer 0123456789ABCDEF",
        "Bearer x" TOKEN, "Bearer \"" TOKEN "\"", "Bearer feedface", "Bearer " TOKEN ", Bearer " TOKEN, "Token " TOKEN,
        "Bearer 1123456789abcdef", "Bearer 0123456789abcdeg",
    };
    /* clang-format on */
    assert_true(guard_bearer(&g, "Bearer " TOKEN));
    assert_true(guard_bearer(&g, "bearer  " TOKEN)); /* RFC 9110: the scheme's case does not matter */
    assert_false(guard_bearer(&g, NULL));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        if (guard_bearer(&g, bad[i]))
            fail_msg("%s is allowed", bad[i]);
    }
    assert_true(guard_token(&g, TOKEN));
    assert_false(guard_token(&g, NULL) || guard_token(&g, "") || guard_token(&g, TOKEN "x") ||
                 guard_token(&g, "feedface"));
}

static void test_cookies(void **state)
{
    struct guard g = {.token = TOKEN, .session = "00112233445566778899aabbccddeeff"};
    static const char *const good[] = {
        GUARD_COOKIE "=00112233445566778899aabbccddeeff",
        "a=b; " GUARD_COOKIE "=00112233445566778899aabbccddeeff; c=d",
        ";;  ;" GUARD_COOKIE "=00112233445566778899aabbccddeeff;",
        GUARD_COOKIE "=wrong; " GUARD_COOKIE "=00112233445566778899aabbccddeeff",
    };
    /* clang-format off */
    static const char *const bad[] = {
        "", ";", "=", "a", GUARD_COOKIE, GUARD_COOKIE "=", GUARD_COOKIE "=;", GUARD_COOKIE "=" TOKEN,
        GUARD_COOKIE "=00112233445566778899aabbccddeef", GUARD_COOKIE "=00112233445566778899aabbccddeeff0",
        GUARD_COOKIE "=00112233445566778899AABBCCDDEEFF", GUARD_COOKIE " =00112233445566778899aabbccddeeff",
        GUARD_COOKIE "= 00112233445566778899aabbccddeeff", GUARD_COOKIE "=\"00112233445566778899aabbccddeeff\"",
        "x" GUARD_COOKIE "=00112233445566778899aabbccddeeff", "a=" GUARD_COOKIE "=00112233445566778899aabbccddeeff",
        "00112233445566778899aabbccddeeff", GUARD_COOKIE "=0011223344556677,8899aabbccddeeff",
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        assert_true(guard_cookie(&g, good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        if (guard_cookie(&g, bad[i]))
            fail_msg("%s is allowed", bad[i]);
    }
    assert_false(guard_cookie(&g, NULL));
}

/* ---- the file of the token ---- */

static int init_with(const char *text, size_t len, struct guard *g)
{
    char path[] = "/tmp/baro-token-XXXXXX";
    struct baro_error err = BARO_ERROR_INIT;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), (ssize_t)len);
    close(fd);
    memset(g, 0, sizeof(*g));
    int code = guard_init(g, path, &err);
    assert_true(code >= 0 || (*err.text && !*g->token && !strstr(err.text, TOKEN)));
    unlink(path);
    return code;
}

static void test_token_files(void **state)
{
    /* clang-format off */
    static const char *const bad[] = {
        "", "\n", "\r\n" TOKEN "\n", "0123456789abcde\n", "0123456789 abcdef\n", "0123456789abcdef\t\n",
        "0123456789abcd\xc3\xa9\n", "0123456789abcdef\x7f\n", "0123456789abcdef\x01\n", " 0123456789abcdef\n",
    };
    /* clang-format on */
    struct guard g;
    char text[GUARD_TOKEN_MOST + 2];
    assert_int_equal(init_with(TOKEN "\n", 17, &g), 0);
    assert_string_equal(g.token, TOKEN);
    assert_int_equal(init_with(TOKEN "\r\nnotes\n", 24, &g), 0);
    assert_string_equal(g.token, TOKEN);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_true(init_with(bad[i], strlen(bad[i]), &g) < 0);
    assert_true(init_with(TOKEN "\0" TOKEN, 33, &g) == 0 && strcmp(g.token, TOKEN) == 0);
    memset(text, 'x', sizeof(text));
    assert_int_equal(init_with(text, GUARD_TOKEN_MOST, &g), 0);
    assert_true(init_with(text, GUARD_TOKEN_MOST + 1, &g) < 0);
    struct baro_error err = BARO_ERROR_INIT;
    assert_true(guard_init(&g, "/nonexistent/token", &err) < 0 && *err.text);
}

static void test_sessions_differ(void **state)
{
    struct guard a = {0}, b = {0};
    assert_int_equal(guard_init(&a, NULL, NULL), 0);
    assert_int_equal(guard_init(&b, NULL, NULL), 0);
    assert_int_equal(strlen(a.session), 32);
    assert_string_not_equal(a.session, b.session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts_that_are_known),
        cmocka_unit_test(test_hosts_that_are_foreign),
        cmocka_unit_test(test_a_long_host),
        cmocka_unit_test(test_names_are_allowed_one_by_one),
        cmocka_unit_test(test_headers_that_can_be_read_in_two_ways),
        cmocka_unit_test(test_without_a_token_all_may_ask),
        cmocka_unit_test(test_authorization),
        cmocka_unit_test(test_cookies),
        cmocka_unit_test(test_token_files),
        cmocka_unit_test(test_sessions_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
