/* SPDX-License-Identifier: Apache-2.0 */
/* The live view without a terminal: cells, curves, the tree with its totals, keys, and screens of any size. */
#include <locale.h>
#include <math.h>

#define UNIT_EACH begin, end
#define UNIT_OWN_MAIN
#include "unit.h"
#include "baro/baro.h"
#include "programs/baro-top/view.h"
#include "tape_file.h"

#define SECOND 1000000000ull

static struct grid g;

static void grid_of(int rows, int columns, bool utf8)
{
    grid_done(&g);
    assert_int_equal(grid_init(&g, rows, columns, utf8), 0);
}

static void assert_row(int row, const char *expected)
{
    struct buf b = {0};
    struct grid one = g;
    one.rows = 1;
    one.at += (size_t)row * (size_t)g.columns;
    grid_print(&one, 1, false, &b);
    buf_byte(&b, 0);
    b.at[b.len - 2] = 0; /* the newline */
    assert_string_equal((const char *)b.at, expected);
    buf_done(&b);
}

/* ---- a job ---- */

static void commit(struct tape_writer *w, struct baro_sample *s)
{
    for (size_t i = 0; i < s->n; i++)
        s->processes[i]->read_ns = s->t_ns;
    tape_add(w, s);
}

static void exits(struct tape_writer *w, uint32_t id, int32_t pid, int32_t ppid, const char *name, uint64_t cpu_ns)
{
    struct baro_exit end = {.t_ns = 3 * SECOND,
                            .id = id,
                            .key = {pid, 8},
                            .parent = {ppid, 7},
                            .name = (char *)name,
                            .origin = BARO_ORIGIN_EVENT};
    end.value[EXIT_cpu] = cpu_ns;
    tape_writer_exit(w, &end);
}

/*
 * make (half a core) has the children sh (idle, 5 bytes) and cc. cc used 0.5 s up to the sample at 2 s and ends at 3 s
 * with 1.5 s; "as", which cc had started and no sample has, ends with 0.2 s. At 4 s sh has a child "ld", which began
 * after 2 s and has used 0.4 s.
 */
static void write_job(void)
{
    struct tape_writer *w = new_tape(tape_path, NULL);
    struct baro_process make = {.id = 1, .key = {100, 7}, .name = (char *)"make", .cmdline = (char *)"/bin/make -j2"},
                        sh = {.id = 2, .key = {101, 8}, .parent = {100, 7}, .name = (char *)"sh"},
                        cc = {.id = 3, .key = {102, 8}, .parent = {100, 7}, .name = (char *)"cc"},
                        ld = {.id = 5,
                              .key = {104, 9},
                              .parent = {101, 8},
                              .name = (char *)"ld",
                              .first_ns = 2500000000,
                              .origin = BARO_ORIGIN_EVENT};
    struct baro_process *early[] = {&make, &sh, &cc}, *late[] = {&make, &sh, &ld};
    struct baro_sample s = {
        .t_ns = 2 * SECOND, .n = 3, .processes = early, .job_absent[JOB_tcp_sent] = BARO_ABSENT_NOT_ASKED};
    make.value[PROCESS_rss] = 100;
    sh.value[PROCESS_rss] = 5;
    ld.value[PROCESS_rss] = 7;
    make.value[PROCESS_cpu] = 1 * SECOND;
    cc.value[PROCESS_cpu] = SECOND / 2;
    s.job[JOB_cpu] = SECOND * 3 / 2;
    s.job[JOB_processes] = 3;
    commit(w, &s);
    exits(w, 4, 103, 102, "as", SECOND / 5);
    exits(w, 3, 102, 100, "cc", SECOND * 3 / 2);
    s.t_ns = 4 * SECOND;
    s.processes = late;
    make.value[PROCESS_cpu] = 2 * SECOND;
    ld.value[PROCESS_cpu] = SECOND * 2 / 5;
    s.job[JOB_cpu] = SECOND * 41 / 10;
    commit(w, &s);
    tape_ended(w);
}

struct scene {
    struct feed feed;
    struct model model;
    struct ui ui;
};

static struct scene w;

