/* SPDX-License-Identifier: Apache-2.0 */
/* What collector programs print, as rows and columns. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "recorder/collectors/programs/reading.h"

static struct reading reading;
static struct reading_parser parser;

static void put_cell(struct buf *b, const struct reading_cell *c)
{
    double real;
    memcpy(&real, &c->bits, sizeof(real));
    if (c->value == READING_ABSENT)
        buf_str(b, "-");
    else if (c->value == READING_INTEGER)
        buf_u64(b, c->bits);
    else
        buf_printf(b, "%.17g", real);
}

/* "row {labels} column:type=value ...; ..." */
static const char *text_of(const struct reading *r, struct buf *b)
{
    static const char types[] = "gci";
    buf_clear(b);
    for (uint32_t i = 0; i < r->n_rows; i++) {
        const struct reading_row *row = &r->row[i];
        buf_printf(b, "%s[%s]", i ? "; " : "", reading_text(r, row->name));
        uint32_t at = row->labels;
        for (unsigned k = 0; k < row->n_labels; k++) {
            const char *name = reading_text(r, at), *value = name + strlen(name) + 1;
            buf_printf(b, " %s<%s>", name, value);
            at += (uint32_t)(strlen(name) + strlen(value) + 2);
        }
        if (row->pid)
            buf_printf(b, " of %d", row->pid);
        for (uint32_t k = 0; k < r->n_cells; k++) {
            const struct reading_column *c = &r->column[r->cell[k].column];
            if (r->cell[k].row != i)
                continue;
            buf_printf(b, " %s:%c=", reading_text(r, c->name), types[c->type]);
            put_cell(b, &r->cell[k]);
        }
    }
    if (r->bad_lines)
        buf_printf(b, " !%u", r->bad_lines);
    buf_byte(b, 0);
    return (const char *)b->at;
}

/* In a block of its exact size, so that a read beyond its end is found. */
static void parse(const char *text, size_t len)
{
    char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, text, len);
    reading_parse(&parser, span_of(copy, len), &reading);
    assert_true(reading_check(&reading));
    free(copy);
}

struct row {
    const char *text, *expected;
};

static void check(const struct row *rows, size_t n)
{
    struct buf b = {0};
    for (size_t i = 0; i < n; i++) {
        reading_parser_init(&parser);
        parse(rows[i].text, strlen(rows[i].text));
        assert_string_equal(text_of(&reading, &b), rows[i].expected);
        for (size_t cut = 0; cut < strlen(rows[i].text); cut++)
            parse(rows[i].text, cut);
    }
    buf_done(&b);
}

