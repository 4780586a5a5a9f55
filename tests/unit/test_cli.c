/* SPDX-License-Identifier: Apache-2.0 */
/* Options and times, as users write them. */
#include <time.h>

#include "unit.h"

/* These are not in the library; they need nothing else of the command line. */
#include "../../src/programs/common/moment.c"
#include "../../src/programs/common/opt.c"
#include "../../src/programs/common/zone.c"

struct values {
    bool a, b;
    bool c;
    const char *text;
    int choice;
    int parsed;
};

static int take_number(void *at, const char *text, struct baro_error *err)
{
    if (strcmp(text, "5") != 0)
        return error_set(err, BARO_E_SYNTAX, "'%s' is not five", text);
    *(int *)at = 5;
    return 0;
}

static const char *const colors[] = {"red", "green", NULL};
static const struct opt table[] = {
    {.name = "alpha", .letter = 'a', .type = OPT_TRUE, .offset = offsetof(struct values, a), .help = "first"},
    {.name = "beta", .letter = 'b', .type = OPT_TRUE, .offset = offsetof(struct values, b), .help = "second"},
    {.name = "no-c", .type = OPT_FALSE, .offset = offsetof(struct values, c), .help = "third"},
    {.name = "text",
     .letter = 't',
     .argument = "TEXT",
     .type = OPT_TEXT,
     .offset = offsetof(struct values, text),
     .help = "fourth"},
    {.name = "color",
     .argument = "COLOR",
     .type = OPT_CHOICE,
     .offset = offsetof(struct values, choice),
     .choices = colors,
     .help = "fifth"},
    {.name = "five",
     .letter = '5',
     .argument = "N",
     .type = OPT_PARSED,
     .offset = offsetof(struct values, parsed),
     .parse = take_number,
     .help = "sixth"},
    {.name = "help", .letter = 'h', .type = OPT_HELP, .help = "help"},
    {.name = NULL},
};

#define PARSE(stop, ...)                                                                                               \
    char *argv[] = {__VA_ARGS__, NULL};                                                                                \
    struct values v = {.c = true};                                                                                     \
    struct baro_error err = BARO_ERROR_INIT;                                                                           \
    bool help;                                                                                                         \
    int n = opt_parse(table, argv, stop, &v, &help, &err);                                                             \
    (void)n

TEST(forms)
{
    PARSE(false, "x", "-ab", "--text=1", "y", "--no-c", "--color", "green", "-5", "5", "--", "--alpha", "-");
    assert_int_equal(n, 4);
    assert_string_equal(argv[0], "x");
    assert_string_equal(argv[1], "y");
    assert_string_equal(argv[2], "--alpha");
    assert_string_equal(argv[3], "-");
    assert_null(argv[4]);
    assert_true(v.a && v.b && !v.c);
    assert_string_equal(v.text, "1");
    assert_int_equal(v.choice, 1);
    assert_int_equal(v.parsed, 5);
}

TEST(short_value)
{
    PARSE(false, "-abt-x", "-t", "--alpha");
    assert_int_equal(n, 0);
    assert_string_equal(v.text, "--alpha"); /* an option's argument may look like an option: --at -10s */
}

TEST(stop_early)
{
    PARSE(true, "-a", "make", "-b", "--", "--text");
    assert_int_equal(n, 4);
    assert_true(v.a && !v.b);
    assert_string_equal(argv[0], "make");
    assert_string_equal(argv[2], "--");
}

TEST(double_dash_first)
{
    PARSE(true, "--", "-a", "--");
    assert_int_equal(n, 2);
    assert_false(v.a);
}

TEST(help_ends)
{
    PARSE(false, "-h", "--nonsense");
    assert_true(help);
    assert_int_equal(n, 0);
}

static void refused(char *one, char *two, const char *says)
{
    PARSE(false, one, two);
    assert_true(n < 0);
    assert_null(strchr(err.text, '\n'));
    if (!strstr(err.text, says))
        fail_msg("'%s' does not say '%s'", err.text, says);
}

TEST(bad)
{
    refused("--alhpa", NULL, "did you mean --alpha?");
    refused("--zzzzzzzzz", NULL, "unknown option --zzzzzzzzz");
    refused("-x", NULL, "unknown option -x");
    refused("--alpha=1", NULL, "takes no value");
    refused("--text", NULL, "needs its TEXT");
    refused("-t", NULL, "needs its TEXT");
    refused("--text=", NULL, "is empty");
    refused("--color", "blue", "not one of red, green");
    refused("--five", "six", "--five: 'six' is not five");
    refused("--\x1b[31m\n", NULL, "\\x1b[31m\\x0a");
}

TEST(distance)
{
    assert_int_equal(opt_distance("abc", "abc"), 0);
    assert_int_equal(opt_distance("abc", "acb"), 1);
    assert_int_equal(opt_distance("abc", "ab"), 1);
    assert_int_equal(opt_distance("", "abc"), 3);
    assert_int_equal(opt_distance("kitten", "sitting"), 3);
    assert_int_equal(opt_distance("a", "0123456789012345678901234567890123456789"), 255);
}

static int64_t moment(const char *text, int64_t start, uint64_t end)
{
    struct moment m;
    struct baro_error err = BARO_ERROR_INIT;
    if (moment_parse(text, start, end, &m, &err) < 0) {
        assert_null(strchr(err.text, '\n'));
        return INT64_MIN;
    }
    return m.ns;
}

