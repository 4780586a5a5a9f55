/* SPDX-License-Identifier: Apache-2.0 */
/* baro_writer_new(): a copy of a tape has all that the tape has; other texts and a stretch are as asked for. */
#include <sys/stat.h>
#include <unistd.h>

#include "tapes.h"
#include "baro/baro.h"

static void same_row(const struct baro_tape *a_tape, const struct baro_row *a, const struct baro_row *b)
{
    assert_int_equal(baro_row_id(a), baro_row_id(b));
    assert_int_equal(baro_row_pid(a), baro_row_pid(b));
    assert_int_equal(baro_row_start_ticks(a), baro_row_start_ticks(b));
    assert_int_equal(baro_row_ppid(a), baro_row_ppid(b));
    assert_int_equal(baro_row_uid(a), baro_row_uid(b));
    uint64_t first[2] = {0};
    assert_int_equal(baro_row_first_ns(a, &first[0]), baro_row_first_ns(b, &first[1]));
    assert_int_equal(first[0], first[1]);
    assert_string_equal(baro_row_name(a), baro_row_name(b));
    assert_string_equal(baro_row_label(a), baro_row_label(b));
    const char *one = "", *other = "";
    assert_int_equal(baro_row_cmdline(a, &one), baro_row_cmdline(b, &other));
    assert_string_equal(one, other);
    for (int m = 0; m < baro_tape_metric_count(a_tape, baro_row_kind(a)); m++) {
        uint64_t x = 0, y = 0;
        assert_int_equal(baro_row_value(a, m, &x), baro_row_value(b, m, &y));
        assert_int_equal(x, y);
    }
    struct baro_attribute x, y;
    for (size_t i = 0; baro_row_attribute(a, i, &x) == 0; i++) {
        assert_int_equal(baro_row_attribute(b, i, &y), 0);
        assert_string_equal(x.name, y.name);
        assert_int_equal(x.type, y.type);
    }
}

static void same_sample(const struct baro_tape *t, const struct baro_sample *a, const struct baro_sample *b)
{
    assert_int_equal(baro_sample_lossy(a), baro_sample_lossy(b));
    for (int kind = 0; kind < baro_tape_kind_count(t); kind++) {
        uint64_t x = 0, y = 0;
        assert_int_equal(baro_sample_rows(a, kind), baro_sample_rows(b, kind));
        assert_int_equal(baro_sample_read_ns(a, kind, &x), baro_sample_read_ns(b, kind, &y));
        assert_int_equal(x, y);
        for (size_t i = 0; i < baro_sample_rows(a, kind); i++)
            same_row(t, baro_sample_row(a, kind, i), baro_sample_row(b, kind, i));
    }
}

static void same_event(const struct baro_event *a, const struct baro_event *b)
{
    assert_int_equal(baro_event_kind_of(a), baro_event_kind_of(b));
    assert_int_equal(baro_event_pid(a), baro_event_pid(b));
    assert_int_equal(baro_event_number(a), baro_event_number(b));
    assert_string_equal(baro_event_text(a), baro_event_text(b));
    assert_int_equal(baro_event_attribute_count(a), baro_event_attribute_count(b));
    for (size_t i = 0; i < baro_event_attribute_count(a); i++) {
        struct baro_attribute x, y;
        assert_int_equal(baro_event_attribute(a, i, &x), 0);
        assert_int_equal(baro_event_attribute(b, i, &y), 0);
        assert_int_equal(x.type, y.type);
        assert_string_equal(x.name, y.name);
        if (x.text)
            assert_string_equal(x.text, y.text);
    }
}

static struct baro_writer *new_writer(const struct baro_tape *t, const struct baro_writer_options *options)
{
    struct baro_writer *w = NULL;
    struct baro_error err = BARO_ERROR_INIT;
    unlink(tape_path);
    if (baro_writer_new(&w, tape_path, t, options, &err) < 0)
        fail_msg("%s", err.text);
    return w;
}

