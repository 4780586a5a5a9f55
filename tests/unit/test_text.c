/* SPDX-License-Identifier: Apache-2.0 */
/* Harmless text and names of signals: baro/text.h. */
#include <signal.h>

#include "unit.h"
#include "baro/text.h"

static const struct {
    const char *text;
    size_t len;
    const char *escaped;
} cases[] = {
    {"", 0, ""},
    {"cc1", 3, "cc1"},
    {"a b~", 4, "a b~"},
    {"a\\b", 3, "a\\\\b"},
    {"\x1b[2J", 4, "\\x1b[2J"},
    {"a\0b\n\t\x7f", 6, "a\\x00b\\x0a\\x09\\x7f"},
    {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"}, /* U+E9, U+20AC, U+1F600 */
    {"\xc2\x9b", 2, "\\xc2\\x9b"},                                                       /* C1: CSI */
    {"\xc2\xa0", 2, "\xc2\xa0"},
    {"\xe2\x80\xa8\xe2\x80\xae\xd8\x9c", 8, "\\xe2\\x80\\xa8\\xe2\\x80\\xae\\xd8\\x9c"}, /* U+2028, U+202E, U+61C */
    {"\xff\xc3", 2, "\\xff\\xc3"},                            /* no UTF-8; a character without its end */
    {"\xc0\xaf\xed\xa0\x80", 5, "\\xc0\\xaf\\xed\\xa0\\x80"}, /* longer than needed; a surrogate */
    {"\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80"},          /* beyond U+10FFFF */
};

TEST(escape)
{
    char room[64];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        size_t n = strlen(cases[i].escaped);
        assert_int_equal(baro_text_escape(cases[i].text, cases[i].len, room, sizeof(room)), n);
        assert_string_equal(room, cases[i].escaped);
        assert_int_equal(baro_text_escape(cases[i].text, cases[i].len, NULL, 0), n);
    }
    assert_int_equal(baro_text_escape(NULL, 0, room, 1), 0);
    assert_string_equal(room, "");
}

/* With less room it is truncated between characters and escapes, and no byte after the room is written. */
TEST(little_room)
{
    static const char text[] = "a\xe2\x82\xac\x1bz"; /* a, U+20AC, ESC, z: 1 + 3 + 4 + 1 bytes */
    static const size_t fits[] = {0, 0, 1, 1, 1, 4, 4, 4, 4, 8, 9, 9};
    static const char escaped[] = "a\xe2\x82\xac\\x1bz";
    char room[16];
    for (size_t size = 0; size < sizeof(fits) / sizeof(*fits); size++) {
        memset(room, '#', sizeof(room));
        assert_int_equal(baro_text_escape(text, sizeof(text) - 1, room, size), 9);
        assert_memory_equal(room, escaped, fits[size]);
        assert_int_equal(room[fits[size]], size ? 0 : '#');
        for (size_t i = size ? fits[size] + 1 : 0; i < sizeof(room); i++)
            assert_int_equal(room[i], '#');
    }
}

TEST(next)
{
    char one[BARO_TEXT_NEXT_SIZE];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char all[64] = "";
        for (size_t at = 0, n; at < cases[i].len; at += n) {
            n = baro_text_next(cases[i].text + at, cases[i].len - at, one);
            assert_in_range(n, 1, 4);
            assert_true(one[0] == '\\' ? n == 1 : n == strlen(one) && memcmp(one, cases[i].text + at, n) == 0);
            strcat(all, one);
        }
        assert_string_equal(all, cases[i].escaped);
    }
    assert_int_equal(baro_text_next("", 0, one), 0);
    assert_string_equal(one, "");
}

TEST(signals)
{
    assert_string_equal(baro_signal_name(SIGKILL), "SIGKILL");
    assert_string_equal(baro_signal_name(SIGUSR1), "SIGUSR1");
    assert_string_equal(baro_signal_name(SIGSYS), "SIGSYS");
    assert_string_equal(baro_signal_name(SIGABRT), "SIGABRT"); /* SIGIOT has the same number */
    assert_null(baro_signal_name(0));
    assert_null(baro_signal_name(-9));
    assert_null(baro_signal_name(SIGRTMIN));
    assert_null(baro_signal_name(1000));
}
