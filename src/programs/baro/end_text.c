/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/end_text.h"

#include <sys/wait.h>

#include "base/clock.h"
#include "output/text/summary_text.h"
#include "output/text/tasks.h"
#include "programs/common/zone.h"

static struct report_style style_of(const struct recording *r)
{
    return (struct report_style){
        .width = r->cli->width_err, .utf8 = r->cli->utf8, .color = r->cli->color_err, .curves = r->cli->tty_err};
}

static void put_verdicts(struct recording *r, struct buf *ret)
{
    if (judge_finish(&r->judge, r->summary) == 0)
        report_verdicts(r->judge.verdicts, style_of(r), ret);
    else if (r->judge.gave_up && recording_named(r))
        report_no_verdicts(style_of(r), ret);
}

void end_text_summary(struct recording *r, struct buf *ret)
{
    struct report_style style = style_of(r);
    struct baro_value start;
    struct buf verdicts = {0};
    if (!r->summary)
        return;
    baro_summary_finish(r->summary);
    put_verdicts(r, &verdicts);
    style.timeline = judge_timeline(&r->judge);
    baro_summary_value(r->summary, baro_summary_fact_find("", "start"), 0, &start);
    style.zone = zone_east(start.i64);
    report_block(r->summary, recording_named(r) ? (const char *)r->path.at : NULL, style, ret);
    report_tasks_section(r->summary, r->cli->width_err, ret);
    buf_add(ret, verdicts.at, verdicts.len);
    buf_done(&verdicts);
}

static uint64_t fact_number(const struct recording *r, const char *section, const char *name)
{
    struct baro_value v;
    return baro_summary_value(r->summary, baro_summary_fact_find(section, name), 0, &v) == BARO_PRESENT ? v.u64 : 0;
}

/* Did the job end badly? That is so if a signal ended the command or something in it (a shell exits with 128 plus
 * the signal's number), if it failed and had other processes, or if a limit killed processes or refused forks. */
static bool ended_badly(const struct recording *r)
{
    int status = (int)fact_number(r, "exit", "wait_status");
    return WIFSIGNALED(status) || WEXITSTATUS(status) > 128 ||
           (WEXITSTATUS(status) && fact_number(r, "job", "processes_started") > 1) ||
           fact_number(r, "limits", "oom_kills") || fact_number(r, "limits", "forks_refused");
}

void end_text_reason(struct recording *r, struct buf *ret)
{
    if (!r->summary || r->judge.verdicts || r->judge.gave_up ||
        (!ended_badly(r) && fact_number(r, "", "wall_ns") < NS_PER_SEC))
        return;
    judge_tape(&r->judge, r->tape_fd);
    put_verdicts(r, ret);
}
