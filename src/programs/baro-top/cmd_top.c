/* SPDX-License-Identifier: Apache-2.0 */
/* baro top: the live view. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "output/text/read_fact.h"
#include "programs/baro-top/beside.h"
#include "programs/baro-top/ranks_live.h"
#include "programs/baro-top/terminal.h"
#include "programs/baro-top/top.h"
#include "programs/baro-top/view.h"
#include "programs/common/moment.h"

#define ONCE_HEAD 8
#define ONCE_ROWS 25 /* processes that are printed, unless the user says how many */
/* The summary and the timeline are finished again after this many times the time that finishing took; at the latest
 * after FINISH_MOST_NS. */
#define FINISH_PAUSE 2000
#define FINISH_MOST_NS (5 * NS_PER_SEC)
#define OPEN_MOST_NS 20000000ULL /* CPU time to find out whether a kept tape is still written */

/* Finishing takes time for each living process, so the facts of a very large job may be some seconds old.
 * Example: 1 ms for 10,000 processes, so every 2 s. At the end of the recording all facts are complete. */
static int finish(struct top *t)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (t->feed.state == BARO_TAPE_RUNNING && now_ns < t->finish_ns)
        return 0;
    bool is_over = t->feed.state != BARO_TAPE_RUNNING && t->feed.is_read;
    int code = baro_fold_finish(t->feed.fold, is_over ? BARO_FOLD_VERDICTS : BARO_FOLD_TIMELINE, &t->err);
    t->feed.verdicts = is_over ? baro_fold_verdicts(t->feed.fold) : NULL;
    uint64_t end_ns = clock_monotonic_ns(), pause_ns = FINISH_PAUSE * (end_ns - now_ns);
    t->finish_ns = end_ns + (pause_ns < FINISH_MOST_NS ? pause_ns : FINISH_MOST_NS);
    return code;
}

int top_refresh(struct top *t)
{
    struct feed *f = &t->feed;
    int code = finish(t);
    t->ui.first_ns = f->first_ns;
    t->ui.last_ns = f->last_ns;
    t->shown = t->ui.live ? &f->newest : &t->past;
    if (code >= 0)
        code = model_read(&t->model, baro_tape_header(f->tape), t->shown, &f->metric);
    if (code >= 0)
        model_arrange(&t->model, &t->ui.wish);
    return code == -ENOMEM ? error_set(&t->err, code, "out of memory") : code;
}

int top_move(struct top *t)
{
    int code = t->ui.live ? 0 : feed_at(&t->feed, t->ui.at_ns, &t->past, &t->err);
    if (code < 0)
        return code;
    return top_refresh(t);
}

int top_go(struct top *t, const char *text)
{
    struct moment m;
    struct feed *f = &t->feed;
    struct baro_tape_end end = {.size = sizeof(end)};
    uint64_t peak_ns = f->last_ns;
    int code = moment_on_tape(text, f->tape, 0, f->last_ns, &m, &t->err);
    if (code >= 0)
        code = baro_tape_read_end(f->other, &end, &t->err);
    if (code >= 0 && text != t->around.at)
        code = moment_outside(text, &m, baro_tape_header(f->tape), end.end_ns > f->last_ns ? end.end_ns : f->last_ns,
                              &t->err);
    if (code < 0)
        return code;
    report_has_u64(f->summary, "job", "memory_peak_t_ns", &peak_ns);
    uint64_t to_ns = m.kind == MOMENT_START  ? f->first_ns
                     : m.kind == MOMENT_PEAK ? peak_ns
                     : m.kind == MOMENT_END  ? f->last_ns
                     : m.ns < 0              ? 0
                                             : (uint64_t)m.ns + moment_tolerance(&m);
    t->ui.live = m.kind == MOMENT_END;
    t->ui.at_ns = to_ns < f->first_ns ? f->first_ns : to_ns > f->last_ns ? f->last_ns : to_ns;
    return 0;
}

/* At the end of a recording little is left to be seen, so one that has ended is shown at its peak. */
int top_begin(struct top *t)
{
    uint64_t peak_ns;
    if (t->settings->at)
        return top_go(t, t->settings->at);
    if (t->feed.state == BARO_TAPE_RUNNING || !report_has_u64(t->feed.summary, "job", "memory_peak_t_ns", &peak_ns))
        return 0;
    return top_go(t, "peak");
}

static struct view view_of(struct top *t, bool is_once)
{
    return (struct view){.grid = &t->grid,
                         .feed = &t->feed,
                         .instant = t->shown,
                         .model = &t->model,
                         .ui = &t->ui,
                         .user = users_name,
                         .user_context = &t->users,
                         .is_once = is_once};
}

void top_draw(struct top *t)
{
    struct view v = view_of(t, false);
    view_draw(&v);
}

/* ---- printed once ---- */

