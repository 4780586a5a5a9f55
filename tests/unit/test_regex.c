/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions of users: what they fit, how large they are, and what they take. */

#include "unit.h"
#include <regex.h>

#include "base/regex.h"

static struct regex *made(const char *text, unsigned flags)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct regex *r = NULL;
    if (regex_make(&r, text, flags, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return r;
}

static bool fits(const char *text, unsigned flags, const char *subject)
{
    struct regex *r = made(text, flags);
    bool yes = regex_fits(r, subject);
    regex_free(r);
    return yes;
}

TEST(size)
{
    static const struct {
        const char *text;
        size_t steps; /* the last one says that it fits */
    } cases[] = {
        {"", 1},
        {"abc", 4},
        {"a{3}", 4},
        {"a{2,5}b", 10},
        {"a{2,}", 4},
        {"a{,3}", 7},
        {"a{0}", 1},
        {"(ab){10}", 21},
        {"((a{10}){10}){10}", 1001},
        {"[]a]{4}[^]]{2}[[:alpha:]]{3}", 10},
        {"(a|b)*c", 8},
        {"a+", 3},
        {"a++++++++++++++++++++++", 24}, /* the C library made four million states of it, in 13 s and 3 GB */
        {"(){9999}{9999}", 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct regex *r = made(cases[i].text, 0);
        if (regex_size(r) != cases[i].steps)
            fail_msg("%s: %zu, expected %zu", cases[i].text, regex_size(r), cases[i].steps);
        regex_free(r);
    }
}

TEST(errors)
{
    char deep[1000];
    memset(deep, '(', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = 0;
    const struct {
        const char *text, *why;
    } cases[] = {
        {"a(", "'a(' is not a regular expression: Unmatched ("},
        {"[a", "Unmatched ["},
        {"[[:alpha", "Unmatched ["},
        {"[", "Unmatched ["},
        {"[[:foo:]]", "Invalid character class name"},
        {"[[.ab.]]", "Invalid collation character"},
        {"[b-a]", "Invalid range end"},
        {"[a-[:alpha:]]", "Invalid range end"},
        {"a{", "Unmatched {"},
        {"a{1,", "Unmatched {"},
        {"a{x}", "Invalid content of {}"},
        {"a{2,1}", "Invalid content of {}"},
        {"*a", "there is nothing that"},
        {"a|+", "there is nothing that"},
        {"^*", "there is nothing that"},
        {"{9}", "there is nothing that"},
        {"a\\", "Trailing backslash"},
        {"(a)\\1", "back-references can't be matched in bounded time"},
        {"((a{1,255}){1,255}){1,255}", "is too large, or repeats too much: it has more than 10000 steps"},
        {"a{99999999999999999999999}", "is too large, or repeats too much"},
        {"((a?){1,90}){1,90}", "is too large, or repeats too much"},
        {deep, "has more than 200 groups within each other"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct baro_error err = BARO_ERROR_INIT;
        struct regex *r = NULL;
        assert_int_equal(regex_make(&r, cases[i].text, 0, &err), BARO_E_SYNTAX);
        assert_null(r);
        if (!strstr(err.text, cases[i].why))
            fail_msg("%s: %s", cases[i].text, err.text);
    }
}

TEST(fits)
{
    static const struct {
        const char *text, *fits, *not ;
    } cases[] = {
        {"b+c", "abbc", "ac"},
        {"^(ab|cd)*$", "abcdab", "aba"},
        {"^a{2,3}$", "aaa", "aaaa"},
        {"^a{2,}$", "aaaa", "a"},
        {"^a{,2}$", "", "aaa"},
        {"^(a|b{2}){2}$", "bba", "ba"},
        {"^[^]a-c]$", "d", "]"},
        {"^[a-]$", "-", "b"},
        {"^[[:digit:]x]+$", "1x2", "1y"},
        {"^[[=a=][.-.]]$", "-", "b"},
        {"\\bgul(py|mc)\\b", "x gulmc y", "gulpyx"},
        {"\\<ab\\>", "(ab)", "abc"},
        {"a\\Bb", "ab", "a b"},
        {"^\\w+\\s\\W\\S$", "a_1 -b", "a_1 bb"},
        {"\\`a\\'", "a", "ba"},
        {"a^b|c$d", "", "a^b|c$d"}, /* nothing */
        {"a)", "a)", "a"},
        {"a}\\{\\.", "a}{.", "a}{x"},
        {"a||b", "", NULL},
        {"^(|a)$", "a", "b"},
        {"^(a*)*$", "aaa", "aab"},
        {"^((a|b)+c){2}", "abcbc", "abc"},
        {"^.$", "\xc3\xa9", "ab"},
        {"^\xc3\xa9{2}$", "\xc3\xa9\xc3\xa9", "\xc3\xa9\xa9"},
        {"^[\xc3\xa0-\xc3\xaf]$", "\xc3\xa9", "\xc3\xbf"},
        {"^[^a]$", "\xff", "a"},
        {"^\xff.$", "\xff\xfe", "\xfe\xff"},
        {"^\xe2..$", "\xe2\x82x", "\xe2\x82\xac"}, /* not UTF-8; the euro sign */
        {"^.{3}$", "\xed\xa0\x80", "\xe2\x82\xac"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if (*cases[i].fits && !fits(cases[i].text, 0, cases[i].fits))
            fail_msg("%s does not fit %s", cases[i].text, cases[i].fits);
        if (cases[i].not &&fits(cases[i].text, 0, cases[i].not ))
            fail_msg("%s fits %s", cases[i].text, cases[i].not );
    }
    assert_true(fits("^aB[c-d][[:upper:]]$", REGEX_IGNORE_CASE, "AbDx"));
    assert_false(fits("^[^a]$", REGEX_IGNORE_CASE, "A"));
}

/* Each of these takes the C library more than a second, or gigabytes; one of them, minutes. */
TEST(hostile)
{
    static const char *const texts[] = {"x.*foo",   "a.*a.{20}c",          "(a|x)*a(a|x){20}c", "(a*)*b",
                                        "(a|aa)+b", "((a?){1,50}){1,50}b", "(a*a*a*a*)*b",      "(x+x+)+y"};
    const size_t len = 8192; /* a search that tries one way after the other would not end */
    char *subject = malloc(len + 1);
    assert_non_null(subject);
    for (size_t i = 0; i < len; i++)
        subject[i] = i * i % 7 & 1 ? 'a' : 'x';
    subject[len] = 0;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        assert_false(fits(texts[i], 0, subject));
    free(subject);
}

/* What is in the literal is in each text that fits, so none that fits is missed. */
TEST(literals)
{
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
        {"ab\xc3\xa9?", "ab", "ab"}, /* a character of two bytes */
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
        assert_true(span_equal(literal, cases[i].literal));
        if (!cases[i].fits)
            continue;
        assert_true(fits(cases[i].text, 0, cases[i].fits));
        assert_non_null(memmem(cases[i].fits, strlen(cases[i].fits), literal.at, literal.len));
    }
}

/* ---- compared with the C library ---- */

struct text {
    char at[512];
    uint32_t seed;
};

static unsigned chosen(struct text *t, unsigned n)
{
    t->seed = t->seed * 1664525u + 1013904223u;
    return (t->seed >> 16) % n;
}

static void put(struct text *t, const char *part)
{
    if (strlen(t->at) + strlen(part) < sizeof(t->at))
        strcat(t->at, part);
}

static void put_regex(struct text *t, unsigned depth)
{
    static const char *const atoms[] = {"a",    "b",   "-",   ".",   "[ab]", "[^a]", "[a-c]", "[[:alpha:]]", "[]a]",
                                        "[a-]", "\\w", "\\W", "\\s", "\\S",  "\\.",  "()",    "}",           "[[=a=]]"};
    static const char *const ops[] = {"*", "+", "?", "{2}", "{0,1}", "{1,3}", "{2,}", "{0}", "{,2}", "", "", "", ""};
    for (unsigned n = 1 + chosen(t, 3); n; n--) {
        if (depth && chosen(t, 3) == 0) {
            put(t, "(");
            put_regex(t, depth - 1);
            put(t, chosen(t, 2) ? "|" : "");
            put_regex(t, depth - 1);
            put(t, ")");
        } else {
            put(t, atoms[chosen(t, sizeof(atoms) / sizeof(*atoms))]);
        }
        put(t, ops[chosen(t, sizeof(ops) / sizeof(*ops))]);
    }
}

static void put_subject(struct text *t)
{
    static const char *const parts[] = {"a", "b", "c", "A", "_", " ", "-", ".", "}", "a", "b"};
    for (unsigned n = chosen(t, 12); n; n--)
        put(t, parts[chosen(t, sizeof(parts) / sizeof(*parts))]);
}

/* Without ^, $, \b and their like: in groups that are repeated the C library gets them wrong. */
TEST(as_libc)
{
    struct text text = {"", 1}, subject = {"", 2};
    for (unsigned i = 0; i < 1500; i++) {
        regex_t of_libc;
        text.at[0] = 0;
        put_regex(&text, 1);
        struct regex *r = made(text.at, 0);
        if (regex_size(r) < 40) { /* it needs exponential time for some larger ones */
            assert_int_equal(regcomp(&of_libc, text.at, REG_EXTENDED | REG_NOSUB), 0);
            for (unsigned k = 0; k < 8; k++) {
                subject.at[0] = 0;
                put_subject(&subject);
                if ((regexec(&of_libc, subject.at, 0, NULL, 0) == 0) != regex_fits(r, subject.at))
                    fail_msg("/%s/ and '%s'", text.at, subject.at);
            }
            regfree(&of_libc);
        }
        regex_free(r);
    }
}
