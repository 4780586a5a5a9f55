/* SPDX-License-Identifier: Apache-2.0 */
/* baro show: the job at one moment, printed. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/growth.h"
#include "output/rows/escaped.h"
#include "output/rows/wrap.h"
#include "output/text/read_fact.h"
#include "programs/baro-read/show.h"
#include "programs/baro-top/view.h"

#define READINGS_BACK 8 /* a reading may have a time a little later than its sample */
#define HEAD_ROWS 8
/* What is read of a folder of segments around the moment that is shown: rates are over half a minute at most. */
#define SHOWN_BEFORE_NS (60 * NS_PER_SEC)
#define SHOWN_AFTER_NS (60 * NS_PER_SEC)

/* ---- which sample ---- */

/* Finds the time of the sample that stands for the moment. */
static int choose_sample(struct show *w, uint64_t moment_ns, uint64_t *ret_ns)
{
    struct baro_record record;
    int code = baro_tape_seek(w->feed.other, moment_ns + w->tolerance_ns, &record, &w->err);
    if (code <= 0)
        return code;
    *ret_ns = record.t_ns;
    if (record.t_ns >= moment_ns || w->settings->pick == PICK_BEFORE)
        return 1;
    uint64_t next_ns = feed_neighbour(&w->feed, record.t_ns, true);
    if (w->settings->pick == PICK_AFTER || next_ns - moment_ns < moment_ns - *ret_ns)
        *ret_ns = next_ns;
    return 1;
}

static int find_moment(struct show *w, uint64_t last_ns)
{
    struct moment m;
    uint64_t end_ns = w->feed.last_ns, peak_ns = 0;
    struct baro_tape_end end = {.size = sizeof(end)};
    if (baro_tape_read_end(w->feed.other, &end, &w->err) < 0)
        return cli_fail(w->cli, &w->err);
    end_ns = end.end_ns > end_ns ? end.end_ns : end_ns;
    if (moment_on_tape(w->settings->at, w->feed.other, 0, end_ns, &m, &w->err) < 0)
        return cli_fail(w->cli, &w->err);
    if (m.kind == MOMENT_PEAK) {
        bool has_peak = report_has_u64(w->feed.summary, "job", "memory_peak_t_ns", &peak_ns);
        w->asked_ns = (int64_t)peak_ns;
        return has_peak ? 0 : cli_failf(w->cli, "--at peak: no sample of %s has memory", w->feed.path);
    }
    w->asked_ns = m.kind == MOMENT_START ? (int64_t)w->feed.first_ns : m.kind == MOMENT_END ? (int64_t)last_ns : m.ns;
    w->tolerance_ns = moment_tolerance(&m);
    if (w->settings->at != w->around.at &&
        moment_outside(w->settings->at, &m, baro_tape_header(w->feed.tape), end_ns, &w->err) < 0)
        return cli_failf(w->cli, "--at %s", w->err.text);
    return 0;
}

/* Stores the reading of the machine before that of the instant, for its rates. */
static int read_machine_before(struct show *w)
{
    struct baro_record record;
    struct output_row row;
    if (!show_machine_row(w, &row))
        return 0;
    uint64_t read_ns = row.t_ns, at = baro_sample_t_ns(w->instant.now);
    at = read_ns < at ? read_ns : at;
    for (int i = 0; i < READINGS_BACK && at > 0; i++) {
        int code = baro_tape_seek(w->feed.other, at - 1, &record, &w->err);
        if (code <= 0 || record.t_ns >= at)
            return code < 0 ? code : 0;
        row.sample = record.u.sample;
        if (baro_sample_read_ns(row.sample, BARO_KIND_HOST, &row.t_ns) != BARO_PRESENT)
            return 0;
        if (row.t_ns < read_ns) {
            row_begin(&row);
            return 0;
        }
        at = record.t_ns;
    }
    return 0;
}