static void finish(struct baro_writer *w)
{
    assert_int_equal(baro_writer_finish(w, NULL), 0);
    struct stat st;
    assert_gives(stat(tape_path, &st), st.st_size, baro_writer_bytes(w));
    assert_int_equal(st.st_mode & 0777, 0600);
    baro_writer_free(w);
}

static void copy_all(struct baro_tape *t, const struct baro_writer_options *options)
{
    struct baro_record r;
    struct baro_writer *w = new_writer(t, options);
    while (baro_tape_next(t, &r, NULL) == 1)
        assert_int_equal(baro_writer_add(w, &r, NULL), 0);
    assert_int_equal(baro_writer_left_out(w), 0);
    finish(w);
    assert_int_equal(baro_tape_rewind(t, NULL), 0);
}

/* Limits are repeated, and stand before what else is in their frame. */
static int next_of(struct baro_tape *t, struct baro_record *r)
{
    int code;
    do
        code = baro_tape_next(t, r, NULL);
    while (code == 1 && r->kind == BARO_RECORD_LIMITS);
    return code;
}

static void check_copy(const char *name)
{
    struct baro_tape *t = kept_tape(name);
    struct baro_record a, b;
    copy_all(t, NULL);
    struct baro_tape *c = tape_opened(tape_path);
    size_t n = 0;
    while (next_of(t, &a) == 1) {
        assert_int_equal(next_of(c, &b), 1);
        assert_int_equal(a.kind, b.kind);
        assert_int_equal(a.t_ns, b.t_ns);
        if (a.kind == BARO_RECORD_SAMPLE)
            same_sample(t, a.u.sample, b.u.sample);
        if (a.kind == BARO_RECORD_EXIT)
            same_row(t, a.u.exit, b.u.exit);
        if (a.kind == BARO_RECORD_EVENT)
            same_event(a.u.event, b.u.event);
        n++;
    }
    assert_true(n > 0);
    assert_int_equal(next_of(c, &b), 0);
    assert_true(baro_tape_complete(c));
    assert_int_equal(baro_tape_damage(c), 0);
    assert_string_not_equal(baro_tape_id(c), baro_tape_id(t));
    assert_int_equal(strlen(baro_tape_id(c)), 32);
    baro_tape_close(c);
    baro_tape_close(t);
}