static void test_openmetrics(void **state)
{
    static const struct row rows[] = {
        {"load1 0.25\n", "[] load1:g=0.25"},
        {"load1 0.25", "[] load1:g=0.25"},
        {"# TYPE a gauge\n# TYPE b counter\na 1\nb_total 2 1700000000.5\n# EOF\n", "[] a:g=1 b_total:c=2"},
        /* the older format: the counter's family has the name of its sample */
        {"# HELP x_total How many.\n# TYPE x_total counter\nx_total{a=\"1\"} 3 1700000000000\n",
         "[a=1] a<1> x_total:c=3"},
        {"# TYPE x_seconds counter\nx_seconds 3\n", "[] x_seconds:c=3"},
        {"y_total 7\n", "[] y_total:c=7"},
        {"# TYPE y untyped\ny_total 7\n", "[] y_total:c=7"},
        {"# TYPE z gauge\nz_total 7\n", "[] z_total:g=7"},
        /* a label set is a row, whatever the order of its labels */
        {"a{x=\"1\",y=\"2\"} 1\nb{y=\"2\",x=\"1\"} 2\nb{y=\"3\"} 3\n",
         "[x=1,y=2] x<1> y<2> a:g=1 b:g=2; [y=3] y<3> b:g=3"},
        {"a { x = \"1\" , } 1\n", "[x=1] x<1> a:g=1"},
        {"a{} 1\na{x=\"\"} 2\n", "[] a:g=1 a:g=2"},
        {"a{x=\"q\\\"b\\\\n\\nz\\t\"} 1\n", "[x=\"q\\\"b\\\\n\\nz\\\\t\"] x<q\"b\\n\nz\\t> a:g=1"},
        {"a{x=\"c,d\",y=\"e f\",z=\"}\"} 1\n", "[x=\"c,d\",y=\"e f\",z=\"}\"] x<c,d> y<e f> z<}> a:g=1"},
        {"# TYPE h histogram\nh_bucket{le=\"0.1\"} 1\nh_bucket{le=\"+Inf\"} 5\nh_sum 0.5\nh_count 5\n"
         "h_created 1.7e9\n",
         "[le=0.1] le<0.1> h_bucket:c=1; [le=+Inf] le<+Inf> h_bucket:c=5; "
         "[] h_sum:c=0.5 h_count:c=5 h_created:g=1700000000"},
        {"# TYPE s summary\ns{quantile=\"0.5\"} 0.125\ns_sum 2\ns_count 4\n",
         "[quantile=0.5] quantile<0.5> s:g=0.125; [] s_sum:c=2 s_count:c=4"},
        {"# TYPE build info\nbuild_info{version=\"1.0\"} 1\n", "[version=1.0] version<1.0> build_info:i=1"},
        {"# TYPE t counter\nt_total 1 # {trace_id=\"a\"} 0.5 123\n", "[] t_total:c=1"},
        {"a NaN\nb +Inf\nc -Inf\nd -5\ne 1e400\n", "[] a:g=- b:g=- c:g=- d:g=-5 e:g=-"},
        {"m{pid=\"815\"} 1\nn{pid=\"x\"} 1\n", "[pid=815] pid<815> of 815 m:g=1; [pid=x] pid<x> n:g=1"},
        {"a 1\r\n\r\n  b 2\r\n# EOF\r\n", "[] a:g=1 b:g=2"},
        {"# comment\n#\n#TYPE x counter\nx 1\n", "[] x:c=1"},
        /* a line that is no sample is the only one that is lost */
        {"hello world\na 1\n", "[] a:g=1 !1"},
        {"a{x=\"1} 1\na{x=\"1\" 1\na{x=1} 1\na{x=\"1\"}\na\n1a 1\na 1x\na{x=\"1\",x=\"2\"} 1\na 0x10\n", " !9"},
        {"", ""},
        {"\n\n", ""},
    };
    (void)state;
    check(rows, sizeof(rows) / sizeof(*rows));
}

struct number {
    const char *text;
    enum reading_value is;
    uint64_t integer;
    double real;
};

static void check_number(const struct number *n)
{
    struct span s = span_str(n->text);
    struct reading_cell c;
    uint64_t bits = n->integer;
    if (n->is == READING_REAL)
        memcpy(&bits, &n->real, sizeof(n->real));
    if (!reading_number(&s, &c) || s.len)
        fail_msg("%s is not read", n->text);
    if (c.value != n->is || c.bits != bits)
        fail_msg("%s is of kind %d with bits %#llx", n->text, (int)c.value, (unsigned long long)c.bits);
}

