/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recording.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/zone.h"
#include "report/report.h"
#include "run/link.h"
#include "tape/runs.h"
#include "tape/writer.h"

#define PRUNE_AFTER (50 * NS_PER_MS) /* never in the way of a short command: after it then */

void recording_say(void *recording, const char *line)
{
    const struct recording *r = recording;
    struct buf b = {0};
    buf_printf(&b, "baro %s: %s\n", r->cli->command->name, line);
    if (!b.failed && r->stderr_fd >= 0)
        fd_write_all(r->stderr_fd, b.at, b.len, NULL);
    buf_done(&b);
}

static int absolute(const char *path, struct buf *ret, struct baro_error *err)
{
    char cwd[PATH_MAX];
    if (*path != '/') {
        if (!getcwd(cwd, sizeof(cwd)))
            return error_set(err, -errno, "can't tell the working directory: %s", error_text(errno));
        buf_str(ret, cwd);
        buf_byte(ret, '/');
    }
    buf_str(ret, path);
    buf_byte(ret, 0);
    return ret->failed ? error_set(err, -ENOMEM, "out of memory") : 0;
}

/* Where nothing can be kept the job is recorded all the same: the summary at the end needs no file. */
static int without_file(struct recording *r, const struct baro_error *why, struct baro_error *err)
{
    buf_clear(&r->path);
    r->tape_fd = memfd_create("tape", MFD_CLOEXEC);
    if (r->tape_fd < 0)
        return error_set(err, -errno, "%s", why->text);
    struct buf line = {0};
    buf_printf(&line, "%s; the run is recorded but not kept", why->text);
    buf_byte(&line, 0);
    if (!line.failed)
        recording_say(r, (const char *)line.at);
    buf_done(&line);
    return 0;
}

static int open_kept(struct recording *r, const char *command, struct baro_error *err)
{
    struct baro_error note = BARO_ERROR_INIT, why = BARO_ERROR_INIT;
    int code = runs_dir(&r->dir, &note, &why);
    if (code == 0 && note.text[0])
        recording_say(r, note.text);
    if (runs_check_limits(&note) < 0)
        recording_say(r, note.text); /* and nothing is removed */
    if (code == 0)
        code = runs_new_path((const char *)r->dir.at, command, &r->path, &why);
    if (code == 0)
        r->tape_fd = code = tape_create((const char *)r->path.at, &why);
    if (code < 0)
        return without_file(r, &why, err);
    r->kept = true;
    return 0;
}

/* Somebody may have begun another of that name meanwhile: then it is not written over. */
static void bring_back(struct recording *r)
{
    const char *aside = (const char *)r->aside.at, *path = (const char *)r->path.at;
    struct buf line = {0};
    if (!r->aside.len)
        return;
    if (link(aside, path) == 0) {
        unlink(aside);
    } else if (errno == EEXIST || rename(aside, path) < 0) {
        buf_printf(&line, "what was %s is now %s", path, aside);
        buf_byte(&line, 0);
        if (!line.failed)
            recording_say(r, (const char *)line.at);
    }
    buf_done(&line);
    buf_clear(&r->aside);
}

void recording_settle(struct recording *r)
{
    if (!r->aside.len)
        return;
    if (!recording_written(r)) {
        recording_discard(r);
        return;
    }
    unlink((const char *)r->aside.at);
    buf_clear(&r->aside);
}

int recording_open(struct recording *r, const struct cli *cli, const struct record_settings *s, const char *command,
                   struct baro_error *err)
{
    *r = (struct recording){.cli = cli, .settings = s, .tape_fd = -1, .link_fd = -1, .stderr_fd = STDERR_FILENO};
    if (!s->output)
        return open_kept(r, command, err);
    int code = absolute(s->output, &r->path, err);
    if (code < 0)
        return code;
    code = s->force ? tape_put_aside((const char *)r->path.at, &r->aside, err) : 0;
    if (code < 0)
        return code;
    r->tape_fd = tape_create((const char *)r->path.at, err);
    if (r->tape_fd < 0)
        bring_back(r);
    return r->tape_fd < 0 ? r->tape_fd : 0;
}

