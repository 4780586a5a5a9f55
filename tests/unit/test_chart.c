/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks, scaling, and that no drawing loses a peak or invents a value. */
#include "unit.h"
#include "output/chart/chart.h"

#define SECOND 1000000000ull

/* All texts of ticks, with blanks between. */
static const char *texts(const struct chart_ticks *t, char *ret, size_t cap)
{
    size_t n = 0;
    ret[0] = 0;
    for (size_t i = 0; i < t->n; i++)
        n += (size_t)snprintf(ret + n, cap - n, "%s%s", i ? "|" : "", t->at[i].text);
    return ret;
}

TEST(value_ticks)
{
    static const struct {
        enum chart_unit unit;
        double top;
        size_t most;
        const char *texts;
    } cases[] = {
        {CHART_CORES, 1.97, 5, "0.0|0.5|1.0|1.5|2.0"},
        {CHART_CORES, 7, 5, "0|2|4|6|8"},
        {CHART_CORES, 0.03, 5, "0.00|0.01|0.02|0.03"},
        {CHART_BYTES, 153e6, 5, "0|50 MB|100 MB|150 MB|200 MB"},
        {CHART_BYTES, 2.3e9, 6, "0.0|0.5 GB|1.0 GB|1.5 GB|2.0 GB|2.5 GB"},
        {CHART_BYTES, 0, 5, "0|1 B"},
        {CHART_BYTES_PER_SECOND, 20e6, 5, "0|5 MB/s|10 MB/s|15 MB/s|20 MB/s"},
        {CHART_RATIO, 1, 6, "0|20 %|40 %|60 %|80 %|100 %"},
        {CHART_COUNT, 3, 7, "0|1|2|3"},
        {CHART_COUNT, 10000, 5, "0|5,000|10,000"},
        {CHART_SECONDS, 600, 4, "0|5 min|10 min"},
        {CHART_SECONDS, 0.02, 5, "0|5 ms|10 ms|15 ms|20 ms"},
        {CHART_PER_SECOND, 30000, 4, "0|10 k/s|20 k/s|30 k/s"},
        {CHART_NUMBER, 1e308, 5, "0.0|0.5e308|1.0e308"},
        {CHART_NUMBER, 4e-8, 5, "0|1e-8|2e-8|3e-8|4e-8"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct chart_ticks t;
        char all[600];
        chart_value_ticks(cases[i].unit, cases[i].top, cases[i].most, &t);
        assert_string_equal(texts(&t, all, sizeof(all)), cases[i].texts);
        assert_true(t.end >= cases[i].top && t.at[t.n - 1].at >= cases[i].top * (1 - 1e-9));
        assert_true(t.n <= cases[i].most);
    }
    static const double odd[] = {-1, 1e300, 5e-324, 1e18, 0.999999999, 1.0000001};
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        for (int unit = CHART_COUNT; unit <= CHART_HERTZ; unit++) {
            struct chart_ticks t;
            chart_value_ticks((enum chart_unit)unit, odd[i], 5, &t);
            assert_true(t.n >= 2 && t.n <= CHART_TICKS_MAX && t.end > 0);
        }
    }
}

