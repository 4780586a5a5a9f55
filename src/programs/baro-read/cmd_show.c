/* SPDX-License-Identifier: Apache-2.0 */
/* baro show: the tree as it was at a moment. */
#include <string.h>
#include "baro/summary.h"
#include "base/clock.h"
#include "base/fmt.h"
#include "output/rows/csv_json.h"
#include "programs/baro-read/show.h"
#include "programs/baro-read/show_gpus.h"
#include "programs/baro-read/show_machine.h"
#include "programs/baro-read/show_phases.h"
#include "programs/baro-read/show_tasks.h"
#include "programs/common/moment.h"
#include "programs/common/zone.h"

#define RATE_OVER (100 * NS_PER_MS) /* at least, or the kernel's steps of 10 ms look like bursts */

static int process_metric(const char *name)
{
    return baro_metric_find(BARO_KIND_PROCESS, name);
}

static int job_metric(const char *name)
{
    return baro_metric_find(BARO_KIND_JOB, name);
}

static struct show_metrics find_metrics(void)
{
    return (struct show_metrics){.state = process_metric("state"),
                                 .cpu = process_metric("cpu"),
                                 .rss = process_metric("rss"),
                                 .pss = process_metric("pss"),
                                 .uss = process_metric("uss"),
                                 .threads = process_metric("threads"),
                                 .fds = process_metric("fds"),
                                 .tcp_sent = process_metric("tcp_sent"),
                                 .tcp_received = process_metric("tcp_received"),
                                 .job_cpu = job_metric("cpu"),
                                 .job_cpu_bound = job_metric("cpu_bound"),
                                 .job_processes = job_metric("processes"),
                                 .job_pss_stale = job_metric("pss_stale"),
                                 .job_tcp_sent = job_metric("tcp_sent"),
                                 .job_tcp_received = job_metric("tcp_received"),
                                 .job_tcp_is_bound = job_metric("tcp_is_lower_bound")};
}

/* ---- which sample ---- */

static int next_sample(struct show *w, struct baro_record *ret)
{
    int code;
    while ((code = baro_tape_next(w->tape, ret, &w->err)) > 0) {
        if (ret->kind == BARO_RECORD_SAMPLE)
            return 1;
    }
    return code;
}

bool show_has_processes(const struct show *w, const struct baro_sample *s)
{
    uint64_t n;
    return baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), w->metric.job_processes, &n) == BARO_PRESENT
               ? n > 0
               : baro_sample_rows(s, BARO_KIND_PROCESS) > 0;
}

/* Finds the time of the sample that stands for the moment. */
static int choose_sample(struct show *w, uint64_t moment_ns, uint64_t *ret_ns)
{
    struct baro_record record;
    int code = baro_tape_seek(w->tape, moment_ns + w->tolerance_ns, &record, &w->err);
    if (code <= 0)
        return code;
    *ret_ns = record.t_ns;
    if (record.t_ns >= moment_ns || w->settings->pick == PICK_BEFORE)
        return 1;
    code = next_sample(w, &record);
    if (code > 0 && (w->settings->pick == PICK_AFTER || record.t_ns - moment_ns < moment_ns - *ret_ns))
        *ret_ns = record.t_ns;
    return code < 0 ? code : 1;
}

/* Stores the rows of a kind, for the rates of later ones; only those that an older sample lacks, if it is not NULL. */
static void remember(struct show *w, const struct baro_record *record, int kind, const struct baro_sample *older)
{
    const struct baro_sample *s = record->u.sample;
    struct output_row row = {.kind = kind,
                             .header = baro_tape_header(w->tape),
                             .t_ns = record->t_ns,
                             .sample = s,
                             .memory = kind == BARO_KIND_TASK ? w->of_tasks : w->memory};
    if (kind == BARO_KIND_JOB) {
        row_begin(&row);
        return;
    }
    for (size_t i = 0; kind == BARO_KIND_TASK && i < baro_sample_rows(s, kind); i++) {
        row.entity = baro_sample_row(s, kind, i);
        row_begin(&row);
    }
    for (size_t i = 0; kind == BARO_KIND_PROCESS && i < baro_sample_rows(s, BARO_KIND_PROCESS); i++) {
        row.process = baro_sample_row(s, BARO_KIND_PROCESS, i);
        if (!older || !baro_sample_find_id(older, BARO_KIND_PROCESS, baro_row_id(row.process)))
            row_begin(&row);
    }
}

/* Stores the sample from which rates are computed, and, for processes that began after it, their last row before
 * t_ns: a process that began 50 ms ago has no row of 100 ms ago. */
static int remember_before(struct show *w, uint64_t t_ns, struct baro_record *record)
{
    struct baro_sample *older;
    int code = baro_sample_copy(record->u.sample, &older, &w->err);
    if (code < 0)
        return code;
    w->before_ns = record->t_ns;
    remember(w, record, BARO_KIND_JOB, NULL);
    remember(w, record, BARO_KIND_PROCESS, NULL);
    remember(w, record, BARO_KIND_TASK, NULL);
    while ((code = next_sample(w, record)) > 0 && record->t_ns < t_ns)
        remember(w, record, BARO_KIND_PROCESS, older);
    baro_sample_free(older);
    return code;
}