/* ---- what is seen as it is written ---- */

static void on_header(void *context, const struct baro_header *h)
{
    struct recording *r = context;
    if (!r->settings->quiet)
        r->summary = summary_new(h);
}

static void prune(struct recording *r)
{
    if (r->kept && !r->pruned)
        runs_prune((const char *)r->dir.at, NULL);
    r->pruned = true;
}

static void on_sample(void *context, const struct baro_sample *s)
{
    struct recording *r = context;
    if (r->summary)
        summary_add_sample(r->summary, s);
    if (s->t_ns > PRUNE_AFTER)
        prune(r);
    if (r->aside.len && recording_written(r))
        recording_settle(r);
}

static void on_exit_record(void *context, const struct baro_exit *e)
{
    struct recording *r = context;
    if (r->summary)
        summary_add_exit(r->summary, e);
}

static void on_event(void *context, const struct baro_event *e)
{
    struct recording *r = context;
    if (r->summary)
        summary_add_event(r->summary, e);
}

bool recording_written(const struct recording *r)
{
    struct stat st;
    return r->path.len && stat((const char *)r->path.at, &st) == 0 && st.st_size > 0;
}

static void on_limits(void *context, const struct baro_limits *l, uint64_t t_ns)
{
    struct recording *r = context;
    if (r->summary)
        summary_add_limits(r->summary, l, t_ns);
}

static void print(struct recording *r)
{
    struct buf text = {0};
    if (r->summary) {
        summary_finish(r->summary);
        struct report_style style = report_style_of(r->cli);
        style.zone = zone_east(r->summary->start_realtime_ns);
        report_block(r->summary, recording_written(r) ? (const char *)r->path.at : NULL, style, &text);
        if (!text.failed && r->stderr_fd >= 0)
            fd_write_all(r->stderr_fd, text.at, text.len, NULL);
        summary_free(r->summary);
        r->summary = NULL;
    }
    buf_done(&text);
}

/* The wrapper waits for a second; once it is gone, the prompt is back and nothing more is to be printed. */
static bool wrapper_waits(int link_fd)
{
    struct pollfd p = {.fd = link_fd};
    return poll(&p, 1, 0) == 0 || !(p.revents & (POLLHUP | POLLERR | POLLNVAL));
}

static void on_finished(void *context, bool recorded)
{
    struct recording *r = context;
    bool to_wrapper = r->link_fd >= 0;
    if (recorded)
        recording_settle(r);
    if (recorded && (!to_wrapper || wrapper_waits(r->link_fd)))
        print(r);
    if (!to_wrapper)
        return;
    r->stderr_fd = fd_close(r->stderr_fd);
    link_done(r->link_fd);
}

void recording_options(struct recording *r, struct record_options *ret)
{
    const struct record_settings *s = r->settings;
    *ret = (struct record_options){
        .tape_fd = r->tape_fd, .wanted = s->wanted, .interval_ns = s->interval_ns, .overhead_ppm = s->overhead_ppm,
        .cmdline = s->cmdline, .children = s->children, .host = s->host, .for_ns = s->for_ns, .adopts = s->subreaper, .complain = recording_say, .finished = on_finished,
        .no_events = getenv("BARO_NO_EVENTS") != NULL,
        .observer = {on_header, on_sample, on_exit_record, on_event, on_limits, r},
    };
}

void recording_tidy(struct recording *r)
{
    prune(r);
    recording_settle(r);
}

void recording_discard(struct recording *r)
{
    if (r->path.len)
        unlink((const char *)r->path.at);
    bring_back(r);
}

void recording_done(struct recording *r)
{
    summary_free(r->summary);
    buf_done(&r->path);
    buf_done(&r->aside);
    buf_done(&r->dir);
    r->summary = NULL;
}