/* Makes the instant of a sample. Returns 1, 0 if there is no sample, or a negative code. */
static int go_to(struct show *w, uint64_t t_ns)
{
    struct feed *f = &w->feed;
    w->ui.live = false;
    w->ui.at_ns = t_ns;
    w->ui.first_ns = f->first_ns;
    w->ui.last_ns = f->last_ns;
    w->ui.wish.is_tree = !w->settings->tasks.only;
    w->ui.wish.task = w->settings->tasks.only;
    baro_previous_free(w->machine_before);
    w->machine_before = row_previous_new();
    int code = baro_fold_finish(f->fold, BARO_FOLD_TIMELINE, &w->err);
    if (code >= 0)
        code = feed_at(f, t_ns, &w->instant, &w->err);
    if (code <= 0)
        return code;
    code = read_machine_before(w);
    if (code < 0)
        return code;
    code = model_read(&w->model, baro_tape_header(f->tape), &w->instant, &f->metric);
    if (code < 0)
        return error_set(&w->err, code, "out of memory");
    model_arrange(&w->model, &w->ui.wish);
    return 1;
}

/* ---- the text ---- */

static unsigned lines_of(const struct buf *b)
{
    unsigned n = 0;
    for (size_t i = 0; i < b->len; i++)
        n += b->at[i] == '\n';
    return n;
}

static void wrapped(struct show *w, void (*put)(struct show *w, struct buf *b), struct buf *b)
{
    size_t from = b->len;
    put(w, b);
    if (w->cli->tty)
        wrap_lines(b, from, w->cli->width);
}

/* Followed on a terminal, all of it has to fit: a low one has fewer rows of figures, and as many processes as there is
 * room for. */
static int print_text(struct show *w, struct buf *b)
{
    struct grid grid = {.utf8 = w->cli->utf8};
    struct view v = {.grid = &grid,
                     .feed = &w->feed,
                     .instant = &w->instant,
                     .model = &w->model,
                     .ui = &w->ui,
                     .user = users_name,
                     .user_context = &w->users,
                     .is_once = true,
                     .is_show = true};
    struct buf below = {0};
    struct printing p = {.width = w->cli->width, .color = w->cli->color, .is_whole = !w->cli->table_width, .out = b};
    const unsigned height = w->settings->follow ? w->cli->height : 0;
    const bool is_low = height && height < 24;
    size_t most = w->settings->count == UINT32_MAX ? 0 : w->settings->count;
    wrapped(w, show_which_line, b);
    int code = print_head(&v, is_low ? 3 : HEAD_ROWS + baro_timeline_lanes(w->feed.timeline), &p);
    wrapped(w, show_lines, b);
    p.out = &below;
    if (code == 0)
        code = print_tasks_and_gpus(&v, &p);
    buf_byte(&below, '\n');
    size_t lists = below.len;
    wrapped(w, show_kinds, &below);
    below.len -= below.len == lists;
    unsigned used = lines_of(b) + 3; /* an empty one, titles, and what is said about the rest */
    if (height && used + lines_of(&below) >= height)
        buf_clear(&below);
    used += lines_of(&below);
    if (height && !w->settings->count)
        most = height > used ? height - used : 1;
    p.out = b;
    if (code == 0 && feed_has_job(&w->feed, w->instant.now))
        code = print_processes(&v, &w->model, most, &p);
    buf_add(b, below.at, below.len);
    buf_done(&below);
    grid_done(&grid);
    return code < 0 ? error_set(&w->err, -ENOMEM, "out of memory") : 0;
}

/* ---- the command ---- */

static int no_such_task(struct show *w)
{
    struct buf names = {0};
    size_t n = baro_sample_rows(w->instant.now, BARO_KIND_TASK);
    for (size_t i = 0; i < n; i++) {
        const char *name = baro_row_name(baro_sample_row(w->instant.now, BARO_KIND_TASK, i));
        if (strcmp(name, w->settings->tasks.only) == 0) {
            buf_done(&names);
            return 0;
        }
        buf_str(&names, i ? ", " : "");
        text_escaped(&names, name, strlen(name));
    }
    buf_byte(&names, 0);
    int status = names.failed ? cli_failf(w->cli, "out of memory")
                 : n ? cli_failf(w->cli, "--task %s: there is no such task; the tape has %s", w->settings->tasks.only,
                                 (const char *)names.at)
                     : cli_failf(w->cli, "--task %s: %s has no tasks", w->settings->tasks.only, w->feed.path);
    buf_done(&names);
    return status;
}