/* Reads the tape. */
static void look(void)
{
    struct baro_error err = BARO_ERROR_INIT;
    w = (struct scene){0};
    snprintf(w.feed.path, sizeof(w.feed.path), "%s", tape_path);
    ui_init(&w.ui);
    assert_int_equal(feed_open(&w.feed, &err), 0);
    assert_int_equal(feed_read(&w.feed, 0, &err), 0);
    assert_int_equal(baro_fold_finish(w.feed.fold, BARO_FOLD_TIMELINE, &err), 0);
    assert_int_equal(model_read(&w.model, baro_tape_header(w.feed.tape), &w.feed.newest, &w.feed.metric), 0);
    model_arrange(&w.model, &w.ui.wish);
    w.ui.first_ns = w.feed.first_ns;
    w.ui.last_ns = w.feed.last_ns;
    w.ui.page = 10;
    ui_settle(&w.ui, &w.model);
}

static int end(void **state)
{
    feed_close(&w.feed);
    model_done(&w.model);
    ui_done(&w.ui);
    return 0;
}

static int begin(void **state)
{
    write_job();
    look();
    return 0;
}

static struct view view_of(void)
{
    return (struct view){.grid = &g, .feed = &w.feed, .instant = &w.feed.newest, .model = &w.model, .ui = &w.ui};
}

/* ---- cells ---- */

TEST(grid)
{
    grid_of(2, 10, true);
    assert_int_equal(grid_text(&g, 0, 0, 10, STYLE_PLAIN, "a\033[31mb"), 10);
    assert_row(0, "a\\x1b[31mb");
    grid_clear(&g);
    assert_int_equal(grid_text(&g, 0, 0, 10, STYLE_PLAIN, "\xe2\x80\xae\xff\\"), 8); /* no reordering, no half \xNN */
    assert_row(0, "\\xe2\\x80");
    grid_clear(&g);
    assert_int_equal(grid_text(&g, 0, 0, 5, STYLE_PLAIN, "日本語"), 4); /* the third has no room */
    assert_row(0, "日本");
    grid_text(&g, 0, 1, 2, STYLE_PLAIN, "x"); /* half of a wide one is a blank */
    assert_row(0, " x本");
    grid_text(&g, 1, 8, 99, STYLE_PLAIN, "語語");
    assert_row(1, "        語");
    grid_text(&g, 7, 0, 5, STYLE_PLAIN, "nowhere");
    grid_text(&g, -1, -3, 5, STYLE_PLAIN, "nowhere");
    grid_of(1, 12, false);
    grid_text(&g, 0, 0, 12, STYLE_PLAIN, "5 µs é");
    assert_row(0, "5 us");
    grid_text(&g, 0, 0, 12, STYLE_PLAIN, "é");
    assert_row(0, "\\xc3\\xa9");
}

TEST(numbers_stand_at_the_right)
{
    struct buf b = {0};
    grid_of(1, 10, true);
    buf_str(&b, "42");
    grid_take_right(&g, 0, 2, 8, STYLE_PLAIN, &b);
    assert_row(0, "      42");
    buf_str(&b, "123456789");
    grid_take_right(&g, 0, 2, 8, STYLE_PLAIN, &b);
    assert_row(0, "  12345…"); /* not the number 123456 */
    buf_done(&b);
}

/* ---- curves ---- */

/* A peak of one sample in a day is visible in 20 columns, at its time. */
TEST(curves_keep_peaks)
{
    static struct curves h;
    float ret[20];
    curves_init(&h);
    for (uint64_t s = 1; s <= 86400; s++) {
        float value[CURVES] = {0};
        value[CURVE_CORES] = s == 43000 ? 7 : 1;
        value[CURVE_READ] = NAN;
        curves_add(&h, s * SECOND, value);
    }
    curves_read(&h, CURVE_CORES, 0, 86400 * SECOND, ret, 20);
    for (int i = 0; i < 20; i++)
        assert_true(ret[i] == (i == 9 ? 7 : 1));
    curves_read(&h, CURVE_READ, 0, 86400 * SECOND, ret, 20);
    assert_true(isnan(ret[0]) && isnan(ret[19]));
    curves_read(&h, CURVE_CORES, 86390 * SECOND, 86400 * SECOND, ret, 10); /* one by one */
    assert_true(ret[0] == 1 && ret[9] == 1);
}

TEST(spark)
{
    const float value[] = {0, 0.01f, 4, 8, 99, NAN};
    grid_of(2, 6, true);
    view_spark(&g, (struct box){0, 0, 1, 6}, STYLE_CPU, value, 6, 8);
    assert_row(0, " ▁▄██·");
    view_spark(&g, (struct box){0, 0, 2, 6}, STYLE_CPU, value, 6, 8);
    assert_row(0, "   ██");
    assert_row(1, " ▁███·");
    g.utf8 = false;
    view_spark(&g, (struct box){0, 0, 1, 6}, STYLE_CPU, value, 6, 8);
    assert_row(0, " .=##");
}

