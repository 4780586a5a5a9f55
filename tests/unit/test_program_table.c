/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of a collector program: columns and rows of its readings, and what is left out; and the mailbox that carries
 * a reading to the recorder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "recorder/collectors/programs/program_shared.h"
#include "recorder/collectors/programs/program_table.h"

struct fixture {
    struct reading_parser parser;
    struct reading reading;
    struct program_table table;
    uint32_t ids;
};

static uint64_t start_of(void *context, int32_t pid)
{
    (void)context;
    return pid == 41 ? 4100 : 0; /* no other process is known */
}

static int take(struct fixture *f, const char *text, uint64_t t_ns)
{
    assert_true(reading_parse(&f->parser, span_str(text), &f->reading));
    return program_table_take(&f->table, &f->reading, &f->ids, t_ns, start_of, NULL);
}

static const struct baro_entity *row(const struct fixture *f, size_t i)
{
    assert_true(i < f->table.kind.rows.n);
    return f->table.kind.rows.at[i];
}

static double real(const struct baro_entity *e, size_t column)
{
    double v;
    assert_int_equal(e->absent[column], BARO_PRESENT);
    memcpy(&v, &e->value[column], sizeof(v));
    return v;
}

static void test_columns_and_rows(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(take(f, "x{n=\"a\"} 1.5\ny_bytes{n=\"a\"} 7\nx{n=\"b\"} 2\n", 1000), 0);
    assert_int_equal(f->table.kind.n_metrics, 2);
    assert_string_equal(f->table.metric[1]->name, "y_bytes");
    assert_int_equal(f->table.metric[1]->unit, BARO_UNIT_BYTES);
    assert_int_equal(f->table.kind.rows.n, 2);
    assert_true(real(row(f, 0), 0) == 1.5);
    assert_int_equal(row(f, 0)->value[1], 7);
    assert_int_equal(row(f, 1)->absent[1], BARO_ABSENT_UNKNOWN);
    uint32_t b = row(f, 1)->id;
    /* a is gone, b stays the same entity, c is new, with a new column */
    assert_int_equal(take(f, "x{n=\"b\"} 3\nz{n=\"c\"} 4\n", 2000), 0);
    assert_int_equal(f->table.kind.n_metrics, 3);
    assert_int_equal(f->table.kind.rows.n, 2);
    assert_int_equal(row(f, 0)->id, b);
    assert_true(real(row(f, 0), 0) == 3);
    assert_int_equal(row(f, 0)->absent[2], BARO_ABSENT_UNKNOWN);
    assert_true(real(row(f, 1), 2) == 4);
    assert_true(row(f, 1)->id > b);
    assert_int_equal(f->table.kind.rows.read_ns, 2000);
    assert_int_equal(f->table.left_out.columns + f->table.left_out.rows, 0);
    program_table_clear(&f->table, 3000);
    assert_int_equal(f->table.kind.rows.n, 0);
    assert_int_equal(f->table.kind.n_metrics, 3);
    assert_int_equal(f->table.kind.rows.read_ns, 3000);
    assert_int_equal(take(f, "x{n=\"b\"} 5\n", 4000), 0);
    assert_true(f->table.kind.rows.n == 1 && row(f, 0)->id > b + 1 && real(row(f, 0), 0) == 5);
}

static void test_owner_and_labels(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(take(f, "x{pid=\"41\"} 1\nx{pid=\"42\"} 2\nx{k=\"v\"} 3\n", 1), 0);
    assert_int_equal(row(f, 0)->owner.kind, BARO_OWNER_PROCESS);
    assert_int_equal(row(f, 0)->owner.process.start, 4100);
    assert_int_equal(row(f, 1)->owner.kind, BARO_OWNER_NONE);
    assert_int_equal(row(f, 2)->n_attributes, 1);
    assert_string_equal(row(f, 2)->attribute[0].name, "k");
    assert_string_equal(row(f, 2)->attribute[0].text, "v");
}

