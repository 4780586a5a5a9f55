/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what stays on the terminal when a job of `baro run --top` has ended: the last view, and the short summary,
 * whose last line has the tape. The recorder writes a summary to standard error, which goes elsewhere. */
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output/text/read_fact.h"
#include "output/text/summary_text.h"
#include "programs/baro-top/beside.h"
#include "programs/baro-top/top.h"
#include "programs/common/zone.h"

/* Goes to the last moment with processes, because at the end there are none. */
static int last_moment(struct top *t)
{
    int code = feed_read(&t->feed, 0, &t->err);
    if (code >= 0)
        code = top_refresh(t);
    if (code < 0 || t->model.n || !t->feed.work_ns)
        return code;
    t->ui.live = false;
    t->ui.at_ns = t->feed.work_ns;
    return top_move(t);
}

/* Leaves out the last line, which has the keys, and empty lines at the end. */
static void put_view(struct top *t, struct buf *ret)
{
    top_draw(t);
    grid_print(&t->grid, t->grid.rows - 1, t->cli->color, ret);
    while (ret->len > 1 && ret->at[ret->len - 1] == '\n' && ret->at[ret->len - 2] == '\n')
        ret->len--;
    buf_byte(ret, '\n');
}

/* Finds how a reader names the tape: "@1" if it is the newest of the kept runs, else by its path. Returns false if it
 * has no name any more. */
static bool name_of_tape(const struct top *t, char ret[PATH_MAX])
{
    struct baro_runs *runs;
    struct stat tape, kept;
    ssize_t n = readlink(t->feed.path, ret, PATH_MAX - 1);
    bool is_there = n > 0 && stat(t->feed.path, &tape) == 0 && tape.st_nlink > 0;
    ret[n > 0 ? n : 0] = 0;
    if (!is_there || baro_runs_list(&runs, 0, NULL) < 0)
        return is_there;
    for (size_t i = 0; i < baro_runs_count(runs); i++) {
        if (stat(baro_runs_path(runs, i), &kept) == 0 && kept.st_dev == tape.st_dev && kept.st_ino == tape.st_ino)
            snprintf(ret, PATH_MAX, "@%zu", i + 1);
    }
    baro_runs_free(runs);
    return true;
}

static void put_summary(struct top *t, struct buf *ret)
{
    char name[PATH_MAX];
    struct report_style style = {.width = (unsigned)t->grid.columns,
                                 .utf8 = t->cli->utf8,
                                 .color = t->cli->color,
                                 .curves = true,
                                 .timeline = t->feed.timeline};
    bool is_judged = baro_fold_finish(t->feed.fold, BARO_FOLD_VERDICTS, NULL) >= 0;
    style.zone = zone_east(report_fact(t->feed.summary, "", "start").i64);
    report_glance(t->feed.summary, is_judged ? baro_fold_verdicts(t->feed.fold) : NULL,
                  name_of_tape(t, name) ? name : NULL, style, ret);
}

int beside_leave(struct top *t)
{
    struct buf b = {0};
    int code = t->feed.has_sample ? last_moment(t) : 0;
    if (code < 0 || !t->feed.has_sample)
        return code;
    put_view(t, &b);
    if (!t->is_quiet)
        put_summary(t, &b);
    cli_out(t->cli, &b);
    buf_done(&b);
    return 0;
}
