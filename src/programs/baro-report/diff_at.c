/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baro diff TAPE --at 12:31: what moved then. The minute (or half a minute around a time with seconds) is compared with
 * the hour before: the three groups of processes whose cores, memory or I/O changed most, each as a part of what the
 * machine has or did, then pressure, and what happened. Groups are services where the tape has two or more, else
 * commands.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baro/fold.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/fmt.h"
#include "base/json.h"
#include "output/rows/escaped.h"
#include "output/text/read_fact.h"
#include "programs/baro-report/diff.h"
#include "programs/common/stretch.h"
#include "programs/common/tape_args.h"
#include "programs/common/zone.h"

#define HOUR_NS (3600 * NS_PER_SEC)
#define MOVED_MOST 3
#define LEAST 0.01 /* of the machine: what moved less is not said */

enum quantity { CORES, MEMORY, IO, QUANTITIES };
static const char *const quantity_names[] = {"cores", "memory", "io"};

struct mover {
    char *name;
    double before[QUANTITIES], after[QUANTITIES], part[QUANTITIES]; /* part: by which it moved, of the machine */
};

struct movers {
    struct mover *at;
    size_t n, cap;
};

/* The two stretches, read by one kind of group. */
struct side {
    struct baro_tape *tape;
    struct baro_fold *fold;
    const struct baro_summary *summary;
    double seconds;
};

static int open_side(const struct cli *cli, const struct settings *s, const char *path, uint64_t from_ns,
                     uint64_t to_ns, int by, char text[2][STRETCH_TIME_SIZE], struct side *ret)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct settings own = *s;
    stretch_time(text[0], from_ns);
    stretch_time(text[1], to_ns);
    own.from = text[0];
    own.to = text[1];
    own.group_by = by;
    *ret = (struct side){0};
    if (reader_open_path(&own, path, &ret->tape, &err) < 0 ||
        baro_fold_of_tape(ret->tape, BARO_FOLD_TIMELINE, &ret->fold, &err) < 0)
        return cli_fail(cli, &err);
    ret->summary = baro_fold_summary(ret->fold);
    ret->seconds = (double)report_u64(ret->summary, "", "wall_ns") / 1e9;
    return 0;
}

static void close_side(struct side *side)
{
    baro_fold_free(side->fold);
    baro_tape_close(side->tape);
    *side = (struct side){0};
}

static struct mover *mover_of(struct movers *m, const char *name)
{
    for (size_t i = 0; i < m->n; i++) {
        if (strcmp(m->at[i].name, name) == 0)
            return &m->at[i];
    }
    struct mover *one = array_reserve(&m->at, m->n + 1, &m->cap, sizeof(*m->at)) < 0 ? NULL : &m->at[m->n];
    if (one)
        *one = (struct mover){.name = strdup(name)};
    m->n += one && one->name;
    return one && one->name ? one : NULL;
}

static bool take_side(struct movers *m, const struct side *side, bool is_after)
{
    for (size_t row = 0; row < report_rows(side->summary, "tasks"); row++) {
        const char *name = report_row(side->summary, "tasks", "name", row).text;
        struct mover *one = mover_of(m, name ? name : "?");
        if (!one)
            return false;
        double *to = is_after ? one->after : one->before;
        double io = (double)report_row(side->summary, "tasks", "io_read_bytes", row).u64 +
                    (double)report_row(side->summary, "tasks", "io_write_bytes", row).u64;
        if (side->seconds > 0) {
            to[CORES] = (double)report_row(side->summary, "tasks", "cpu_ns", row).u64 / 1e9 / side->seconds;
            to[IO] = io / side->seconds;
        }
        to[MEMORY] = (double)report_row(side->summary, "tasks", "rss_peak_bytes", row).u64;
    }
    return true;
}

