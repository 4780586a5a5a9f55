/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what stays on the terminal when a job of `baro run --top` has ended: the last view, and the summary. The
 * recorder writes a summary to standard error, which goes elsewhere. */
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

static void put_summary(struct top *t, struct buf *ret)
{
    struct baro_value start;
    struct report_style style = {.width = (unsigned)t->grid.columns,
                                 .utf8 = t->cli->utf8,
                                 .color = t->cli->color,
                                 .curves = true,
                                 .timeline = t->feed.timeline};
    bool is_judged = baro_fold_finish(t->feed.fold, BARO_FOLD_VERDICTS, NULL) >= 0;
    baro_summary_value(t->feed.summary, baro_summary_fact_find("", "start"), 0, &start);
    style.zone = zone_east(start.i64);
    report_glance(t->feed.summary, is_judged ? baro_fold_verdicts(t->feed.fold) : NULL, NULL, style, ret);
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