static int print_sample(struct show *w, uint64_t t_ns)
{
    struct buf b = {0};
    bool is_screen = w->settings->follow && w->cli->tty && !w->settings->json;
    int code = go_to(w, t_ns), status = 0;
    if (code <= 0)
        return code < 0 ? cli_fail(w->cli, &w->err) : cli_failf(w->cli, "%s has no sample", w->feed.path);
    if (w->settings->tasks.only && (status = no_such_task(w)) != 0)
        return status;
    if (is_screen) {
        cli_resize(w->cli);
        buf_str(&b, "\033[H\033[2J");
    }
    code = w->settings->json ? show_json(w, &b) : print_text(w, &b);
    if (!code && w->settings->follow && !w->cli->tty && !w->settings->json)
        buf_byte(&b, '\n');
    if (!code && is_screen && b.len)
        b.len--; /* the cursor ends on the terminal's last line */
    status = code < 0 ? cli_fail(w->cli, &w->err) : w->settings->json ? cli_out(w->cli, &b) : cli_out_text(w->cli, &b);
    buf_done(&b);
    return status;
}

static int follow_tape(struct show *w)
{
    uint64_t shown_ns = UINT64_MAX;
    int status = 0;
    do {
        if (feed_read(&w->feed, 0, &w->err) < 0)
            return cli_fail(w->cli, &w->err);
        if (w->feed.has_sample && w->feed.last_ns != shown_ns) {
            shown_ns = w->feed.last_ns;
            status = print_sample(w, shown_ns);
        }
    } while (!status && reader_wait(w->feed.tape));
    if (!status && w->cli->tty && !w->settings->json && shown_ns != UINT64_MAX) {
        struct buf end = {0};
        buf_byte(&end, '\n');
        status = cli_out(w->cli, &end);
        buf_done(&end);
    }
    if (!status && baro_tape_state(w->feed.tape) == BARO_TAPE_CUT_OFF)
        cli_note(w->cli, "no recorder writes %s any more; it has no end", w->feed.path);
    return status;
}

/* When all processes have ended, the last samples have none; the user wants the last sample before these. */
static int show(struct show *w)
{
    struct feed *f = &w->feed;
    if (w->settings->follow)
        return follow_tape(w);
    if (feed_read(f, 0, &w->err) < 0)
        return cli_fail(w->cli, &w->err);
    if (!f->has_sample)
        return cli_failf(w->cli, "%s has no sample", f->path);
    bool is_end = !w->asked || strcmp(w->settings->at, "end") == 0;
    uint64_t t_ns = is_end && f->work_ns ? f->work_ns : f->last_ns;
    if (w->asked) {
        baro_fold_finish(f->fold, BARO_FOLD_SUMMARY, NULL);
        int status = find_moment(w, t_ns);
        if (status)
            return status;
        if (choose_sample(w, w->asked_ns < 0 ? 0 : (uint64_t)w->asked_ns, &t_ns) < 0)
            return cli_fail(w->cli, &w->err);
    }
    return print_sample(w, t_ns);
}

int cmd_show(struct cli *cli, const struct settings *s, char **argv)
{
    static struct show w;
    static struct settings own;
    struct reader_path path;
    struct moment checked;
    own = *s;
    w = (struct show){.cli = cli, .settings = &own, .asked = s->at != NULL};
    /* Rejects bad text before a tape is opened. */
    if (s->at && moment_parse(s->at, 0, 0, &checked, &w.err) < 0)
        return cli_fail(cli, &w.err);
    if ((s->from || s->to) && s->follow)
        return cli_failf(cli, "--follow shows what is newest; --from and --to are of the past");
    if (s->at && s->follow)
        return cli_failf(cli, "--at and --follow exclude each other");
    if (s->json && s->count)
        return cli_failf(cli, "--top and --json exclude each other: JSON has all processes");
    if (reader_find(argv[0], &path, &w.err) < 0 ||
        reader_around(&own, path.at, SHOWN_BEFORE_NS, SHOWN_AFTER_NS, &w.around, &w.err) < 0)
        return cli_fail(cli, &w.err);
    reader_note_segments(cli, path.at, own.from, own.to);
    if (*w.around.hole)
        cli_note(cli, "%s", w.around.hole);
    memcpy(w.feed.path, path.at, sizeof(path.at));
    w.feed.settings = &own;
    ui_init(&w.ui);
    if (feed_open(&w.feed, &w.err) < 0)
        return cli_fail(cli, &w.err);
    w.feed.rates_over_ns = GROWTH_SHORT_NS;
    int status = show(&w);
    feed_close(&w.feed);
    instant_done(&w.instant);
    model_done(&w.model);
    ui_done(&w.ui);
    baro_previous_free(w.machine_before);
    return status;
}