TEST(copies)
{
    static const char *const names[] = {"v1-attributes.baro", "v1-entities.baro", "v1-limits.baro", "v1-machine.baro",
                                        "v1-small.baro"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        check_copy(names[i]);
}

/* ---- other texts ---- */

static const char *marked(void *context, const struct baro_text *t)
{
    char *room = context;
    snprintf(room, 600, "*%.500s", t->text);
    return t->what == BARO_TEXT_JSON ? t->text : room;
}

static uint32_t more(void *context, uint32_t uid)
{
    (void)context;
    return uid + 1000;
}

static void begins_marked(const char *text)
{
    if (text && *text)
        assert_int_equal(*text, '*');
}

static void check_marked(const struct baro_sample *s, int kinds)
{
    for (int kind = 0; kind < kinds; kind++)
        for (size_t i = 0; i < baro_sample_rows(s, kind); i++) {
            const struct baro_row *row = baro_sample_row(s, kind, i);
            struct baro_attribute a;
            const char *cmdline = NULL;
            baro_row_cmdline(row, &cmdline);
            begins_marked(baro_row_name(row));
            begins_marked(baro_row_label(row));
            begins_marked(cmdline);
            for (size_t k = 0; baro_row_attribute(row, k, &a) == 0; k++)
                begins_marked(a.name);
        }
}

static void check_texts(const char *name)
{
    char room[600];
    struct baro_writer_options options = BARO_WRITER_OPTIONS_INIT;
    options.text = marked;
    options.uid = more;
    options.context = room;
    struct baro_tape *t = kept_tape(name);
    copy_all(t, &options);
    struct baro_tape *c = tape_opened(tape_path);
    struct baro_record r;
    begins_marked(baro_header_host(baro_tape_header(c)));
    struct baro_value cwd;
    baro_header_value(baro_tape_header(c), baro_header_fact_find("cwd"), 0, &cwd);
    begins_marked(cwd.text);
    for (const char *const *arg = baro_header_argv(baro_tape_header(c)); *arg; arg++)
        begins_marked(*arg);
    assert_int_equal(baro_header_uid(baro_tape_header(c)), baro_header_uid(baro_tape_header(t)) + 1000);
    assert_int_equal(baro_tape_read_kinds(c, NULL), 0);
    for (int kind = baro_kind_count(); kind < baro_tape_kind_count(c); kind++)
        begins_marked(baro_tape_kind_name(c, kind));
    while (baro_tape_next(c, &r, NULL) == 1) {
        if (r.kind == BARO_RECORD_SAMPLE)
            check_marked(r.u.sample, baro_tape_kind_count(c));
        if (r.kind == BARO_RECORD_EXIT)
            begins_marked(baro_row_name(r.u.exit));
        if (r.kind == BARO_RECORD_EVENT)
            begins_marked(baro_event_text(r.u.event));
    }
    baro_tape_close(c);
    baro_tape_close(t);
}

TEST(texts)
{
    check_texts("v1-attributes.baro");
    check_texts("v1-entities.baro");
    check_texts("v1-machine.baro");
    check_texts("v1-small.baro");
}

/* ---- a stretch ---- */

TEST(stretch)
{
    struct baro_tape *t = kept_tape("v1-small.baro");
    struct baro_writer_options options = BARO_WRITER_OPTIONS_INIT;
    struct baro_record r;
    uint64_t first, last, half;
    assert_int_equal(baro_tape_range(t, &first, &last, NULL), 1);
    half = first + (last - first) / 2;
    options.from_ns = half;
    struct baro_writer *w = new_writer(t, &options);
    while (baro_tape_next(t, &r, NULL) == 1)
        if (r.t_ns >= half)
            assert_int_equal(baro_writer_add(w, &r, NULL), 0);
    finish(w);
    struct baro_tape *c = tape_opened(tape_path);
    struct baro_sample *a, *b;
    assert_false(baro_header_has_start(baro_tape_header(c)));
    assert_int_equal(baro_tape_range(c, &first, &last, NULL), 1);
    assert_true(first >= half);
    assert_int_equal(baro_tape_at(t, first, BARO_AT_EXACT, &a, NULL), 1);
    assert_int_equal(baro_tape_at(c, first, BARO_AT_EXACT, &b, NULL), 1);
    same_sample(t, a, b);
    baro_sample_free(a);
    baro_sample_free(b);
    baro_tape_close(c);
    baro_tape_close(t);
}

TEST(not_finished)
{
    struct baro_tape *t = kept_tape("v1-small.baro");
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_writer *w = new_writer(t, NULL);
    assert_int_equal(access(tape_path, F_OK), 0);
    baro_writer_free(w);
    assert_int_equal(access(tape_path, F_OK), -1);
    copy_all(t, NULL);
    assert_int_equal(baro_writer_new(&w, tape_path, t, NULL, &err) < 0, 1);
    assert_non_null(strstr(err.text, "exists"));
    struct baro_writer_options options = BARO_WRITER_OPTIONS_INIT;
    options.force = true;
    assert_int_equal(baro_writer_new(&w, tape_path, t, &options, &err), 0);
    baro_writer_free(w); /* what was there stays */
    struct baro_tape *c = tape_opened(tape_path);
    assert_int_equal(baro_tape_read_kinds(c, NULL), 0);
    baro_tape_close(c);
    options.size = 1;
    assert_int_equal(baro_writer_new(&w, tape_path, t, &options, &err), BARO_E_RANGE);
    baro_tape_close(t);
    baro_writer_free(NULL);
}