static void test_numbers(void **state)
{
    static const struct number numbers[] = {
        /* digits, with or without zeros behind a point, are exact */
        {"0", READING_INTEGER, 0, 0},
        {"+0", READING_INTEGER, 0, 0},
        {"-0", READING_INTEGER, 0, 0},
        {"9007199254740993", READING_INTEGER, 9007199254740993, 0},
        {"+9007199254740993", READING_INTEGER, 9007199254740993, 0},
        {"9007199254740993.000", READING_INTEGER, 9007199254740993, 0},
        {"+9007199254740993.", READING_INTEGER, 9007199254740993, 0},
        {"18446744073709551615", READING_INTEGER, UINT64_MAX, 0},
        {"+18446744073709551615", READING_INTEGER, UINT64_MAX, 0},
        {"18446744073709551615.000", READING_INTEGER, UINT64_MAX, 0},
        /* the others are the nearest double, which may be a whole number */
        {"18446744073709551616", READING_REAL, 0, 0x1p64},
        {"1.8446744073709551615e19", READING_REAL, 0, 0x1p64},
        {"9007199254740993e0", READING_INTEGER, 9007199254740992, 0},
        {"9007199254740992.5", READING_INTEGER, 9007199254740992, 0},
        {"9007199254740993.0000000000000000000000001", READING_INTEGER, 9007199254740994, 0},
        {"0.99999999999999999999", READING_INTEGER, 1, 0},
        {"1.7e+09", READING_INTEGER, 1700000000, 0},
        {"1E3", READING_INTEGER, 1000, 0},
        {"00012.50", READING_REAL, 0, 12.5},
        {"123456.789e-3", READING_REAL, 0, 123.456789},
        {"0.1000000000000000055511", READING_REAL, 0, 0.1},
        {"-1", READING_REAL, 0, -1},
        {"-9007199254740993", READING_REAL, 0, -0x1p53},
        {"1e23", READING_REAL, 0, 0x1.52d02c7e14af6p76},
        {"1.7976931348623157e308", READING_REAL, 0, 0x1.fffffffffffffp1023},
        {"2.2250738585072011e-308", READING_REAL, 0, 0x0.fffffffffffffp-1022},
        {"4.9406564584124654e-324", READING_REAL, 0, 0x1p-1074},
        {"2.4703282292062328e-324", READING_REAL, 0, 0x1p-1074},
        {"2.4703282292062327e-324", READING_INTEGER, 0, 0},
        {"1e-400", READING_INTEGER, 0, 0},
        {"1.7976931348623159e308", READING_ABSENT, 0, 0},
        {"1e400", READING_ABSENT, 0, 0},
    };
    static const char *const bad[] = {"", "-", ".", "e5", "1e", "1e+", "x", "+", "-.", "--1", "+-1", "++1"};
    char many[512];
    struct reading_cell c;
    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        check_number(&numbers[i]);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct span s = span_str(bad[i]);
        assert_false(reading_number(&s, &c));
        assert_int_equal(s.len, strlen(bad[i]));
    }
    memset(many, '0', sizeof(many));
    many[510] = '7';
    struct span s = span_of(many, 511), longer = span_of(many, 512);
    assert_true(reading_number(&s, &c));
    assert_true(c.value == READING_INTEGER && c.bits == 7 && !s.len);
    assert_false(reading_number(&longer, &c));
    assert_int_equal(longer.len, 512);
}

/* ---- limits ---- */

static void test_limits(void **state)
{
    struct buf b = {0};
    (void)state;
    reading_parser_init(&parser);
    for (unsigned i = 0; i < READING_COLUMNS + 10; i++)
        buf_printf(&b, "m%u %u\n", i, i);
    parse((char *)b.at, b.len);
    assert_int_equal(reading.n_columns, READING_COLUMNS);
    assert_int_equal(reading.cut_columns, 10);
    buf_clear(&b);
    for (unsigned i = 0; i < READING_ROWS + 10; i++)
        buf_printf(&b, "m{r=\"%u\"} %u\n", i, i);
    parse((char *)b.at, b.len);
    assert_int_equal(reading.n_rows, READING_ROWS);
    assert_int_equal(reading.cut_rows, 10);
    assert_int_equal(reading.n_cells, READING_ROWS);
    buf_clear(&b);
    for (unsigned i = 0; i < READING_CELLS + 10; i++)
        buf_str(&b, "m 1\n");
    parse((char *)b.at, b.len);
    assert_int_equal(reading.n_cells, READING_CELLS);
    assert_int_equal(reading.cut_cells, 10);
    /* names and labels that are too long, and too many of them */
    buf_clear(&b);
    for (unsigned i = 0; i < 2000; i++)
        buf_byte(&b, 'n');
    buf_str(&b, " 1\nm{l=\"");
    for (unsigned i = 0; i < 2000; i++)
        buf_byte(&b, 'v');
    buf_str(&b, "\"} 2\nm{");
    for (unsigned i = 0; i < READING_LABELS + 1; i++)
        buf_printf(&b, "l%u=\"1\",", i);
    buf_str(&b, "} 3\nm 4\n");
    parse((char *)b.at, b.len);
    assert_int_equal(reading.n_rows, 1);
    assert_int_equal(reading.bad_lines, 2);
    assert_int_equal(reading.cut_rows, 1);
    /* the text of all names and labels */
    buf_clear(&b);
    for (unsigned i = 0; i < READING_ROWS; i++) {
        buf_printf(&b, "m{r=\"%u", i);
        for (unsigned k = 0; k < 900; k++)
            buf_byte(&b, 'x');
        buf_str(&b, "\"} 1\n");
    }
    parse((char *)b.at, b.len);
    assert_true(reading.cut_rows > 0 && reading.n_rows + reading.cut_rows == READING_ROWS);
    buf_done(&b);
}

