/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/follow.h"

#include <errno.h>

#include "base/clock.h"
#include "base/error.h"
#include "output/rows/row.h"
#include "programs/baro-serve/job_row.h"

#define HEAD_NS (200 * NS_PER_MS)  /* limit of CPU time for the header of a tape and its end */
#define READ_NS (2 * NS_PER_SEC)   /* limit of CPU time for a whole tape, or for the new records of a running job */
#define RATE_NS (NS_PER_SEC / 2)   /* shortest time over which rates are computed */
#define JUDGE_NS (10 * NS_PER_SEC) /* period of the rules while a job is running: they cost as much as 50 records */
#define STILL_NS NS_PER_SEC        /* time without growth after which it is checked whether the tape has a writer */
#define KEPT_NS (300 * NS_PER_SEC) /* how long the last samples of a job are kept after its end, for slow scrapers */

void found_done(struct found *f)
{
    buf_done(&f->row);
    buf_done(&f->title);
}

static enum job_state state_of(enum baro_tape_state state)
{
    return state == BARO_TAPE_RUNNING ? JOB_RUNNING : state == BARO_TAPE_ENDED ? JOB_ENDED : JOB_CUT_OFF;
}

static void make_failure(const struct job *job, const struct baro_error *err, struct found *f)
{
    f->no_memory = err->code == -ENOMEM;
    row_error(job, err->code == -ETIME ? "takes too long to read" : err->text, f);
}

/* ---- reading ---- */

static void let_go(struct job *job)
{
    baro_tape_close(job->tape);
    baro_summary_free(job->summary);
    baro_verdicts_free(job->verdicts);
    if (job->between != job->now)
        baro_sample_free(job->between);
    baro_sample_free(job->now);
    baro_sample_free(job->before);
    job->tape = NULL;
    job->summary = NULL;
    job->verdicts = NULL;
    job->now = job->before = job->between = NULL;
    job->now_ns = job->host_ns = 0;
}

void follow_head(struct job *job, struct found *ret)
{
    struct baro_error err = BARO_ERROR_INIT;
    *ret = (struct found){.state = JOB_NEW};
    pthread_mutex_lock(&job->lock);
    struct baro_tape *tape = job_open(job, HEAD_NS, &err);
    job->end = (struct baro_tape_end){.size = sizeof(job->end)};
    if (tape && baro_tape_read_end(tape, &job->end, &err) >= 0) {
        ret->state = state_of(baro_tape_state(tape));
        row_make(job, tape, ret);
    } else {
        make_failure(job, &err, ret);
    }
    baro_tape_close(tape);
    pthread_mutex_unlock(&job->lock);
}

static int keep_sample(struct job *job, const struct baro_sample *s, struct baro_error *err)
{
    struct baro_sample *copy;
    int code = baro_sample_copy(s, &copy, err);
    if (code < 0)
        return code;
    if (job->now != job->between)
        baro_sample_free(job->now);
    job->now = copy;
    if (job->between && baro_sample_t_ns(copy) - baro_sample_t_ns(job->between) < RATE_NS)
        return 0;
    baro_sample_free(job->before);
    job->before = job->between;
    job->between = copy;
    return 0;
}

/* Computes wall-clock times, for which the tape is read. That may hang, so no request about all jobs does it. */
static void note_times(struct job *job)
{
    const struct baro_header *h = baro_tape_header(job->tape);
    uint64_t t_ns;
    job->now_ns = row_realtime_ns(job->tape, h, baro_sample_t_ns(job->now));
    bool has_host = baro_sample_read_ns(job->now, BARO_KIND_HOST, &t_ns) == BARO_PRESENT;
    job->host_ns = has_host ? row_realtime_ns(job->tape, h, t_ns) : 0;
}

int follow_judge(struct job *job, struct baro_error *err)
{
    if (!job->is_unjudged)
        return 0;
    job->is_unjudged = false;
    job->judged_ns = clock_monotonic_ns();
    return baro_verdicts_finish(job->verdicts, job->summary, err);
}

