/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/end_text.h"

#include <dirent.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "output/text/summary_text.h"
#include "output/text/tasks.h"
#include "programs/common/zone.h"

static uint64_t fact_number(const struct baro_summary *s, const char *section, const char *name)
{
    struct baro_value v;
    return baro_summary_value(s, baro_summary_fact_find(section, name), 0, &v) == BARO_PRESENT ? v.u64 : 0;
}

/* Did the job end badly? That is so if a signal ended the command or something in it (a shell exits with 128 plus
 * the signal's number), if it failed and had other processes, or if a limit was reached, killed processes or refused
 * forks. */
static bool ended_badly(const struct baro_summary *s)
{
    int status = (int)fact_number(s, "exit", "wait_status");
    return WIFSIGNALED(status) || WEXITSTATUS(status) > 128 ||
           (WEXITSTATUS(status) && fact_number(s, "job", "processes_started") > 1) ||
           fact_number(s, "limits", "oom_kills") || fact_number(s, "limits_reached", "value") ||
           fact_number(s, "limits", "forks_refused");
}

/* Rules do not judge the course of a job of less than a second. */
static bool is_judged(const struct recording *r, const struct baro_summary *s)
{
    return fact_number(s, "", "wall_ns") >= NS_PER_SEC || ended_badly(s) ||
           baro_timeline_lanes(baro_fold_timeline(r->fold)) > 0;
}

/* Writes how a reader names the tape: "@1" if it is the newest of the kept runs, else what was given with -o. */
static void put_name(const struct recording *r, struct buf *ret)
{
    unsigned newer = 1;
    DIR *dir = r->dir.len ? opendir((const char *)r->dir.at) : NULL;
    for (const struct dirent *d; dir && (d = readdir(dir)) != NULL;)
        newer +=
            *d->d_name >= '0' && *d->d_name <= '9' && strcmp(d->d_name, r->file.name) > 0; /* runs begin with a date */
    if (dir)
        buf_printf(ret, "@%u", newer);
    else
        buf_str(ret, (const char *)(r->output.len ? r->output.at : r->path.at));
    buf_byte(ret, 0);
    if (dir)
        closedir(dir);
}

void end_text_summary(struct recording *r, struct buf *ret)
{
    struct report_style style = {
        .width = r->cli->width_err, .utf8 = r->cli->utf8, .color = r->cli->color_err, .curves = r->cli->tty_err};
    struct baro_value start;
    if (!r->fold || baro_fold_finish(r->fold, BARO_FOLD_TIMELINE, NULL) < 0)
        return;
    const struct baro_summary *s = baro_fold_summary(r->fold);
    baro_summary_value(s, baro_summary_fact_find("", "start"), 0, &start);
    style.zone = zone_east(start.i64);
    style.timeline = baro_fold_timeline(r->fold);
    bool is_named = recording_named(r);
    const struct baro_verdicts *verdicts = NULL;
    if (style.timeline && is_judged(r, s) && baro_fold_finish(r->fold, BARO_FOLD_VERDICTS, NULL) >= 0)
        verdicts = baro_fold_verdicts(r->fold);
    if (!r->settings->verbose) {
        struct buf name = {0};
        put_name(r, &name);
        report_glance(s, verdicts, is_named && !name.failed ? (const char *)name.at : NULL, style, ret);
        buf_done(&name);
    } else {
        report_block(s, is_named ? (const char *)r->path.at : NULL, style, ret);
        report_tasks_section(s, r->cli->width_err, r->cli->utf8, ret);
        if (verdicts)
            report_verdicts(verdicts, style, ret);
    }
    if (!verdicts && r->gave_up && is_named)
        report_no_verdicts(style, ret);
}