static struct moment written(const char *text)
{
    struct moment m;
    assert_int_equal(moment_parse(text, 0, 200, &m, NULL), 0);
    return m;
}

#define S 1000000000ll

TEST(moments)
{
    const int64_t start = 1795235690 * S; /* 2026-11-21T04:34:50Z by the calendar: 20778 days and 16490 s */
    static const struct {
        const char *text;
        uint64_t end;
        int64_t ns;
    } times[] = {
        {"+90s", 100, 90 * S},
        {"90s", 100, 90 * S},
        {"1h30min", 100, 5400 * S},
        {"-10s", 60 * S, 50 * S},
        {"-10s", S, -9 * S},
        {"04:34:50", 1, 0},
        {"04:34:50.250", 1, S / 4},
        {"2026-11-21T05:34:50Z", 1, 3600 * S},
        {"2026-11-21 05:34:50", 1, 3600 * S},
        {"2026-11-21T05:34:50+02:00", 1, -3600 * S},
        {"2026-11-21T05:34:50-0130", 1, (3600 + 5400) * S},
    };
    setenv("TZ", "UTC0", 1);
    tzset();
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        if (moment(times[i].text, start, times[i].end) != times[i].ns)
            fail_msg("%s: %lld", times[i].text, (long long)moment(times[i].text, start, times[i].end));
    }
    /* No time that cannot be counted in nanoseconds is before the beginning. */
    assert_true(moment("9999-12-31T23:59:59Z", start, 1) > moment("2200-01-01T00:00:00Z", start, 1));
    assert_true(moment("1601-01-01T00:00:00Z", start, 1) < 0);
    assert_true(moment("2026-02-30T00:00:00Z", start, 1) == INT64_MIN);
    assert_true(moment("2024-02-29T00:00:00Z", start, 1) != INT64_MIN);
}

/* Of a tape of 200 ns; and the precision with which a time was written. */
TEST(words_and_units_of_moments)
{
    static const struct {
        const char *text;
        enum moment_kind kind;
        int64_t ns;
        uint64_t unit_ns;
    } of[] = {
        {"start", MOMENT_START, 0, 0},
        {"0", MOMENT_START, 0, 0},
        {"end", MOMENT_END, 0, 0},
        {"peak", MOMENT_PEAK, 0, 0},
        {"50%", 0, 100, 0},
        {"0%", 0, 0, 0},
        {"100%", 0, 200, 0},
        {"12.5%", 0, 25, 0},
        {"+90s", 0, 0, S},
        {"+4.83 s", 0, 0, 10000000},
        {"4.83 s", 0, 0, 10000000},
        {"+4.831s", 0, 0, 1000000},
        {"+1h02min03.004s", 0, 0, 1000000},
        {"+1h02min", 0, 0, S},
        {"-7ns", 0, 0, 1},
        {"+0.1234567890123s", 0, 0, 1},
        {"12:30", 0, 0, 60 * S},
        {"12:30:05", 0, 0, S},
        {"12:30:05.25", 0, 0, S / 100},
        {"2026-11-21T12:30:05.250+01:00", 0, 0, S / 1000},
    };
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        struct moment m = written(of[i].text);
        if ((of[i].kind && m.kind != of[i].kind) || (of[i].unit_ns && m.unit_ns != of[i].unit_ns) ||
            (!of[i].kind && !of[i].unit_ns && m.ns != of[i].ns))
            fail_msg("%s: %d, %lld, %llu", of[i].text, (int)m.kind, (long long)m.ns, (unsigned long long)m.unit_ns);
    }
    struct moment m = written("+4.831s");
    assert_int_equal(moment_tolerance(&m), 999999);
    m = written("+4831000001ns");
    assert_int_equal(moment_tolerance(&m), 0);
}

/* Times that are printed are accepted, and mean the same millisecond. */
TEST(printed_moments)
{
    static const uint64_t times[] = {0,           999999,       1000000,       1234567890,    59999999999,
                                     60000000000, 754001999999, 3599999000000, 3600000000000, 98765432100000};
    static const long zones[] = {0, 3600, -12600, 50400};
    const int64_t start = 1795235690 * S + 123456789;
    setenv("TZ", "XXX-5:30", 1);
    tzset();
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        struct buf b = {0};
        fmt_moment(&b, times[i]);
        buf_byte(&b, 0);
        assert_int_equal(moment((char *)b.at, start, 1), times[i] / 1000000 * 1000000);
        for (size_t z = 0; z < sizeof(zones) / sizeof(*zones); z++) {
            buf_clear(&b);
            fmt_time_zone(&b, start + (int64_t)times[i], zones[z], true);
            buf_byte(&b, 0);
            int64_t off = (int64_t)times[i] - moment((char *)b.at, start, 1);
            assert_true(off >= 0 && off < 1000000);
        }
        buf_done(&b);
    }
}

TEST(bad_moments)
{
    /* clang-format off */
    static const char *const texts[] = {"", "5", "+", "+5", "-x", "25:00", "12:60", "1:30", "12:3", "12:30x", "12:30.",
                                        "2026-1-01", "2026-13-01T00:00Z", "2026-11-21", "2026-11-21T12:30:05+",
                                        "2026-11-21T12:30:05+15:00", "+99999999999999h", "101%", "-5%x", "%", "peaks",
                                        "00", "5x", "h", "99999999999999h"};
    /* clang-format on */
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        assert_true(moment(texts[i], 0, 1) == INT64_MIN);
}