/* Adds the new records. Returns how many there were, or a negative code. */
static int drain(struct job *job, bool samples, struct baro_error *err)
{
    struct baro_record r;
    int code, n = 0;
    baro_tape_limit_cpu(job->tape, READ_NS);
    while ((code = baro_tape_next(job->tape, &r, err)) > 0) {
        baro_summary_add(job->summary, &r);
        baro_verdicts_add(job->verdicts, &r);
        job->end.last_ns = r.kind == BARO_RECORD_SAMPLE ? r.t_ns : job->end.last_ns;
        if (samples && r.kind == BARO_RECORD_SAMPLE)
            code = keep_sample(job, r.u.sample, err);
        if (code < 0)
            break;
        n = n < 1 << 30 ? n + 1 : n;
    }
    if (code >= 0 && n && job->now)
        note_times(job);
    if (code >= 0 && n) {
        baro_summary_finish(job->summary);
        job->is_unjudged = true;
        if (clock_monotonic_ns() - job->judged_ns >= JUDGE_NS)
            code = follow_judge(job, err);
    }
    return code < 0 ? code : n;
}

static int begin_following(struct job *job, struct baro_error *err)
{
    let_go(job);
    job->judged_ns = 0;
    job->tape = job_open(job, READ_NS, err);
    if (!job->tape)
        return err->code ? err->code : -EIO;
    int code = baro_summary_new(&job->summary, baro_tape_header(job->tape), err);
    return code < 0 ? code : baro_verdicts_new(&job->verdicts, baro_tape_header(job->tape), err);
}

static void see_state(struct job *job, struct found *f)
{
    struct baro_tape_end end = {.size = sizeof(end)};
    struct baro_tape *tape = NULL;
    f->state = state_of(baro_tape_state(job->tape));
    if (f->state == JOB_RUNNING)
        return;
    tape = job_open(job, HEAD_NS, NULL);
    if (tape && baro_tape_read_end(tape, &end, NULL) >= 0)
        job->end = end;
    baro_tape_close(tape);
}

void follow_read(struct job *job, struct found *ret)
{
    struct baro_error err = BARO_ERROR_INIT;
    *ret = (struct found){.state = JOB_NEW};
    pthread_mutex_lock(&job->lock);
    int code = begin_following(job, &err);
    bool is_running = code >= 0 && baro_tape_state(job->tape) == BARO_TAPE_RUNNING;
    if (code >= 0)
        code = drain(job, is_running, &err);
    if (code >= 0 || code == -ETIME) {
        see_state(job, ret);
        ret->is_summed = code >= 0;
        row_make(job, job->tape, ret);
        ret->is_summed = true; /* the tape is not read again */
    } else {
        make_failure(job, &err, ret);
    }
    job->grown_ns = clock_monotonic_ns();
    if (ret->state != JOB_RUNNING)
        let_go(job);
    pthread_mutex_unlock(&job->lock);
}

bool follow_tick(struct job *job, struct found *ret)
{
    struct baro_error err = BARO_ERROR_INIT;
    uint64_t now_ns = clock_monotonic_ns();
    *ret = (struct found){.state = JOB_RUNNING, .is_summed = true};
    pthread_mutex_lock(&job->lock);
    bool is_open = job->tape != NULL;
    int n = is_open ? drain(job, true, &err) : 0;
    bool is_still = is_open && n == 0 && now_ns - job->grown_ns > STILL_NS;
    if (is_open && (baro_tape_complete(job->tape) || (is_still && baro_tape_state(job->tape) != BARO_TAPE_RUNNING))) {
        n = n < 0 ? n : drain(job, true, &err); /* records that were written before the state was checked */
        n = n < 0 ? n : follow_judge(job, &err);
        if (n >= 0) {
            see_state(job, ret);
            job->ended_ns = now_ns;
            row_make(job, job->tape, ret);
            n = 1;
        }
    } else if (n > 0) {
        row_make(job, job->tape, ret);
        job->grown_ns = now_ns;
    }
    if (n < 0) {
        make_failure(job, &err, ret);
        let_go(job);
    }
    pthread_mutex_unlock(&job->lock);
    return n != 0;
}

bool follow_forget(struct job *job, uint64_t now_ns, bool at_once)
{
    pthread_mutex_lock(&job->lock);
    bool forgets = job->tape && (at_once || (job->ended_ns && now_ns - job->ended_ns > KEPT_NS));
    if (forgets)
        let_go(job);
    pthread_mutex_unlock(&job->lock);
    return forgets;
}