/* Moves to the sample at t_ns, passing the one that rates are computed from. */
static int go_to(struct show *w, uint64_t t_ns, struct baro_record *ret)
{
    int code;
    baro_previous_free(w->memory);
    baro_previous_free(w->of_tasks);
    baro_sample_free(w->gpus_before);
    w->gpus_before = NULL;
    w->memory = row_previous_new();
    w->of_tasks = row_previous_new();
    w->before_ns = UINT64_MAX;
    code = show_machine_before(w->tape, t_ns, w->memory, &w->err);
    if (code >= 0)
        code = show_gpus_before(w->tape, t_ns, &w->gpus_before, &w->err);
    if (code < 0)
        return code;
    if (t_ns > 0) {
        code = baro_tape_seek(w->tape, t_ns > RATE_OVER ? t_ns - RATE_OVER : 0, ret, &w->err);
        if (code <= 0)
            return code;
        if (ret->t_ns < t_ns && (code = remember_before(w, t_ns, ret)) < 0)
            return code;
    }
    return baro_tape_seek(w->tape, t_ns, ret, &w->err);
}

int64_t show_off_by(const struct show *w, const struct baro_record *record)
{
    int64_t off = (int64_t)(record->t_ns - (uint64_t)w->asked_ns);
    return off > 0 && (uint64_t)off <= w->tolerance_ns ? 0 : off;
}

/* ---- the command ---- */

static int print_sample(struct show *w, uint64_t t_ns)
{
    struct baro_record record;
    struct buf b = {0};
    int code = show_phases_read(&w->phases, w->path, &w->err);
    if (code >= 0)
        code = go_to(w, t_ns, &record);
    if (code <= 0)
        return code < 0 ? cli_fail(w->cli, &w->err) : cli_failf(w->cli, "%s has no sample", w->path);
    if (w->settings->task && !show_tasks_has(record.u.sample, w->settings->task))
        return show_tasks_missing(w->cli, record.u.sample, w->settings->task, w->path);
    if (w->settings->follow && w->cli->tty && !w->settings->json) {
        cli_resize(w->cli);
        buf_str(&b, "\033[H\033[2J");
    }
    code = w->settings->json ? show_json(w, &record, &b) : show_text(w, &record, &b);
    if (!code && w->settings->follow && !w->cli->tty && !w->settings->json)
        buf_byte(&b, '\n');
    if (!code && w->settings->follow && w->cli->tty && !w->settings->json && b.len)
        b.len--; /* the cursor ends on the terminal's last line */
    int status = code < 0            ? cli_fail(w->cli, &w->err)
                 : w->settings->json ? cli_out(w->cli, &b)
                                     : cli_out_text(w->cli, &b);
    buf_done(&b);
    return status;
}

/* Seeking always sees what was added since. */
static int follow_tape(struct show *w)
{
    struct baro_record record;
    uint64_t shown_ns = UINT64_MAX;
    int status = 0;
    for (;;) {
        int code = baro_tape_seek(w->tape, UINT64_MAX, &record, &w->err);
        if (code < 0)
            return cli_fail(w->cli, &w->err);
        if (code > 0 && record.t_ns != shown_ns) {
            shown_ns = record.t_ns;
            status = print_sample(w, shown_ns);
        }
        while (code > 0 && (code = baro_tape_next(w->tape, &record, &w->err)) > 0)
            ; /* to the end mark, if the tape has one */
        if (!status && reader_wait(w->tape))
            continue;
        if (!status && w->cli->tty && !w->settings->json && shown_ns != UINT64_MAX) {
            struct buf end = {0};
            buf_byte(&end, '\n');
            status = cli_out(w->cli, &end);
            buf_done(&end);
        }
        if (!status && baro_tape_state(w->tape) == BARO_TAPE_CUT_OFF)
            cli_note(w->cli, "no recorder writes %s any more; it has no end", w->path);
        return status;
    }
}

/* Lists the valid moments when the given one is not among them. */
static int outside(struct show *w, bool before, uint64_t end_ns)
{
    struct buf b = {0};
    int64_t start = baro_header_start_realtime_ns(baro_tape_header(w->tape));
    fmt_moment(&b, 0);
    buf_str(&b, " to ");
    fmt_moment(&b, end_ns);
    buf_str(&b, ", ");
    fmt_time_zone(&b, start, w->zone, true);
    buf_str(&b, " to ");
    fmt_time_zone(&b, (int64_t)((uint64_t)start + end_ns), w->zone, true);
    buf_byte(&b, 0);
    int status = b.failed ? cli_failf(w->cli, "out of memory")
                          : cli_failf(w->cli, "--at %.40s is %s; the tape has %s", w->settings->at,
                                      before ? "before the start" : "after the end", (const char *)b.at);
    buf_done(&b);
    return status;
}