TEST(time_ticks)
{
    static const struct {
        uint64_t from, to, start;
        size_t most;
        const char *texts;
    } cases[] = {
        {0, 5 * SECOND, 0, 7, "0|1 s|2 s|3 s|4 s|5 s"},
        {0, SECOND / 2, 0, 6, "0|100 ms|200 ms|300 ms|400 ms|500 ms"},
        {0, 3 * SECOND / 2, 0, 5, "0|0.5 s|1.0 s|1.5 s"},
        {0, 100 * SECOND, 0, 6, "0|30 s|60 s|90 s"},
        {0, 300 * SECOND, 0, 6, "0|1 min|2 min|3 min|4 min|5 min"},
        {0, 150 * SECOND, 0, 7, "0|0:30|1:00|1:30|2:00|2:30"},
        {0, 86400 * SECOND, 0, 6, "0|6 h|12 h|18 h|24 h"},
        {0, 10800 * SECOND, 0, 8, "0|0:30 h|1:00 h|1:30 h|2:00 h|2:30 h|3:00 h"},
        {0, 864000 * SECOND, 0, 12, "0|1 d|2 d|3 d|4 d|5 d|6 d|7 d|8 d|9 d|10 d"},
        /* Counted from the start of the command, also where the chart begins elsewhere. */
        {3 * SECOND, 8 * SECOND, SECOND, 7, "2 s|3 s|4 s|5 s|6 s|7 s"},
        {0, 4 * SECOND, 2 * SECOND, 6, "-2 s|-1 s|0|1 s|2 s"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct chart c = {.from_ns = cases[i].from, .to_ns = cases[i].to, .start_ns = cases[i].start, .buckets = 10};
        struct chart_ticks t;
        char all[600];
        chart_time_ticks(&c, cases[i].most, &t);
        /* 0:30 is a tick in minutes; the hours' ticks have their unit. */
        texts(&t, all, sizeof(all));
        assert_string_equal(all, cases[i].texts);
    }
}

static struct chart c;

/* Ten buckets from 0 to 10 s with this value; bucket 3 is not known, and bucket 7 has a peak within. */
static void make(enum chart_unit unit, enum chart_shape shape, const char *name)
{
    chart_done(&c);
    c = (struct chart){.id = strdup("x"),
                       .title = strdup("Title"),
                       .help = strdup("Help"),
                       .unit = unit,
                       .to_ns = 10 * SECOND,
                       .buckets = 10};
    struct chart_curve *curve = chart_add_curve(&c, name, shape, 0);
    assert_non_null(curve);
    for (size_t i = 0; i < 10; i++)
        curve->at[i] = (struct chart_bucket){.known = true, .min = 2, .max = 2, .mean = 2, .last = 2};
    curve->at[3] = (struct chart_bucket){.known = 0};
    curve->at[7].max = 8;
    chart_finish(&c);
}

static const struct chart_picture picture = {
    .width = 400, .height = 200, .scale = 2, .has_title = true, .has_time = true, .has_legend = true};

static char *svg_of(void)
{
    struct buf b = {0};
    chart_svg(&c, &picture, &b);
    buf_byte(&b, 0);
    assert_false(b.failed);
    return (char *)b.at;
}

TEST(curve_numbers)
{
    make(CHART_COUNT, CHART_LINE, "a");
    assert_true(c.curves[0].known && c.curves[0].max == 8 && c.curves[0].mean == 2 && c.curves[0].last == 2);
    assert_int_equal(c.curves[0].max_ns, 7500000000ull);
    assert_true(chart_top(&c) == 8);
    assert_int_equal(chart_add_limit(&c, "limit", 10), 0);
    assert_true(chart_top(&c) == 10); /* near: drawn */
    assert_int_equal(chart_add_limit(&c, "far", 100), 0);
    assert_true(chart_top(&c) == 10 && !chart_limit_is_drawn(&c, &c.limits[1]));
    assert_int_equal(chart_add_mark(&c, SECOND, 12, "peak"), 0);
    assert_true(chart_top(&c) == 12);
}

/* 10, of which the first 3 buckets had 4, the next 3 none, then 6, at the end 100, which is far above all values. */
TEST(limit_that_changed)
{
    static const double values[10] = {4, 4, 4, 0, 0, 0, 6, 6, 100, 100};
    struct chart_step steps[CHART_STEPS_MOST];
    struct buf b = {0};
    make(CHART_COUNT, CHART_LINE, "a");
    assert_int_equal(chart_add_limit(&c, "limit", 100), 0);
    assert_int_equal(chart_limit_steps(&c, &c.limits[0], steps), 0);
    double *at = c.limits[0].at = calloc(10, sizeof(*at));
    memcpy(at, values, sizeof(values));
    assert_int_equal(chart_limit_steps(&c, &c.limits[0], steps), 2);
    assert_true(steps[0].from == 0 && steps[0].to == 3 && steps[0].value == 4);
    assert_true(steps[1].from == 6 && steps[1].to == 8 && steps[1].value == 6);
    assert_true(chart_limit_is_drawn(&c, &c.limits[0]) && chart_top(&c) == 8);
    chart_limit_text(&c, &c.limits[0], &b);
    buf_byte(&b, 0);
    assert_string_equal((char *)b.at, "4, then 100");
    at[9] = 0;
    buf_clear(&b);
    chart_limit_text(&c, &c.limits[0], &b);
    buf_byte(&b, 0);
    assert_string_equal((char *)b.at, "4, then none");
    char *svg = svg_of();
    assert_non_null(strstr(svg, "data-limit=\"limit\""));
    free(svg);
    buf_done(&b);
}

TEST(phase_colors)
{
    struct chart_phase_colors known = {.n = 0};
    unsigned load = chart_phase_color(&known, "load"), epoch = chart_phase_color(&known, "epoch 1");
    assert_int_equal(chart_phase_color(&known, "epoch 12"), epoch);
    assert_int_equal(chart_phase_color(&known, "load"), load);
    assert_int_not_equal(chart_phase_color(&known, "save"), epoch);
    for (char name[2] = "A"; name[0] <= 'Z'; name[0]++)
        assert_true(chart_phase_color(&known, name) < CHART_COLORS && chart_phase_color(&known, name) != 1);
}

/* The plot's upper edge is the axis' end: 8 of 8 is y of the plot, so the band must reach it. */
TEST(svg_keeps_peaks_and_gaps)
{
    make(CHART_COUNT, CHART_LINE, "a");
    char *svg = svg_of();
    double x, y, width, height;
    const char *plot = strstr(svg, "data-plot=\"");
    assert_non_null(plot);
    assert_int_equal(sscanf(plot, "data-plot=\"%lf %lf %lf %lf\"", &x, &y, &width, &height), 4);
    assert_non_null(strstr(svg, "data-axis-end=\"8\""));
    assert_non_null(strstr(svg, "data-max=\"8\""));
    char point[64];
    snprintf(point, sizeof(point), "class=\"f e c0\" d=\"M%.4g %.4g", x + width * 0.7, y);
    assert_non_null(strstr(svg, point));
    /* The line: three buckets as one level, a gap, six buckets as one level. */
    snprintf(point, sizeof(point), "class=\"l c0\" d=\"M%.4g %.4gh%.4gM", x, y + height * 0.75, width * 0.3);
    assert_non_null(strstr(svg, point));
    free(svg);
}

TEST(svg_escapes)
{
    static const char hostile[] = "</svg><script>alert(1)</script>\"'&\x01\xff\xef\xbf\xbf";
    make(CHART_BYTES, CHART_STACK, hostile);
    chart_add_limit(&c, hostile, 3);
    chart_add_mark(&c, SECOND, 2, hostile);
    char *svg = svg_of();
    assert_null(strstr(svg, "<script"));
    assert_null(strchr(svg, 1));
    assert_null(strchr(svg, 0xff));
    assert_non_null(strstr(svg,
                           "data-curve=\"&lt;/svg&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;\\x01\\xff"
                           "\\xef\\xbf\\xbf\""));
    free(svg);
}

TEST(terminal)
{
    struct buf b = {0};
    struct chart_terminal t = {.width = 40, .height = 12};
    make(CHART_COUNT, CHART_AREA, "a\033[2J");
    chart_text(&c, &t, &b);
    buf_byte(&b, 0);
    assert_null(strchr((char *)b.at, 033));
    for (size_t i = 0; i + 1 < b.len; i++)
        assert_true(b.at[i] < 0x80);
    const char *top = strstr((char *)b.at, "8 +");
    assert_non_null(top);
    /* The peak reaches the first line of the plot. */
    assert_true(strcspn(top, "*") < strcspn(top, "\n"));
    buf_clear(&b);
    t.color = t.utf8 = true;
    chart_text(&c, &t, &b);
    buf_byte(&b, 0);
    assert_non_null(strstr((char *)b.at, "\\x1b[2J")); /* escaped; the sequences are our own */
    buf_done(&b);
}

/* 40 columns, of which 37 are the plot's 10 s. */
TEST(terminal_phases)
{
    char hostile[] = "a\033[2J";
    struct chart_span at[] = {
        {.kind = CHART_PHASE, .begin_ns = 0, .end_ns = 5 * SECOND, .text = (char[]){"building"}},
        {.kind = CHART_PHASE, .begin_ns = 5 * SECOND, .end_ns = 10 * SECOND, .text = hostile},
        {.kind = CHART_PHASE, .lane = 1, .begin_ns = SECOND, .end_ns = 3 * SECOND, .text = (char[]){"compile"}},
        {.kind = CHART_PHASE, .lane = 1, .begin_ns = 9 * SECOND, .end_ns = 9 * SECOND + 1, .text = (char[]){"short"}},
        {.kind = CHART_MARK, .begin_ns = 5 * SECOND, .end_ns = 5 * SECOND, .text = (char[]){"half"}},
        {.kind = CHART_EVENT, .bad = true, .begin_ns = 10 * SECOND, .end_ns = 10 * SECOND, .text = (char[]){"oom"}},
    };
    struct chart_spans spans = {.at = at, .n = sizeof(at) / sizeof(*at), .lanes = 2};
    struct chart_terminal t = {.width = 40, .height = 12};
    struct buf b = {0};
    make(CHART_COUNT, CHART_AREA, "a");
    c.spans = &spans;
    chart_text(&c, &t, &b);
    buf_byte(&b, 0);
    assert_non_null(strstr((char *)b.at, "\n   | building ------|| a\\x1b[2J -------|\n"
                                         "      | com~ |                      |\n"
                                         "                     *                 !\n"));
    buf_clear(&b);
    t.utf8 = true;
    chart_text(&c, &t, &b);
    buf_byte(&b, 0);
    assert_non_null(strstr((char *)b.at, "\n   ├ building ──────┤├ a\\x1b[2J ───────┤\n"));
    assert_non_null(strstr((char *)b.at, "▲\n"));
    buf_done(&b);
}

static unsigned big_endian(const unsigned char *at)
{
    return (unsigned)at[0] << 24 | (unsigned)at[1] << 16 | (unsigned)at[2] << 8 | at[3];
}

TEST(png)
{
    struct buf b = {0};
    struct baro_error err = BARO_ERROR_INIT;
    make(CHART_CORES, CHART_AREA, "a");
    int r = chart_png(&c, &picture, &b, &err);
    if (!chart_has_png()) {
        assert_true(r < 0 && strstr(err.text, "without cairo"));
    } else {
        assert_int_equal(r, 0);
        assert_memory_equal(b.at, "\x89PNG\r\n\x1a\n", 8);
        assert_int_equal(big_endian(b.at + 16), 800);
        assert_int_equal(big_endian(b.at + 20), 400);
    }
    buf_done(&b);
}

/* A peak that no sample has hovers above the curve: the line below it ends at what is drawn there. */
TEST(flat_and_below_a_mark)
{
    make(CHART_BYTES, CHART_STACK, "a");
    assert_false(chart_is_flat(&c)); /* bucket 7 */
    c.curves[0].at[7].max = 2;
    chart_finish(&c);
    assert_true(chart_is_flat(&c));
    assert_non_null(chart_add_curve(&c, "b", CHART_STACK, 1));
    for (size_t i = 0; i < 10; i++)
        c.curves[1].at[i] = (struct chart_bucket){.known = true, .min = 1, .max = 1, .mean = 1, .last = 1};
    chart_finish(&c);
    assert_int_equal(chart_add_mark(&c, 5 * SECOND, 8, "peak 8 B between samples"), 0);
    assert_true(chart_below_mark(&c, &c.marks[0]) == 3);
    c.marks[0].value = 2.5;
    assert_true(chart_below_mark(&c, &c.marks[0]) == 2);
    chart_add_limit(&c, "limit", 3.1);
    assert_false(chart_is_flat(&c)); /* a limit is near */
}