/* The hour's peak of memory says nothing of its level, so only what is above it has moved. */
static void weigh(struct movers *m, const struct side *after)
{
    double all[QUANTITIES] = {(double)report_u64(after->summary, "", "cpus"),
                              (double)baro_header_memory_bytes(baro_tape_header(after->tape)), 0};
    for (size_t i = 0; i < m->n; i++)
        all[IO] += fmax(m->at[i].before[IO], m->at[i].after[IO]);
    all[IO] = fmax(all[IO], 10e6); /* less is little for any disk */
    for (size_t i = 0; i < m->n; i++) {
        for (int q = 0; q < QUANTITIES; q++) {
            double by = m->at[i].after[q] - m->at[i].before[q];
            m->at[i].part[q] = all[q] > 0 ? (q == MEMORY ? fmax(by, 0) : fabs(by)) / all[q] : 0;
        }
    }
}

static double most_of(const struct mover *m)
{
    return fmax(fmax(m->part[CORES], m->part[MEMORY]), m->part[IO]);
}

static int by_part(const void *a, const void *b)
{
    double x = most_of(a), y = most_of(b);
    return (x < y) - (x > y);
}

/* ---- what is said ---- */

static void put_quantity(struct buf *b, enum quantity q, double v)
{
    if (q == CORES)
        reader_cores(b, v);
    else
        fmt_bytes(b, v > 0 ? (uint64_t)v : 0);
    buf_str(b, q == IO ? "/s" : "");
}

/* "redis.service: cores 0.10 to 1.80, memory 200 MB to 1.2 GB" */
static void put_mover(struct buf *b, const struct mover *m)
{
    bool any = false;
    text_escaped(b, m->name, strlen(m->name));
    for (int n = 0; n < QUANTITIES; n++) {
        if (m->part[n] < LEAST)
            continue;
        buf_str(b, any ? ", " : ": ");
        buf_str(b, n == IO ? "i/o" : quantity_names[n]);
        buf_byte(b, ' ');
        put_quantity(b, (enum quantity)n, m->before[n]);
        buf_str(b, " to ");
        put_quantity(b, (enum quantity)n, m->after[n]);
        any = true;
    }
    buf_byte(b, '\n');
}

static const struct {
    const char *name, *fact;
} pressures[] = {{"cpu", "cpu_some_ratio"}, {"memory", "memory_some_ratio"}, {"i/o", "io_some_ratio"}};
#define PRESSURES (sizeof(pressures) / sizeof(*pressures))
#define PRESSURE_LEAST 0.05

static void put_pressure(struct buf *b, const struct side *before, const struct side *after)
{
    bool any = false;
    for (size_t i = 0; i < PRESSURES; i++) {
        double was, is;
        if (!report_has_real(before->summary, "pressure", pressures[i].fact, &was) ||
            !report_has_real(after->summary, "pressure", pressures[i].fact, &is) || fabs(is - was) < PRESSURE_LEAST)
            continue;
        buf_printf(b, "%s %s %.0f %% to %.0f %%", any ? "," : "pressure:", pressures[i].name, 100 * was, 100 * is);
        any = true;
    }
    buf_str(b, any ? "\n" : "");
}

#define EVENTS_MOST 10

static void put_events(struct buf *b, const struct side *after)
{
    const struct baro_timeline *t = baro_fold_timeline(after->fold);
    size_t n = 0;
    for (size_t i = 0; i < baro_timeline_count(t); i++) {
        const struct baro_timeline_item *item = baro_timeline_get(t, i);
        if (item->kind != BARO_TIMELINE_EVENT || !item->is_problem || n++ >= EVENTS_MOST)
            continue;
        fmt_moment(b, item->begin_ns);
        buf_byte(b, ' ');
        text_escaped(b, item->text, strlen(item->text));
        buf_byte(b, '\n');
    }
    if (n > EVENTS_MOST)
        buf_printf(b, "%zu more events: baro export -e event\n", n - EVENTS_MOST);
}