/* Finds when the job held most memory, as in the summary. */
static int find_peak(struct show *w)
{
    struct baro_summary *summary;
    if (baro_summary_of_tape(w->tape, &summary, &w->err) < 0)
        return cli_fail(w->cli, &w->err);
    struct baro_value peak;
    int absent = baro_summary_value(summary, baro_summary_fact_find("job", "memory_peak_t_ns"), 0, &peak);
    w->asked_ns = (int64_t)peak.u64;
    baro_summary_free(summary);
    return absent == BARO_PRESENT ? 0 : cli_failf(w->cli, "--at peak: no sample of %s has memory", w->path);
}

/* Finds the moment that the user gave. A moment given less exactly may be a little outside: "12:30" of a run that began
 * at 12:30:20. */
static int find_moment(struct show *w, uint64_t first_ns, uint64_t last_ns)
{
    struct moment m;
    struct baro_tape_end end = {.size = sizeof(end)};
    if (baro_tape_read_end(w->tape, &end, &w->err) < 0)
        return cli_fail(w->cli, &w->err);
    uint64_t end_ns = end.end_ns > last_ns ? end.end_ns : last_ns;
    if (moment_on_tape(w->settings->at, w->tape, 0, end_ns, &m, &w->err) < 0)
        return cli_fail(w->cli, &w->err);
    if (m.kind == MOMENT_PEAK)
        return find_peak(w);
    w->asked_ns = m.kind == MOMENT_START ? (int64_t)first_ns : m.kind == MOMENT_END ? (int64_t)last_ns : m.ns;
    w->tolerance_ns = moment_tolerance(&m);
    if (w->asked_ns < 0 && (uint64_t)-w->asked_ns >= m.unit_ns)
        return outside(w, true, end_ns);
    if (w->asked_ns > 0 && (uint64_t)w->asked_ns > end_ns && (uint64_t)w->asked_ns - end_ns >= m.unit_ns)
        return outside(w, false, end_ns);
    return 0;
}

/*
 * When all processes have ended, the last samples have none, several of them on a busy machine; the user wants the last
 * sample before these. It is searched in the last second, then in the last four, and so on, because a tape is read
 * forwards. A recording of the machine alone has no processes in any sample.
 */
static int last_with_processes(struct show *w, const struct baro_sample *last, uint64_t *t_ns)
{
    struct baro_record record;
    uint64_t unused, end_ns = *t_ns, from_ns = end_ns, back_ns = NS_PER_SEC;
    bool found = baro_row_value(baro_sample_row(last, BARO_KIND_JOB, 0), w->metric.job_processes, &unused) ==
                 BARO_ABSENT_NOT_ASKED;
    int code = 1;
    for (; code >= 0 && !found && from_ns > 0; back_ns *= 4) {
        from_ns = end_ns > back_ns ? end_ns - back_ns : 0;
        code = baro_tape_seek(w->tape, from_ns, &record, &w->err);
        for (; code > 0 && record.t_ns < end_ns; code = next_sample(w, &record)) {
            if (!show_has_processes(w, record.u.sample))
                continue;
            found = true;
            *t_ns = record.t_ns;
        }
    }
    return code < 0 ? code : 1;
}

static int show(struct show *w)
{
    struct baro_record record;
    uint64_t first_ns = 0, t_ns = 0;
    w->zone = zone_east(baro_header_start_realtime_ns(baro_tape_header(w->tape)));
    if (w->settings->follow)
        return follow_tape(w);
    int code = baro_tape_seek(w->tape, 0, &record, &w->err);
    first_ns = code > 0 ? record.t_ns : 0;
    if (code > 0)
        code = baro_tape_seek(w->tape, UINT64_MAX, &record, &w->err);
    if (code > 0)
        t_ns = record.t_ns;
    if (code > 0 && !show_has_processes(w, record.u.sample) && (!w->asked || strcmp(w->settings->at, "end") == 0))
        code = last_with_processes(w, record.u.sample, &t_ns);
    if (code > 0 && w->asked) {
        int status = find_moment(w, first_ns, t_ns);
        if (status)
            return status;
        code = choose_sample(w, w->asked_ns < 0 ? 0 : (uint64_t)w->asked_ns, &t_ns);
    }
    if (code < 0)
        return cli_fail(w->cli, &w->err);
    return code ? print_sample(w, t_ns) : cli_failf(w->cli, "%s has no sample", w->path);
}

int cmd_show(struct cli *cli, const struct settings *s, char **argv)
{
    struct reader_path path;
    struct show w = {.cli = cli, .settings = s, .asked = s->at != NULL, .metric = find_metrics(), .path = path.at};
    struct moment checked;
    /* Rejects bad text before a tape is opened. */
    if (s->at && moment_parse(s->at, 0, 0, &checked, &w.err) < 0)
        return cli_fail(cli, &w.err);
    if (s->at && s->follow)
        return cli_failf(cli, "--at and --follow exclude each other");
    if (s->json && s->count)
        return cli_failf(cli, "--top and --json exclude each other: JSON has all processes");
    int status = reader_open(cli, argv[0], &w.tape, &path);
    if (status)
        return status;
    status = show(&w);
    baro_previous_free(w.memory);
    baro_previous_free(w.of_tasks);
    baro_sample_free(w.gpus_before);
    show_phases_done(&w.phases);
    baro_tape_close(w.tape);
    return status;
}