static void near(double a, double b)
{
    if (fabs(a - b) > 1e-9)
        fail_msg("%.17g is not %.17g", a, b);
}

static const char *name_of(size_t row)
{
    return baro_row_name(w.model.at[w.model.row[row].node].process);
}

static void press(const char *keys)
{
    for (; *keys; keys++) {
        if (ui_key(&w.ui, &w.model, (unsigned char)*keys) == ACTION_ARRANGE)
            model_arrange(&w.model, &w.ui.wish);
        ui_settle(&w.ui, &w.model);
    }
}

/* Two seconds: make 0.5, ld 0.4 / 2, cc (1.5 - 0.5) / 2, as 0.2 / 2. */
TEST(totals)
{
    assert_int_equal(w.model.n_rows, 3);
    const struct node *make = &w.model.at[w.model.row[0].node];
    assert_string_equal(name_of(0), "make");
    near(make->own.cores, 0.5);
    near(make->tree.cores, 0.5 + 0.2 + 0.5 + 0.1);
    assert_int_equal(make->tree.rss, 112);
    assert_int_equal(make->below, 2);
    assert_string_equal(name_of(2), "ld");
    near(w.model.at[w.model.row[2].node].own.cores, 0.2);
    near(model_command(&w.model, "cc")->cores, 0.5);
    assert_int_equal(model_command(&w.model, "cc")->living, 0);
    assert_int_equal(model_command(&w.model, "ld")->living, 1);
    assert_null(model_command(&w.model, "nobody"));
}

/* 300 processes, some of which use a CPU: each order is correct, whatever the previous order. */
TEST(order_of_many)
{
    enum { MANY = 300 };
    static struct baro_process process[MANY];
    struct baro_process *list[MANY];
    struct baro_sample s = {.t_ns = SECOND, .n = MANY, .processes = list};
    struct instant i = {.now = &s};
    struct metrics metric = metrics_find();
    struct model m = {0};
    struct ui u;
    ui_init(&u);
    for (int k = 0; k < MANY; k++) {
        process[k] = (struct baro_process){.id = (uint32_t)k + 1, .key = {1000 + k, 7}, .name = (char *)"p"};
        process[k].value[PROCESS_rss] = k % 37 == 5 ? (uint64_t)(k * 7919 % 101) : 50;
        list[k] = &process[k];
    }
    u.wish.is_tree = false;
    u.wish.sort = SORT_MEMORY;
    for (int reversed = 0; reversed < 2; reversed++) {
        u.wish.is_reversed = reversed;
        assert_int_equal(model_read(&m, NULL, &i, &metric), 0);
        model_arrange(&m, &u.wish);
        assert_int_equal(m.n_rows, MANY);
        for (size_t k = 1; k < MANY; k++) {
            const struct node *a = &m.at[m.row[k - reversed].node], *b = &m.at[m.row[k - !reversed].node];
            assert_true(a->own.rss < b->own.rss || (a->own.rss == b->own.rss && a->id > b->id));
        }
    }
    model_done(&m);
    ui_done(&u);
}

/* A sum is marked if one value in it is not known: of a process that may not be read (denied), but not of a zombie,
 * which has no memory. */
TEST(sums_that_are_lower_bounds)
{
    struct baro_process up = {.id = 1, .key = {100, 7}, .name = (char *)"up"},
                        down = {.id = 2, .key = {101, 8}, .parent = {100, 7}, .name = (char *)"down"};
    struct baro_process *list[] = {&up, &down};
    struct baro_sample s = {.t_ns = SECOND, .n = 2, .processes = list};
    struct instant i = {.now = &s};
    struct metrics metric = metrics_find();
    struct model m = {0};
    up.value[PROCESS_rss] = 100;
    down.absent[PROCESS_rss] = BARO_ABSENT_DENIED;
    assert_then(model_read(&m, NULL, &i, &metric), m.at[0].tree.rss_is_least && !m.at[0].own.rss_is_least);
    down.value[PROCESS_state] = 'Z';
    assert_int_equal(model_read(&m, NULL, &i, &metric), 0);
    assert_false(m.at[0].tree.rss_is_least);
    model_done(&m);
}