static void put_json(struct buf *b, const struct movers *m, const struct side *before, const struct side *after)
{
    struct json j = {.out = b, .pretty = true};
    json_begin(&j, '{');
    json_key_u64(&j, "format", 1);
    json_key_u64(&j, "from_ns", report_u64(after->summary, "", "start_ns"));
    json_key_u64(&j, "wall_ns", report_u64(after->summary, "", "wall_ns"));
    json_key_u64(&j, "wall_before_ns", report_u64(before->summary, "", "wall_ns"));
    json_key_begin(&j, "moved", '[');
    for (size_t i = 0; i < m->n && i < MOVED_MOST && most_of(&m->at[i]) >= LEAST; i++) {
        json_begin(&j, '{');
        json_key_text(&j, "name", m->at[i].name);
        for (int q = 0; q < QUANTITIES; q++) {
            json_key_begin(&j, quantity_names[q], '{');
            json_key(&j, "before");
            json_double(&j, m->at[i].before[q]);
            json_key(&j, "after");
            json_double(&j, m->at[i].after[q]);
            json_end(&j, '}');
        }
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_end(&j, '}');
}

static void put_text(struct buf *b, const struct movers *m, const struct side *before, const struct side *after,
                     long zone)
{
    report_stretch(after->summary, zone, b);
    buf_str(b, " against ");
    report_stretch(before->summary, zone, b);
    buf_byte(b, '\n');
    size_t from = b->len;
    for (size_t i = 0; i < m->n && i < MOVED_MOST && most_of(&m->at[i]) >= LEAST; i++)
        put_mover(b, &m->at[i]);
    put_pressure(b, before, after);
    put_events(b, after);
    if (b->len == from)
        buf_str(b, "nothing moved by more than a hundredth of the machine\n");
}

/* ---- reading ---- */

/* How many groups have a name? */
static size_t known_groups(const struct movers *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        n += m->at[i].name[0] != '(';
    return n;
}

static void movers_done(struct movers *m)
{
    for (size_t i = 0; i < m->n; i++)
        free(m->at[i].name);
    free(m->at);
    *m = (struct movers){0};
}

/* Finds the time, and how long it is: "12:31" is a minute. */
static int find_time(const struct cli *cli, const struct settings *s, const char *path, uint64_t *ret_from,
                     uint64_t *ret_to)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_tape *tape;
    int code = baro_tape_open(&tape, path, &err);
    if (code < 0)
        return cli_fail(cli, &err);
    code = stretch_moment(tape, s->at, ret_from, ret_to, &err);
    baro_tape_close(tape);
    return code < 0 ? cli_fail(cli, &err) : 0;
}

int diff_at(const struct cli *cli, const struct settings *s, const char *name)
{
    char texts[4][STRETCH_TIME_SIZE];
    struct baro_error err = BARO_ERROR_INIT;
    struct reader_path path;
    struct movers m = {0};
    struct side before = {0}, after = {0};
    struct buf text = {0};
    uint64_t from = 0, to = 0;
    int status = reader_find(name, &path, &err) < 0 ? cli_fail(cli, &err) : find_time(cli, s, path.at, &from, &to);
    const int tried[] = {s->group_by >= 0 ? s->group_by : 0, s->group_by >= 0 ? s->group_by : 3}; /* service, command */
    for (int i = 0; i < 2 && !status && known_groups(&m) < 2; i++) {
        movers_done(&m);
        close_side(&before);
        close_side(&after);
        status = open_side(cli, s, path.at, from > HOUR_NS ? from - HOUR_NS : 0, from, tried[i], texts, &before);
        if (!status)
            status = open_side(cli, s, path.at, from, to, tried[i], texts + 2, &after);
        if (!status && (!take_side(&m, &before, false) || !take_side(&m, &after, true)))
            status = cli_failf(cli, "out of memory");
    }
    if (!status) {
        weigh(&m, &after);
        if (m.n)
            qsort(m.at, m.n, sizeof(*m.at), by_part);
        if (s->json)
            put_json(&text, &m, &before, &after);
        else
            put_text(&text, &m, &before, &after, zone_east(report_fact(after.summary, "", "start").i64));
        status = s->json ? cli_out(cli, &text) : cli_out_text(cli, &text);
    }
    movers_done(&m);
    close_side(&before);
    close_side(&after);
    buf_done(&text);
    return status;
}
