/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baro diff TAPE --at 12:31: what moved then. The minute (or half a minute around a time with seconds) is compared with
 * the hour before: the three services and the three commands whose cores, memory or I/O changed most, each as a part of
 * what the machine has or did, then pressure, file systems that became full, and what happened. With --by it is groups
 * of that kind alone.
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
    unsigned flags[QUANTITIES][2];                                  /* enum baro_value_flag, before and after */
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
        static const char *const facts[] = {"cpu_ns", "rss_peak_bytes", "io_read_bytes", "io_write_bytes"};
        double *to = is_after ? one->after : one->before;
        for (int k = 0; k <= QUANTITIES; k++) { /* the last two are one quantity */
            struct baro_value v = report_row(side->summary, "tasks", facts[k], row);
            int q = k < IO ? k : IO;
            double per = q == MEMORY ? 1 : q == CORES ? 1e9 * side->seconds : side->seconds;
            to[q] = (k > IO ? to[q] : 0) + (v.absent || !(per > 0) ? NAN : (double)v.u64 / per);
            one->flags[q][is_after] |= v.flags;
        }
    }
    return true;
}

/* The hour's peak of memory says nothing of its level, so only what is above it has moved. */
static void weigh(struct movers *m, const struct side *after)
{
    double all[QUANTITIES] = {(double)report_u64(after->summary, "", "cpus"),
                              (double)baro_header_memory_bytes(baro_tape_header(after->tape)), 0};
    for (size_t i = 0; i < m->n; i++)
        all[IO] += fmax(0, fmax(m->at[i].before[IO], m->at[i].after[IO])); /* NAN, not known, is passed over */
    all[IO] = fmax(all[IO], 10e6);                                         /* less is little for any disk */
    for (size_t i = 0; i < m->n; i++) {
        for (int q = 0; q < QUANTITIES; q++) {
            double by = m->at[i].after[q] - m->at[i].before[q];
            m->at[i].part[q] = isfinite(by) && all[q] > 0 ? (q == MEMORY ? fmax(by, 0) : fabs(by)) / all[q] : 0;
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

struct answer {
    struct buf text;
    struct json json;
    long zone;
    bool is_json;
};

/* A member {"before": ..., "after": ...}; what is not known is null. flags: of both; NULL: they have none. */
static void json_pair(struct json *j, const char *name, double before, double after, const unsigned flags[2])
{
    json_key_begin(j, name, '{');
    json_key(j, "before");
    json_double(j, before);
    json_key(j, "after");
    json_double(j, after);
    if (flags) {
        json_key_text(j, "before_mark", baro_value_mark(flags[0]));
        json_key_text(j, "after_mark", baro_value_mark(flags[1]));
    }
    json_end(j, '}');
}

static void put_quantity(struct buf *b, enum quantity q, double v, unsigned flags)
{
    buf_str(b, baro_value_prefix(flags, BARO_PREFIX_SYMBOL));
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
        put_quantity(b, (enum quantity)n, m->before[n], m->flags[n][0]);
        buf_str(b, " to ");
        put_quantity(b, (enum quantity)n, m->after[n], m->flags[n][1]);
        any = true;
    }
    buf_byte(b, '\n');
}

static const struct {
    const char *name, *key, *fact;
} pressures[] = {
    {"cpu", "cpu", "cpu_some_ratio"}, {"memory", "memory", "memory_some_ratio"}, {"i/o", "io", "io_some_ratio"}};
#define PRESSURES (sizeof(pressures) / sizeof(*pressures))
#define PRESSURE_LEAST 0.05

static double pressure_of(const struct side *side, size_t i)
{
    double ratio;
    return report_has_real(side->summary, "pressure", pressures[i].fact, &ratio) ? ratio : NAN;
}

static void add_pressure(struct answer *a, const struct side *before, const struct side *after)
{
    bool any = false;
    for (size_t i = 0; i < PRESSURES; i++) {
        double was = pressure_of(before, i), is = pressure_of(after, i);
        if (a->is_json)
            json_pair(&a->json, pressures[i].key, was, is, NULL);
        if (a->is_json || !(fabs(is - was) >= PRESSURE_LEAST))
            continue;
        buf_printf(&a->text, "%s %s %.0f %% to %.0f %%", any ? "," : "pressure:", pressures[i].name, 100 * was,
                   100 * is);
        any = true;
    }
    buf_str(&a->text, any ? "\n" : "");
}

/* ---- file systems ---- */

#define FULL_LEAST 0.95 /* of what a user may use */
#define FILLED_LEAST 0.1

static bool used_part(const struct baro_row *fs, double *ret)
{
    uint64_t used, available;
    if (baro_row_value(fs, baro_metric_find(BARO_KIND_FS, "used"), &used) ||
        baro_row_value(fs, baro_metric_find(BARO_KIND_FS, "available"), &available) || (!used && !available))
        return false;
    *ret = (double)used / (double)(used + available);
    return true;
}

/* "file system /srv: 40 % to 100 % full", of one that was filled by a tenth or is full and was not. */
static void add_filled(struct answer *a, const struct baro_sample *first, const struct baro_sample *last)
{
    double was, is;
    for (size_t i = 0; i < baro_sample_rows(last, BARO_KIND_FS); i++) {
        const struct baro_row *fs = baro_sample_row(last, BARO_KIND_FS, i);
        const struct baro_row *before = baro_sample_find_id(first, BARO_KIND_FS, baro_row_id(fs));
        if (!before || !used_part(fs, &is) || !used_part(before, &was) ||
            !(is - was >= FILLED_LEAST || (is >= FULL_LEAST && was < FULL_LEAST)))
            continue;
        if (a->is_json) {
            json_begin(&a->json, '{');
            json_key_text(&a->json, "name", baro_row_name(fs));
            json_pair(&a->json, "used_ratio", was, is, NULL);
            json_end(&a->json, '}');
            continue;
        }
        buf_str(&a->text, "file system ");
        text_escaped(&a->text, baro_row_name(fs), strlen(baro_row_name(fs)));
        buf_printf(&a->text, ": %.0f %% to %.0f %% full\n", 100 * was, 100 * is);
    }
}

static int add_filesystems(struct answer *a, struct baro_tape *tape, struct baro_error *err)
{
    struct baro_sample *first = NULL, *last = NULL;
    struct baro_record r;
    int code = baro_tape_rewind(tape, err);
    while (code >= 0 && (code = baro_tape_next(tape, &r, err)) > 0) {
        if (r.kind != BARO_RECORD_SAMPLE || !baro_sample_rows(r.u.sample, BARO_KIND_FS))
            continue;
        baro_sample_free(last);
        last = NULL;
        code = baro_sample_copy(r.u.sample, first ? &last : &first, err);
    }
    if (code >= 0 && first && last)
        add_filled(a, first, last);
    baro_sample_free(first);
    baro_sample_free(last);
    return code < 0 ? code : 0;
}

/* ---- events ---- */

#define EVENTS_MOST 10

struct told {
    const char *name, *text;
    uint64_t from_ns, to_ns;
    size_t times;
};

/* "14:53:05" */
static void put_clock(struct answer *a, const struct side *side, uint64_t t_ns)
{
    struct buf time = {0};
    fmt_time_zone(&time, (int64_t)((uint64_t)report_fact(side->summary, "", "start").i64 + t_ns), a->zone, false);
    if (!time.failed && time.len >= 19)
        buf_add(&a->text, time.at + 11, 8);
    buf_done(&time);
}

/* "14:53:45 worker killed by SIGKILL, 18 times until 14:53:46" */
static void add_event(struct answer *a, const struct side *after, const struct told *told)
{
    struct json *j = &a->json;
    if (a->is_json) {
        json_begin(j, '{');
        json_key_text(j, "event", told->name);
        json_key_text(j, "text", told->text);
        json_key_u64(j, "times", told->times);
        json_key_u64(j, "t_ns", told->from_ns);
        json_key_u64(j, "last_t_ns", told->to_ns);
        json_end(j, '}');
        return;
    }
    put_clock(a, after, told->from_ns);
    buf_byte(&a->text, ' ');
    text_escaped(&a->text, told->text, strlen(told->text));
    if (told->times > 1) {
        buf_printf(&a->text, ", %zu times until ", told->times);
        put_clock(a, after, told->to_ns);
    }
    buf_byte(&a->text, '\n');
}

/* Does it concern the machine or a limit, and not a process that was killed? */
static bool comes_first(const struct baro_timeline_item *item)
{
    static const char *const names[] = {"oom_kill",   "oom",        "limit",        "gap",
                                        "suspend",    "clock_step", "memory_limit", "memory_high",
                                        "fork_limit", "damage",     "wrapper_lost"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strcmp(item->name, names[i]) == 0)
            return true;
    }
    return false;
}

/* Takes those that come first, or the others. Returns for how many there was no room. */
static size_t take_events(const struct baro_timeline *t, bool first, struct told told[EVENTS_MOST], size_t *ret_n)
{
    size_t more = 0;
    for (size_t i = 0; i < baro_timeline_count(t); i++) {
        const struct baro_timeline_item *item = baro_timeline_get(t, i);
        size_t k = 0;
        if (item->kind != BARO_TIMELINE_EVENT || comes_first(item) != first || !(first || item->is_problem))
            continue;
        while (k < *ret_n && strcmp(told[k].text, item->text) != 0)
            k++;
        if (k == EVENTS_MOST) {
            more++;
            continue;
        }
        if (k == *ret_n)
            told[(*ret_n)++] = (struct told){.name = item->name, .text = item->text, .from_ns = item->begin_ns};
        told[k].to_ns = item->begin_ns;
        told[k].times++;
    }
    return more;
}

/* Events of one text are one. Returns how many are left out. */
static size_t add_events(struct answer *a, const struct side *after)
{
    const struct baro_timeline *t = baro_fold_timeline(after->fold);
    struct told told[EVENTS_MOST];
    size_t n = 0, more = take_events(t, true, told, &n);
    more += take_events(t, false, told, &n);
    for (size_t k = 0; k < n; k++)
        add_event(a, after, &told[k]);
    return more;
}

/* ---- the answer ---- */

static size_t moved(const struct movers *m)
{
    size_t n = 0;
    while (n < m->n && n < MOVED_MOST && most_of(&m->at[n]) >= LEAST)
        n++;
    return n;
}

static void json_movers(struct json *j, const char *kind, const struct movers *m)
{
    for (size_t i = 0; i < moved(m); i++) {
        json_begin(j, '{');
        json_key_text(j, "by", kind);
        json_key_text(j, "name", m->at[i].name);
        for (int q = 0; q < QUANTITIES; q++)
            json_pair(j, quantity_names[q], m->at[i].before[q], m->at[i].after[q], m->at[i].flags[q]);
        json_end(j, '}');
    }
}

static void begin_answer(struct answer *a, const struct side *before, const struct side *after)
{
    if (a->is_json) {
        a->json = (struct json){.out = &a->text, .pretty = true};
        json_begin(&a->json, '{');
        json_key_u64(&a->json, "format", 1);
        json_key_u64(&a->json, "from_ns", report_u64(after->summary, "", "start_ns"));
        json_key_u64(&a->json, "wall_ns", report_u64(after->summary, "", "wall_ns"));
        json_key_u64(&a->json, "wall_before_ns", report_u64(before->summary, "", "wall_ns"));
        json_key_begin(&a->json, "moved", '[');
        return;
    }
    report_stretch(after->summary, a->zone, &a->text);
    buf_str(&a->text, " against ");
    report_stretch(before->summary, a->zone, &a->text);
    buf_byte(&a->text, '\n');
}

static void add_movers(struct answer *a, const char *kind, const struct movers *m)
{
    if (a->is_json) {
        json_movers(&a->json, kind, m);
        return;
    }
    for (size_t i = 0; i < moved(m); i++) {
        buf_printf(&a->text, "%s ", kind);
        put_mover(&a->text, &m->at[i]);
    }
}

static int end_json(struct answer *a, const struct side *before, const struct side *after, struct baro_error *err)
{
    struct json *j = &a->json;
    json_end(j, ']');
    json_key_begin(j, "pressure", '{');
    add_pressure(a, before, after);
    json_end(j, '}');
    json_key_begin(j, "filesystems", '[');
    int code = add_filesystems(a, after->tape, err);
    json_end(j, ']');
    json_key_begin(j, "events", '[');
    size_t more = add_events(a, after);
    json_end(j, ']');
    json_key_u64(j, "events_left_out", more);
    json_end(j, '}');
    return code;
}

static int end_text(struct answer *a, const struct side *before, const struct side *after, struct baro_error *err)
{
    size_t from = a->text.len;
    add_pressure(a, before, after);
    int code = add_filesystems(a, after->tape, err);
    size_t more = add_events(a, after);
    if (more)
        buf_printf(&a->text, "%zu more events: baro export -e event\n", more);
    if (a->text.len == from && memchr(a->text.at, '\n', a->text.len) == a->text.at + a->text.len - 1)
        buf_str(&a->text, "nothing moved by more than a hundredth of the machine\n");
    return code;
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

static bool take_sides(struct movers *m, const struct side *before, const struct side *after)
{
    if (!take_side(m, before, false) || !take_side(m, after, true))
        return false;
    weigh(m, after);
    if (m->n)
        qsort(m->at, m->n, sizeof(*m->at), by_part);
    return true;
}

int diff_at(const struct cli *cli, const struct settings *s, const char *name)
{
    static const char *const kinds[] = {"service", "container", "user", "command", "cgroup"}; /* of --by */
    const int both[] = {0, 3}, one[] = {s->group_by};
    const int *by = s->group_by >= 0 ? one : both;
    const size_t n = s->group_by >= 0 ? 1 : 2;
    char texts[4][STRETCH_TIME_SIZE];
    struct baro_error err = BARO_ERROR_INIT;
    struct reader_path path;
    struct side before = {0}, after = {0};
    struct answer a = {.is_json = s->json};
    uint64_t from = 0, to = 0;
    int status = reader_find(name, &path, &err) < 0 ? cli_fail(cli, &err) : find_time(cli, s, path.at, &from, &to);
    for (size_t i = 0; i < n && !status; i++) {
        struct movers m = {0};
        close_side(&before);
        close_side(&after);
        status = open_side(cli, s, path.at, from > HOUR_NS ? from - HOUR_NS : 0, from, by[i], texts, &before);
        if (!status)
            status = open_side(cli, s, path.at, from, to, by[i], texts + 2, &after);
        if (!status && !take_sides(&m, &before, &after))
            status = cli_failf(cli, "out of memory");
        if (!status && i == 0) {
            a.zone = zone_east(report_fact(after.summary, "", "start").i64);
            begin_answer(&a, &before, &after);
        }
        if (!status && (known_groups(&m) > 1 || i + 1 == n)) /* one service is all that has a name */
            add_movers(&a, kinds[by[i]], &m);
        movers_done(&m);
    }
    if (!status && (s->json ? end_json : end_text)(&a, &before, &after, &err) < 0)
        status = cli_fail(cli, &err);
    if (!status)
        status = s->json ? cli_out(cli, &a.text) : cli_out_text(cli, &a.text);
    close_side(&before);
    close_side(&after);
    buf_done(&a.text);
    return status;
}