/* A shell wrote 10 bytes of its own and waited for a child that wrote 1000: the kernel does not tell them apart. */
TEST(io_of_children_is_not_the_parents)
{
    struct baro_process was = {.id = 1, .key = {100, 7}, .name = (char *)"sh"}, is = was;
    struct baro_process *then[] = {&was}, *now[] = {&is};
    struct baro_sample first = {.t_ns = SECOND, .n = 1, .processes = then},
                       second = {.t_ns = 2 * SECOND, .n = 1, .processes = now};
    struct instant i = {.before = &first, .now = &second};
    struct metrics metric = metrics_find();
    struct model m = {0};
    is.value[PROCESS_io_write] = 1010;
    assert_int_equal(model_read(&m, NULL, &i, &metric), 0);
    near(m.at[0].own.write, 1010);
    is.value[PROCESS_children_faults_minor] = 80;
    assert_gives(model_read(&m, NULL, &i, &metric), m.at[0].read_absent, BARO_ABSENT_UNKNOWN);
    near(m.at[0].own.write, 0);
    model_done(&m);
}

static void assert_memory(const struct baro_sample *s, uint64_t bytes, unsigned flags, uint64_t held)
{
    struct metrics metric = metrics_find();
    struct memory m = memory_of(s, &metric, false);
    assert_int_equal(m.absent, BARO_PRESENT);
    assert_int_equal(m.bytes, bytes);
    assert_int_equal(m.flags, flags);
    assert_int_equal(m.has_held, held > 0);
    if (held)
        assert_int_equal(m.held, held);
}

/* The sum of rss is shown. pss is compared with the limit if all processes have it, else the rss of a single one. */
TEST(memory)
{
    struct baro_process a = {.id = 1, .key = {100, 7}}, b = {.id = 2, .key = {101, 8}};
    struct baro_process *list[] = {&a, &b};
    struct baro_sample s = {.t_ns = SECOND, .n = 2, .processes = list};
    struct metrics metric = metrics_find();
    assert_int_equal(memory_of(NULL, &metric, true).absent, BARO_ABSENT_NOT_YET);
    a.value[PROCESS_rss] = b.value[PROCESS_rss] = 100;
    a.value[PROCESS_pss] = b.value[PROCESS_pss] = 60;
    assert_memory(&s, 200, 0, 120);
    s.job[JOB_pss_stale] = 1;
    assert_memory(&s, 200, 0, 0); /* what is old may be above the peak of pss */
    b.absent[PROCESS_pss] = BARO_ABSENT_NOT_YET;
    assert_memory(&s, 200, 0, 0);
    b.absent[PROCESS_rss] = BARO_ABSENT_DENIED;
    assert_memory(&s, 100, BARO_VALUE_LOWER_BOUND, 0);
    s.n = 1;
    a.absent[PROCESS_pss] = BARO_ABSENT_NOT_ASKED;
    assert_memory(&s, 100, 0, 100);
}

/* No machine has 1 EB: a sum of rss above the machine's memory is not shown as a share of it. */
TEST(memory_in_the_head)
{
    struct buf b = {0};
    enum style style = STYLE_PLAIN;
    grid_of(24, 80, true);
    struct view v = view_of();
    for (size_t i = 0; i < w.feed.newest.now->n; i++) {
        w.feed.newest.now->processes[i]->absent[PROCESS_pss] = BARO_ABSENT_NOT_ASKED;
        w.feed.newest.now->processes[i]->value[PROCESS_rss] = 1ull << 60;
    }
    v.memory = head_memory(&v);
    head_memory_value(&v, &b, &style);
    buf_byte(&b, 0);
    assert_null(strstr((const char *)b.at, " of "));
    assert_int_equal(style, STYLE_PLAIN);
    buf_done(&b);
}

/* ---- tasks ---- */

static struct baro_entity a_task(uint32_t id, const char *name, uint64_t t_ns, uint64_t cpu_ns,
                                 uint64_t value[TASK_MAX], uint8_t absent[TASK_MAX])
{
    value[TASK_cpu] = cpu_ns;
    return (struct baro_entity){.id = id,
                                .kind = BARO_KIND_TASK,
                                .read_ns = t_ns,
                                .name = (char *)name,
                                .label = (char *)"",
                                .n_values = TASK_MAX,
                                .value = value,
                                .absent = absent};
}

