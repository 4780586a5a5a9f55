/* SPDX-License-Identifier: Apache-2.0 */
/* Writes samples, exits and events to the tape, and passes them to the observer. */
#include "libbaro/interval/derive.h"
#include "recorder/loop/recorder.h"

#include <string.h>

#include "base/clock.h"

#define PENDING_MOST 512u /* exits and events that are collected between two ticks before they are written */
#define HANGS_NS (30 * NS_PER_MS)

/* A file server, or the process behind a FUSE mount, may never answer, so the wrapper gets a deadline: 30 ms, or four
 * times the longest write so far. Example: if writes took up to 40 ms, one counts as hanging after 160 ms. A local disk
 * answers eventually, so the wrapper waits for it as long as it waits for the recorder. */
void recorder_writes(struct recorder *r, bool begins)
{
    uint64_t now = clock_monotonic_ns(), took = now - r->writes.began_ns, patience = HANGS_NS;

    if (begins)
        r->writes.began_ns = now;
    else if (took > r->writes.longest_ns)
        r->writes.longest_ns = took;
    if (4 * r->writes.longest_ns > patience)
        patience = 4 * r->writes.longest_ns;
    if (r->writes.hangs_at)
        *r->writes.hangs_at = begins && !r->writes.is_local ? now + patience : 0;
}

static void begun(struct recorder *r)
{
    recorder_writes(r, true);
    if (!r->writes.begun && r->options->on.begun)
        r->options->on.begun(r->options->observer.context);
    recorder_writes(r, false);
    r->writes.begun = true;
}

void writes_observe(struct recorder *r, const struct baro_sample *s)
{
    recorder_writes(r, true); /* the observer checks whether the tape is still there */
    if (r->options->observer.sample)
        r->options->observer.sample(r->options->observer.context, s);
    recorder_writes(r, false);
}

/* The header of each later segment has the peak so far: `--keep` removes the samples that show it. */
static void note_peak(struct recorder *r, const struct baro_sample *s)
{
    struct derive_sum rss = derive_sum(s, PROCESS_rss);
    if (rss.absent == BARO_PRESENT && rss.value > r->header.peak.rss)
        r->header.peak = (struct header_peak){rss.value, s->t_ns, rss.members};
}

void writes_commit(struct recorder *r, const struct baro_sample *s)
{
    struct baro_error err = BARO_ERROR_INIT;
    r->writes.pending = 0;
    recorder_writes(r, true);
    int code = tape_writer_commit(r->writer, s, &err);
    recorder_writes(r, false);
    if (s)
        tasks_written(r, s);
    if (s && r->options->segments.next)
        note_peak(r, s);
    if (code == 0) {
        begun(r);
        return;
    }
    if (!r->writes.error_reported++ && r->options->on.error)
        r->options->on.error(r->options->observer.context, err.text);
}

static bool says_memory_counts_twice(const struct baro_event *e)
{
    return e->kind == BARO_EVENT_WARNING && strcmp(e->text, MEMORY_COUNTS_TWICE) == 0;
}

/* For a tape in segments. All samples are on the tape by now, so a reader that finds the new segment has all of this
 * one (libbaro/tape/segment_read.c). */
void writes_next_segment(struct recorder *r, uint64_t t_ns)
{
    struct baro_error err = BARO_ERROR_INIT;
    if (!r->options->segments.next)
        return;
    recorder_writes(r, true);
    if (tape_writer_full(r->writer))
        r->options->segments.full(r->options->observer.context);
    if (tape_writer_failing(r->writer)) {
        recorder_writes(r, false);
        return;
    }
    int fd = r->options->segments.next(r->options->observer.context, t_ns, tape_writer_bytes(r->writer));
    if (fd >= 0) {
        r->header.segment++;
        if (tape_writer_next(r->writer, fd, &r->header, &err) < 0) {
            r->header.segment--;
            r->options->segments.none(r->options->observer.context);
        } else if (r->writes.memory_counts_twice) {
            const struct baro_event e = {.t_ns = t_ns, .kind = BARO_EVENT_WARNING, .text = MEMORY_COUNTS_TWICE};
            tape_writer_event(r->writer, &e);
        }
    }
    unsigned given_up = r->options->segments.given_up(r->options->observer.context);
    recorder_writes(r, false);
    if (given_up)
        recorder_event(r, BARO_EVENT_WARNING, NULL, given_up,
                       "the disk is nearly full: the oldest segments were removed");
    if (err.text[0] && !r->writes.error_reported++ && r->options->on.error)
        r->options->on.error(r->options->observer.context, err.text);
}

static void on_exit_record(void *context, const struct baro_exit *e)
{
    struct recorder *r = context;
    oom_note_exit(r, e);
    if (r->job.whole)
        machine_groups_note_exit(&r->sampler.machine.groups, e);
    if (brief_takes(&r->sampler.machine.brief, e))
        return;
    if (!tasks_hold_exit(r, e))
        tape_writer_exit(r->writer, e);
    enforce_exit(r, e);
    targets_note_exit(r, e);
    if (r->options->observer.exit)
        r->options->observer.exit(r->options->observer.context, e);
    if (++r->writes.pending >= PENDING_MOST)
        writes_commit(r, NULL);
}

static void on_event_record(void *context, const struct baro_event *e)
{
    struct recorder *r = context;
    tape_writer_event(r->writer, e);
    r->writes.memory_counts_twice |= says_memory_counts_twice(e);
    if (r->options->observer.event)
        r->options->observer.event(r->options->observer.context, e);
    if (++r->writes.pending >= PENDING_MOST)
        writes_commit(r, NULL);
}

struct job_sink writes_sink(struct recorder *r)
{
    return (struct job_sink){on_exit_record, on_event_record, r};
}

void recorder_event(struct recorder *r, enum baro_event_kind kind, const struct member *m, uint64_t number,
                    const char *text)
{
    job_event(&r->job, sampler_now(&r->sampler), kind, m, number, text);
}

int writes_begin(struct recorder *r, struct baro_error *err)
{
    struct baro_error write_err = BARO_ERROR_INIT;
    recorder_writes(r, true);
    int code = tape_writer_new(&r->writer, r->options->tape_fd, &r->header, NULL, err);
    r->writes.is_local = code == 0 && !tape_writer_network(r->writer);
    if (code == 0 && !r->all->only)
        tape_writer_small(r->writer);
    if (code == 0)
        code = tape_writer_start(r->writer, &write_err);
    recorder_writes(r, false);
    if (!r->writer)
        return code;
    if (code == 0)
        begun(r);
    else if (!r->writes.error_reported++ && r->options->on.error)
        r->options->on.error(r->options->observer.context, write_err.text);
    if (r->options->observer.header)
        r->options->observer.header(r->options->observer.context, &r->header);
    return 0;
}