/* ---- a stream ---- */

struct stream {
    const char *text;
    const char *pieces[8];
};

static void check_pieces(const struct stream *t, size_t step)
{
    size_t begin = 0, len = strlen(t->text), have = 0, piece = 0;
    struct reading_frame f = {0};
    while (begin < len) {
        bool ended = have == len;
        char *copy = malloc(have - begin ? have - begin : 1);
        assert_non_null(copy);
        memcpy(copy, t->text + begin, have - begin);
        size_t n = reading_next(&f, span_of(copy, have - begin), ended);
        free(copy);
        if (!n) {
            assert_false(ended);
            have = have + step < len ? have + step : len;
            continue;
        }
        size_t blanks = strspn(t->text + begin, " \n\t\r");
        if (blanks < n) { /* one of blanks only is no reading */
            assert_non_null(t->pieces[piece]);
            assert_int_equal(strlen(t->pieces[piece]), n - blanks);
            assert_memory_equal(t->pieces[piece], t->text + begin + blanks, n - blanks);
            piece++;
        }
        begin += n;
        f = (struct reading_frame){0};
    }
    assert_null(t->pieces[piece]);
}

static void test_frames(void **state)
{
    static const struct stream streams[] = {
        {"a 1\nb 2\n# EOF\na 2\n# EOF\n", {"a 1\nb 2\n# EOF\n", "a 2\n# EOF\n"}},
        {"a 1\nb 2\n", {"a 1\nb 2\n"}},
        {"a 1\r\n# EOF\r\nb 2", {"a 1\r\n# EOF\r\n", "b 2"}},
        {"# EOFF\n# EOF\n", {"# EOFF\n# EOF\n"}},
        /* text without an end takes the next reading with it: it is one with two values */
        {"starting\na 1\na 2\n# EOF\n", {"starting\na 1\na 2\n# EOF\n"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(streams) / sizeof(*streams); i++) {
        for (size_t step = 1; step < 8; step++)
            check_pieces(&streams[i], step);
    }
}

/* ---- a reading from elsewhere ---- */

static void test_check(void **state)
{
    static const char text[] = "# HELP a Help.\na{x=\"1\"} 1\nb{y=\"2\",z=\"3\"} 2\n";
    static struct reading good;
    (void)state;
    reading_parser_init(&parser);
    parse(text, strlen(text));
    good = reading;
#define LIE(what)                                                                                                      \
    do {                                                                                                               \
        reading = good;                                                                                                \
        what;                                                                                                          \
        assert_false(reading_check(&reading));                                                                         \
    } while (0)
    LIE(reading.n_columns = READING_COLUMNS + 1);
    LIE(reading.n_rows = READING_ROWS + 1);
    LIE(reading.n_cells = READING_CELLS + 1);
    LIE(reading.n_cells = UINT32_MAX);
    LIE(reading.text_len = READING_TEXT + 1);
    LIE(reading.text_len = 0);
    LIE(reading.text[0] = 'x');
    LIE(memset(reading.bad, 'x', sizeof(reading.bad)));
    LIE(reading.column[0].name = 0);
    LIE(reading.column[0].name = UINT32_MAX);
    LIE(reading.column[1].help = good.text_len);
    LIE(reading.column[0].type = 9);
    LIE(reading.row[0].name = good.text_len);
    LIE(reading.row[1].n_labels = READING_LABELS + 1);
    LIE(reading.row[1].labels = good.text_len - 1);
    LIE(reading.row[1].labels = UINT32_MAX);
    LIE(reading.cell[0].row = 2);
    LIE(reading.cell[1].column = 2);
    LIE(reading.cell[1].value = 3);
    LIE(memset(reading.text + 1, 'x', sizeof(reading.text) - 1));
#undef LIE
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_openmetrics), cmocka_unit_test(test_numbers), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_frames),      cmocka_unit_test(test_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