static int print_once(struct top *t)
{
    struct buf b = {0};
    struct view v = view_of(t, true);
    const struct printing p = {.width = t->cli->width, .color = t->cli->color, .out = &b};
    t->grid.utf8 = t->cli->utf8;
    int code = print_head(&v, ONCE_HEAD + baro_timeline_lanes(t->feed.timeline) + (t->feed.verdicts != NULL), &p);
    if (code == 0)
        code = print_processes(&v, &t->model, t->settings->count ? t->settings->count : ONCE_ROWS, &p);
    if (code == 0)
        code = print_tasks_and_gpus(&v, &p);
    if (code == 0)
        code = print_commands_and_events(&v, &p);
    int status = code < 0 ? cli_failf(t->cli, "out of memory") : cli_out(t->cli, &b);
    buf_done(&b);
    return status;
}

static int once(struct top *t)
{
    int code = feed_read(&t->feed, 0, &t->err);
    if (code >= 0)
        code = top_refresh(t);
    if (code >= 0)
        code = top_begin(t);
    if (code >= 0)
        code = top_move(t);
    return code < 0 ? cli_fail(t->cli, &t->err) : print_once(t);
}

/* ---- choice of the tape ---- */

/* Finds the newest recording that is still written, else the newest. */
static int choose_tape(struct top *t)
{
    struct baro_runs *runs;
    struct baro_tape *tape;
    int code = baro_runs_list(&runs, 0, &t->err);
    if (code < 0)
        return cli_fail(t->cli, &t->err);
    size_t n = baro_runs_count(runs), chosen = 0;
    for (size_t i = 0; i < n; i++) {
        if (baro_runs_open(runs, i, OPEN_MOST_NS, &tape, NULL) < 0)
            continue;
        bool running = baro_tape_state(tape) == BARO_TAPE_RUNNING;
        baro_tape_close(tape);
        if (running) {
            chosen = i;
            break;
        }
    }
    const char *path = n ? baro_runs_path(runs, chosen) : "";
    bool fits = strlen(path) < sizeof(t->feed.path);
    memcpy(t->feed.path, path, fits ? strlen(path) + 1 : 1);
    baro_runs_free(runs);
    if (!n)
        return cli_failf(t->cli, "no run is kept yet; `baro run -- COMMAND` records one, and `baro top` shows it");
    return 0;
}

/* A folder of several tapes: says what shows all of them. */
static int find_tape(struct top *t, const char *name, struct reader_path *ret)
{
    int code = reader_find(name, ret, &t->err);
    return code == BARO_E_RANGE ? error_set(&t->err, code,
                                            "%s has several tapes, and top shows one: name it (`baro ls %s` lists "
                                            "them); `baro summary %s` and `baro report %s` show all",
                                            name, name, name, name)
                                : code;
}

static int open_tape(struct top *t, const char *name)
{
    struct reader_path path;
    int status = 0;
    if (!name)
        status = choose_tape(t);
    else if (find_tape(t, name, &path) < 0)
        status = cli_fail(t->cli, &t->err);
    else
        memcpy(t->feed.path, path.at, sizeof(t->feed.path));
    if (status)
        return status;
    t->own = *t->settings;
    if (reader_around(&t->own, t->feed.path, VIEW_BEFORE_NS, VIEW_AFTER_NS, &t->around, &t->err) < 0)
        return cli_fail(t->cli, &t->err);
    snprintf(t->ui.message, sizeof(t->ui.message), "%s", t->around.hole);
    if (t->settings->once || !t->cli->tty) {
        reader_note_segments(t->cli, t->feed.path, t->own.from, t->own.to);
        if (*t->around.hole)
            cli_note(t->cli, "%s", t->around.hole);
    }
    t->settings = t->feed.settings = &t->own;
    return feed_open(&t->feed, &t->err) < 0 ? cli_fail(t->cli, &t->err) : 0;
}

static void done(struct top *t)
{
    feed_close(&t->feed);
    instant_done(&t->past);
    model_done(&t->model);
    ui_done(&t->ui);
    grid_done(&t->grid);
}

/* Beside a job (`baro run --top`), a job that is over before the first sample is no error, and nothing is printed. */
static int show_beside(struct top *t)
{
    int code = beside_open(&t->feed, &t->is_away, &t->err);
    if (code == BARO_E_ENDED)
        return 0;
    return code < 0 ? cli_fail(t->cli, &t->err) : top_loop(t, STDIN_FILENO, BESIDE_SOCKET);
}

int cmd_top(struct cli *cli, const struct settings *s, char **argv)
{
    static struct top top;
    top = (struct top){.cli = cli, .settings = s};
    ui_init(&top.ui);
    top.feed.is_judged = true;
    int in_fd = -1, status = argv[0] ? ranks_live(cli, s, argv) : -1;
    if (status >= 0)
        return status;
    if (argv[0] && argv[1])
        return cli_failf(cli, "top shows one tape; `baro summary` and `baro report` show several, or the ranks of a "
                              "job");
    if (beside_begin(&top.is_quiet)) {
        status = show_beside(&top);
    } else if ((status = open_tape(&top, argv[0])) == 0) {
        /* Without a keyboard nobody could end the view: `baro top </dev/null` of cron or a script prints it. */
        bool is_once = s->once || !cli->tty || !isatty(STDIN_FILENO) || !terminal_is_built();
        in_fd = is_once ? -1 : dup(STDIN_FILENO);
        status = in_fd < 0 ? once(&top) : top_loop(&top, in_fd, -1);
    }
    fd_close(in_fd);
    done(&top);
    return status;
}