/* Between two samples the first of two tasks goes, and another one comes: each has what it has used itself. */
TEST(cores_of_tasks_that_come_and_go)
{
    uint64_t value[4][TASK_MAX] = {{0}};
    uint8_t absent[4][TASK_MAX] = {{0}};
    struct baro_entity gone = a_task(1, "gone", SECOND, 0, value[0], absent[0]),
                       was = a_task(2, "stays", SECOND, SECOND, value[1], absent[1]),
                       stays = a_task(2, "stays", 2 * SECOND, SECOND * 3 / 2, value[2], absent[2]),
                       comes = a_task(3, "comes", 2 * SECOND, 9 * SECOND, value[3], absent[3]);
    struct baro_entity *early[] = {&gone, &was}, *late[] = {&stays, &comes};
    struct baro_sample before = {.t_ns = SECOND}, now = {.t_ns = 2 * SECOND};
    struct instant instant = {.before = &before, .now = &now};
    struct model model = {.between = {.before = &before, .now = &now}};
    struct ui ui;
    before.entities[BARO_KIND_TASK] = (struct baro_entities){.at = early, .n = 2, .read_ns = SECOND};
    now.entities[BARO_KIND_TASK] = (struct baro_entities){.at = late, .n = 2, .read_ns = 2 * SECOND};
    ui_init(&ui);
    grid_of(3, 30, true);
    struct view v = {.grid = &g, .instant = &instant, .model = &model, .ui = &ui};
    assert_int_equal(view_tasks_count(&v), 2);
    view_tasks(&v, (struct box){0, 0, 3, 30}, true);
    assert_row(0, " CORES      RSS TASK");
    assert_row(1, "  0.50      0 B stays");
    assert_row(2, "     -      0 B comes");
    ui_done(&ui);
}

static void add_named(struct tape_writer *tape, enum baro_event_kind kind, uint64_t t_ns, const char *name)
{
    const struct baro_event e = {.t_ns = t_ns, .kind = kind, .text = name};
    tape_writer_event(tape, &e);
}

/* "train" from 2 to 4 s, in it "epoch" from 2.5 s on; marks at the start and the end of the axis. */
static void write_phases(void)
{
    struct tape_writer *tape = new_tape(tape_path, NULL);
    struct baro_process p = {.id = 1, .key = {100, 7}, .name = (char *)"work", .cmdline = (char *)"work"};
    struct baro_process *all[] = {&p};
    struct baro_sample s = {.t_ns = SECOND, .n = 1, .processes = all};
    add_named(tape, BARO_EVENT_MARK, SECOND / 100, "first");
    commit(tape, &s);
    add_named(tape, BARO_EVENT_PHASE_BEGIN, 2 * SECOND, "train");
    add_named(tape, BARO_EVENT_PHASE_BEGIN, SECOND * 5 / 2, "epoch");
    s.t_ns = 4 * SECOND;
    commit(tape, &s);
    add_named(tape, BARO_EVENT_MARK, 4 * SECOND, "last");
    tape_ended(tape);
}

/* Each lane has a row, with the phase at that moment beside it; a mark covers no end of the axis. There was no
 * pressure, so it has no row. */
TEST(phases_and_marks)
{
    write_phases();
    end(NULL);
    look();
    grid_of(24, 80, true);
    struct view v = view_of();
    view_draw(&v);
    assert_row(6, " phases     train                               train");
    assert_row(7, "            epoch                                  epoch");
    assert_row(8, "                          +0.000s ▼────────────╵2 s────────▼ +4.000s");
    w.ui.live = false;
    w.ui.at_ns = SECOND * 9 / 4;
    view_draw(&v);
    assert_row(6, " phases     train                               train");
    assert_row(7, "                                                   epoch");
    grid_of(12, 60, true);
    view_draw(&v); /* no room for lanes */
    assert_row(4, " processes  commands  events                       in train");
}

/* The sign of the order precedes the title of the column that it is by. */
TEST(sign_of_the_order)
{
    grid_of(24, 80, false);
    struct view v = view_of();
    view_draw(&v);
    assert_row(8, "    PID S CORES v+CORES        CPU     RSS     +RSS COMMAND");
    press("Tp");
    view_draw(&v);
    assert_row(8, "   ^PID S CORES        CPU     RSS  READ/s WRITE/s COMMAND");
    press("rn");
    view_draw(&v);
    assert_row(8, "    PID S CORES        CPU     RSS  READ/s WRITE/s ^COMMAND");
    press("r");
    view_draw(&v);
    assert_row(8, "    PID S CORES        CPU     RSS  READ/s WRITE/s vCOMMAND");
}