/* A kind has 128 columns; it is known which one is the first that is left out. */
static void test_more_columns_than_there_is_room_for(void **state)
{
    struct fixture *f = *state;
    struct buf text = {0};
    for (int i = 0; i < 130; i++)
        buf_printf(&text, "m%d %d\n", i, i);
    buf_str(&text, "# EOF\n");
    buf_byte(&text, 0);
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal(take(f, (const char *)text.at, 1), 0);
        assert_int_equal(f->table.kind.n_metrics, PROGRAM_COLUMNS);
        assert_true(real(row(f, 0), 127) == 127);
        assert_int_equal(f->table.left_out.columns, 2);
        assert_string_equal(f->table.left_out.first_column, "m128");
    }
    buf_done(&text);
}

static void test_values_of_another_unit(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(take(f, "x_bytes -5\ny -5\n", 1), 0);
    assert_int_equal(row(f, 0)->absent[0], BARO_ABSENT_UNKNOWN);
    assert_true(real(row(f, 0), 1) == -5);
    assert_int_equal(f->table.left_out.values, 1);
}

/* A newer reading replaces one that was not taken; neither side waits, and no slot is used by both. */
static void test_mailbox(void **state)
{
    static struct mailbox m;
    bool fresh;
    (void)state;
    m.middle = 1;
    uint32_t writer = 0, reader = 2;
    reader = mailbox_take(&m, reader, &fresh);
    assert_false(fresh);
    assert_int_equal(reader, 2);
    for (uint64_t n = 1; n <= 3; n++) {
        m.slot[writer].read_ns = n;
        writer = mailbox_put(&m, writer);
        assert_true(writer != reader);
    }
    reader = mailbox_take(&m, reader, &fresh);
    assert_true(fresh);
    assert_int_equal(m.slot[reader].read_ns, 3);
    assert_true(reader != writer);
    reader = mailbox_take(&m, reader, &fresh);
    assert_false(fresh);
}

/* What the other process left in the middle may be any number: each side gets a slot that exists. */
static void test_mailbox_with_a_wrong_index(void **state)
{
    static struct mailbox m;
    static const uint32_t wrong[] = {3, 4, 7, 255, UINT32_MAX};
    bool fresh;
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        m.middle = wrong[i];
        assert_true(mailbox_put(&m, 0) < 3);
        m.middle = wrong[i];
        assert_true(mailbox_take(&m, 2, &fresh) < 3);
    }
}

/* Wrong numbers and offsets in a reading are found before they are used. */
static void test_readings_with_wrong_lengths(void **state)
{
    struct fixture *f = *state;
    struct reading *r = &f->reading;
    const char *text = "x{k=\"v\",n=\"a\"} 1.5\n";
    assert_true(reading_parse(&f->parser, span_str(text), r));
    assert_true(reading_check(r));
    r->row[0].name = r->text_len;
    assert_false(reading_check(r));
    assert_true(reading_parse(&f->parser, span_str(text), r));
    r->row[0].n_labels = 32;
    r->row[0].labels = r->text_len - 1;
    assert_false(reading_check(r));
    assert_true(reading_parse(&f->parser, span_str(text), r));
    r->cell[0].row = 1;
    assert_false(reading_check(r));
    assert_true(reading_parse(&f->parser, span_str(text), r));
    r->cell[0].column = UINT16_MAX;
    assert_false(reading_check(r));
    assert_true(reading_parse(&f->parser, span_str(text), r));
    r->text[r->text_len - 1] = 'x'; /* the last string has no end */
    assert_false(reading_check(r));
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    reading_parser_init(&f->parser);
    program_table_init(&f->table, "k");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    program_table_done(&f->table);
    free(f);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_columns_and_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_owner_and_labels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_more_columns_than_there_is_room_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_values_of_another_unit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_readings_with_wrong_lengths, set_up, tear_down),
        cmocka_unit_test(test_mailbox),
        cmocka_unit_test(test_mailbox_with_a_wrong_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