TEST(filter_and_fold)
{
    press("f");
    assert_int_equal(w.model.n_rows, 1);
    press("f");
    assert_int_equal(w.model.n_rows, 3);
    press("jF"); /* all: make alone is left, and the same process is selected, not the same row */
    assert_int_equal(w.model.n_rows, 1);
    press("f"); /* make is unfolded; sh, below it, is not */
    assert_int_equal(w.model.n_rows, 2);
    assert_string_equal(name_of(1), "sh");
    press("jf");
    assert_int_equal(w.model.n_rows, 3);
    press("kf");
    assert_int_equal(w.model.n_rows, 1);
    press("F");
    assert_int_equal(w.model.n_rows, 3);
    press("/^ld$\n");
    assert_int_equal(w.model.n_rows, 3); /* with those above it */
    assert_int_equal(w.model.n_matches, 1);
    press("T");
    assert_int_equal(w.model.n_rows, 1);
    assert_string_equal(name_of(0), "ld");
    press("/\x15(\n"); /* not a regular expression: literal text */
    assert_string_equal(w.ui.filter, "(");
    assert_int_equal(w.model.n_rows, 0);
    press("\033");
    assert_int_equal(w.model.n_rows, 3);
    press("m");
    assert_string_equal(name_of(0), "make");
    press("r");
    assert_string_equal(name_of(0), "sh");
}

TEST(time_keys)
{
    assert_int_equal(ui_key(&w.ui, &w.model, KEY_IS_RIGHT), ACTION_NONE); /* there is nothing later */
    assert_int_equal(ui_key(&w.ui, &w.model, KEY_IS_LEFT), ACTION_MOVE);
    assert_false(w.ui.live);
    assert_int_equal(w.ui.at_ns, 4 * SECOND - 2 * SECOND / 100);
    assert_int_equal(ui_key(&w.ui, &w.model, KEY_IS_RIGHT), ACTION_MOVE);
    assert_true(w.ui.live);
    assert_int_equal(ui_key(&w.ui, &w.model, KEY_IS_HOME), ACTION_MOVE);
    assert_int_equal(w.ui.at_ns, 2 * SECOND);
    ui_key(&w.ui, &w.model, KEY_IS_LEFT);
    assert_int_equal(w.ui.at_ns, 2 * SECOND);
    ui_key(&w.ui, &w.model, '5');
    assert_int_equal(w.ui.at_ns, 3 * SECOND);
    ui_key(&w.ui, &w.model, KEY_IS_END);
    assert_true(w.ui.live);
    ui_key(&w.ui, &w.model, ' ');
    assert_false(w.ui.live);
    assert_int_equal(ui_key(&w.ui, &w.model, 'q'), ACTION_QUIT);
    struct instant then = {0};
    assert_int_equal(feed_at(&w.feed, 2 * SECOND, &then, NULL), 1);
    assert_null(then.before);
    assert_int_equal(baro_sample_t_ns(then.now), 2 * SECOND);
    assert_int_equal(feed_neighbour(&w.feed, 2 * SECOND, true), 4 * SECOND);
    assert_int_equal(feed_neighbour(&w.feed, 2 * SECOND, false), 2 * SECOND);
    instant_done(&then);
}

/* Whatever the size, no cell outside is written, and the first row has the command. */
TEST(every_size)
{
    static const char *const keys[] = {"", "\t", "\t", "\n", "?", "/ab"};
    struct view v = view_of();
    for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++) {
        press(keys[k]);
        if (k == 3)
            w.ui.tab = TAB_PROCESSES;
        for (int rows = 1; rows < 70; rows += rows < 16 ? 1 : 9) {
            for (int columns = 1; columns < 220; columns += columns < 50 ? 3 : 31) {
                grid_of(rows, columns, columns % 2);
                view_draw(&v);
            }
        }
    }
    struct buf b = {0};
    const struct printing p = {.width = 100, .out = &b};
    v.is_once = true;
    grid_of(1, 1, true);
    assert_int_equal(print_head(&v, 8, &p) | print_processes(&v, &w.model, 1, &p) | print_tasks_and_gpus(&v, &p) |
                         print_commands_and_events(&v, &p),
                     0);
    buf_byte(&b, 0);
    assert_memory_equal(b.at, " m", 2);
    assert_non_null(strstr((const char *)b.at, " more, "));
    buf_done(&b);
}

int main(void)
{
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        setlocale(LC_CTYPE, "en_US.UTF-8");
    return cmocka_run_group_tests(unit_tests, NULL, NULL);
}
