/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "programs/baro/recording.h"
#include "base/clock.h"
#include "base/fd.h"
#include "libbaro/sample/row.h"
#include "libbaro/tape/announce.h"
#include "libbaro/tape/runs.h"
#include "libbaro/tape/tail.h"
#include "libbaro/timeline/timeline.h"
#include "output/rows/wrap.h"
#include "output/text/read_fact.h"
#include "output/text/summary_text.h"
#include "output/text/tasks.h"
#include "programs/baro/programs.h"
#include "programs/common/zone.h"
#include "recorder/wrapper/messages.h"

/* ---- the end ---- */

/* What `run` and `record` print at the end of a recording: the summary, and verdicts. */

/* Did the job end badly? That is so if a signal ended the command or something in it (a shell exits with 128 plus
 * the signal's number), if it failed and had other processes, or if a limit was reached, killed processes or refused
 * forks. */
static bool ended_badly(const struct baro_summary *s)
{
    int status = (int)report_u64(s, "exit", "wait_status");
    return WIFSIGNALED(status) || WEXITSTATUS(status) > 128 ||
           (WEXITSTATUS(status) && report_u64(s, "job", "processes_started") > 1) ||
           report_u64(s, "limits", "oom_kills") || report_u64(s, "limits_reached", "value") ||
           report_u64(s, "limits", "forks_refused");
}

/* Rules do not judge the course of a job of less than a second. */
static bool is_judged(const struct recording *r, const struct baro_summary *s)
{
    return report_u64(s, "", "wall_ns") >= NS_PER_SEC || ended_badly(s) ||
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

/* Once the observer has every record, even if not all of them are on the tape. */
static void end_text_summary(struct recording *r, struct buf *ret)
{
    struct report_style style = {.width = r->cli->width_err,
                                 .whole_names = !r->cli->table_width_err,
                                 .utf8 = r->cli->utf8,
                                 .color = r->cli->color_err,
                                 .curves = r->cli->tty_err,
                                 .ended = true};
    if (!r->fold || baro_fold_finish(r->fold, BARO_FOLD_TIMELINE, NULL) < 0)
        return;
    const struct baro_summary *s = baro_fold_summary(r->fold);
    style.zone = zone_east(report_fact(s, "", "start").i64);
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
        report_tasks_section(s, (int)r->cli->table_width_err, r->cli->utf8, ret);
        if (verdicts)
            report_verdicts(verdicts, style, ret);
    }
    if (!verdicts && r->gave_up && is_named)
        report_no_verdicts(style, ret);
}

#define PRUNE_AFTER (50 * NS_PER_MS) /* short commands do not wait for this: it is done after them */

/* Prints a message of the recorder. The recorder has no terminal and no output of the job, so its messages go
 * through the wrapper. If memory ran out, that is reported instead. */
static void put_message(const struct recording *r, const struct buf *text, bool now)
{
    static const char none[] = "baro: out of memory\n";
    const char *at = text->failed ? none : (const char *)text->at;
    size_t len = text->failed ? sizeof(none) - 1 : text->len;
    if (r->link)
        link_say(r->link, at, len, now);
    else if (r->stderr_fd >= 0)
        fd_write_all(r->stderr_fd, at, len, NULL);
}

void recording_say(void *recording, const char *line)
{
    const struct recording *r = recording;
    struct buf b = {0};
    buf_printf(&b, "baro %s: %s\n", r->cli->command->name, line);
    if (r->cli->tty_err)
        wrap_lines(&b, 0, r->cli->width_err);
    put_message(r, &b, true);
    buf_done(&b);
}

static void on_header(void *context, const struct baro_header *h)
{
    struct recording *r = context;
    if (r->settings->quiet || r->settings->background)
        return;
    r->header = h;
    baro_fold_new(&r->fold, h, BARO_FOLD_VERDICTS, NULL);
    if (h->task_rules && task_file_parse(&r->rules, "the tasks", span_str(h->task_rules), NULL) == 0)
        task_fold_new(&r->tasks, h, &r->rules.rules, 0); /* else the summary has no tasks */
}

static void on_begun(void *context)
{
    struct recording *r = context;
    r->begun = true;
}

/* Gives the tape its name with the first sample. Until then the command may turn out not to exist: then an existing
 * file of that name stays. */
static void publish_tape(struct recording *r)
{
    struct baro_error line = BARO_ERROR_INIT;
    int code = r->begun ? tape_file_publish(&r->file, r->tape_fd) : 0;
    if (code == 0 && r->begun && r->announced) {
        announce(r->announced, (const char *)r->path.at);
        free(r->announced);
        r->announced = NULL;
    }
    if (code == 0)
        return;
    error_set(&line, code, "can't replace %.200s: %s; it is as it was, and the run is not kept",
              (const char *)r->path.at, strerror(-code));
    recording_say(r, line.text);
    tape_file_remove(&r->file);
    tape_file_done(&r->file);
}

static void remove_tape(struct recording *r)
{
    if (r->goes_on)
        segments_take_back(&r->segments); /* what was there before stays */
    else if (r->segments.dir_fd < 0)
        tape_file_remove(&r->file);
    else if (tape_file_named(&r->file))
        segments_remove(r->file.dir_fd, r->file.name, true);
}

/* Takes over the name of the tape's file, which may have changed. The folder is the same. */
static void take_name(struct recording *r)
{
    const char *path = (const char *)r->path.at, *slash = strrchr(path, '/');
    r->path.len = slash ? (size_t)(slash + 1 - path) : 0;
    buf_str(&r->path, r->file.name);
    buf_byte(&r->path, 0);
}

/* Checks whether the tape still has its name, and makes it again if it was removed. `baro rm` first clears the mode:
 * a tape with mode 0 was removed on purpose and is not made again. Neither is a folder of segments, of which most
 * may be gone. */
static void look_for_tape(struct recording *r)
{
    struct stat st;
    if (!r->begun || *r->file.temporary || r->moved || r->again_errno || r->file.dir_fd < 0 ||
        tape_file_named(&r->file) || fstat(r->segments.dir_fd < 0 ? r->tape_fd : r->segments.dir_fd, &st) < 0)
        return;
    if (st.st_nlink > 0) {
        r->moved = true;
        return;
    }
    r->removed = true;
    bool meant = !(st.st_mode & 0777) || r->segments.dir_fd >= 0;
    int code = meant ? -EOWNERDEAD : tape_file_again(&r->file, r->tape_fd);
    r->again_errno = -code;
    if (code == 0)
        take_name(r);
}

static void say_what_happened(struct recording *r)
{
    struct baro_error line = BARO_ERROR_INIT;
    const char *path = (const char *)r->path.at;
    if (r->moved)
        error_set(&line, -1, "the tape was moved while it was written; it is no longer %.200s", path);
    else if (r->removed && r->again_errno == EOWNERDEAD)
        error_set(&line, -1, "the tape was removed while it was written: %.200s", path);
    else if (r->removed && r->again_errno)
        error_set(&line, -1, "the tape was removed while it was written, and there is no other: %s",
                  strerror(r->again_errno));
    else if (r->removed)
        error_set(&line, -1, "the tape was removed while it was written; all of it is in another file now: %.180s",
                  path);
    if (line.text[0])
        recording_say(r, line.text);
}

static void prune(struct recording *r)
{
    if (r->kept && !r->pruned)
        runs_prune(r->file.dir_fd, NULL);
    r->pruned = true;
}

#define ITEMS_MOST 2000u /* items of the timeline; a phase takes about 2 kB */

static void summarize(struct recording *r, struct baro_record record)
{
    if (!r->fold)
        return;
    /* Marks are in no verdict, and a job may write a thousand a second. */
    if (record.kind == BARO_RECORD_EVENT && baro_event_kind_of(record.u.event) == BARO_EVENT_MARK)
        builder_add_to_summary(r->fold, &record);
    else
        baro_fold_add(r->fold, &record);
    if (r->fold->timeline && timeline_size(r->fold->timeline) > ITEMS_MOST) {
        builder_keep_summary(r->fold);
        r->gave_up = true;
    }
}

/* Sums up tasks, as readers do. */
static void summarize_sample(struct recording *r, const struct baro_sample *s)
{
    struct baro_sample with_tasks;
    struct baro_record record = {.kind = BARO_RECORD_SAMPLE, .t_ns = s->t_ns, .u.sample = s};
    if (r->fold && !r->tasks && task_fold_is_needed(s))
        task_fold_new(&r->tasks, r->header, NULL, r->sample_ns);
    r->sample_ns = s->t_ns;
    if (r->tasks) {
        with_tasks = *s;
        task_fold_sample(r->tasks, &with_tasks);
        record.u.sample = &with_tasks;
    }
    summarize(r, record);
    if (r->tasks)
        task_fold_restore(r->tasks, s->processes, s->n);
}

static void on_sample(void *context, const struct baro_sample *s)
{
    struct recording *r = context;
    summarize_sample(r, s);
    if (s->t_ns > PRUNE_AFTER)
        prune(r);
    publish_tape(r);
    if (r->first_sample)
        r->first_sample(r->first_sample_context);
    r->first_sample = NULL;
    if (s->t_ns < r->look_ns)
        return;
    r->look_ns = s->t_ns + NS_PER_SEC;
    look_for_tape(r);
}

static void on_exit_record(void *context, const struct baro_exit *e)
{
    struct recording *r = context;
    if (r->fold && !r->tasks && !e->absent[EXIT_task])
        task_fold_new(&r->tasks, r->header, NULL, r->sample_ns);
    if (r->tasks) {
        struct baro_exit copy = *e;
        task_fold_exit(r->tasks, &copy);
    }
    summarize(r, (struct baro_record){.kind = BARO_RECORD_EXIT, .t_ns = e->t_ns, .u.exit = row_of_exit(e)});
}

static void on_event(void *context, const struct baro_event *e)
{
    summarize(context, (struct baro_record){.kind = BARO_RECORD_EVENT, .t_ns = e->t_ns, .u.event = e});
}

bool recording_named(const struct recording *r)
{
    return r->path.len && tape_file_named(&r->file);
}

static void on_limits(void *context, const struct baro_limits *l, uint64_t t_ns)
{
    summarize(context, (struct baro_record){.kind = BARO_RECORD_LIMITS, .t_ns = t_ns, .u.limits = l});
}

static void put_text_of(struct recording *r, void make(struct recording *r, struct buf *ret))
{
    struct buf text = {0};
    make(r, &text);
    if (text.len)
        put_message(r, &text, false);
    buf_done(&text);
}

/* Does the wrapper still wait? It waits for a second; then the shell's prompt is back, and nothing may be printed. */
static bool wrapper_waits(int link_fd)
{
    struct pollfd p = {.fd = link_fd};
    return poll(&p, 1, 0) == 0 || !(p.revents & (POLLHUP | POLLERR | POLLNVAL));
}

static void report_to_user(struct recording *r)
{
    if (!r->link || wrapper_waits(r->link->fd))
        say_what_happened(r);
    if (!r->link || wrapper_waits(r->link->fd))
        put_text_of(r, end_text_summary);
}

/* A tape without a name yet may never get one. */
static void on_summed_up(void *context)
{
    struct recording *r = context;
    if (!r->begun || *r->file.temporary)
        return;
    look_for_tape(r);
    report_to_user(r);
    r->reported = true;
}

static void on_finished(void *context, bool recorded)
{
    struct recording *r = context;
    if (recorded && !r->begun)
        remove_tape(r); /* the disk was full from the beginning: the tape is empty */
    else if (recorded)
        publish_tape(r);
    if (!r->reported)
        look_for_tape(r);
    if (recorded && !r->reported)
        report_to_user(r);
    if (r->link)
        link_done(r->link);
}

/* If no new segment can be made, the last one grows, and a new one is tried each second. It is reported at the end
 * that the folder was removed. */
static int on_next_segment(void *context, uint64_t t_ns, uint64_t bytes)
{
    struct recording *r = context;
    struct baro_error line = BARO_ERROR_INIT;
    int fd = segments_roll(&r->segments, t_ns, bytes);
    if (fd >= 0 || fd == -EAGAIN)
        return fd;
    error_set(&line, fd, "no new segment can be made in %.200s: %s; the last one grows beyond --keep",
              (const char *)r->path.at, strerror(-fd));
    if (fd != -ENOENT && !r->segment_reported)
        recording_say(r, line.text);
    r->segment_reported = true;
    return -1;
}

static void on_no_segment(void *context)
{
    struct recording *r = context;
    segments_take_back(&r->segments);
}

static void on_full(void *context)
{
    struct recording *r = context;
    segments_make_room(&r->segments);
}

static unsigned on_given_up(void *context)
{
    struct recording *r = context;
    struct baro_error line = BARO_ERROR_INIT;
    unsigned n = segments_given_up(&r->segments);
    if (n && !r->room_reported) {
        error_set(&line, -ENOSPC, "the disk of %.200s is nearly full: the oldest segments are removed (--reserve)",
                  (const char *)r->path.at);
        recording_say(r, line.text);
        r->room_reported = true;
    }
    return n;
}

void recording_options(struct recording *r, struct record_options *ret)
{
    const struct record_settings *s = r->settings;
    /* A process that runs already may be of another folder. */
    bool is_here = strcmp(r->cli->command->name, "run") == 0;
    surroundings_find(&r->surroundings, &r->cli->settings->tags, s->note, is_here ? AT_FDCWD : -1);
    *ret = (struct record_options){
        .tape_fd = r->tape_fd,
        .name = s->name,
        .tags = r->surroundings.tags.at,
        .n_tags = (size_t)r->surroundings.tags.n,
        .before = r->cli->before,
        .pace = {.interval_ns = s->interval_ns, .overhead_ppm = s->overhead_ppm},
        .scope = {.wanted = s->wanted,
                  .cmdline = s->cmdline,
                  .children = s->children,
                  .host = s->host,
                  .directories = s->directories,
                  .n_directories = (size_t)s->n_directories,
                  .directories_every_ns = s->directories_every_ns,
                  .gpu = strcmp(s->gpu, "off") == 0 ? NULL : s->gpu,
                  .become = programs_become},
        .run.adopts = s->subreaper,
        .attach.for_ns = s->for_ns,
        .attach.before = r->goes_on ? &r->before : NULL,
        .segments = {.keep_ns = s->keep_ns,
                     .keep_bytes = s->keep_bytes,
                     .next = r->segments.dir_fd >= 0 ? on_next_segment : NULL,
                     .none = on_no_segment,
                     .full = on_full,
                     .given_up = on_given_up},
        .on = {.error = recording_say, .begun = on_begun, .summed_up = on_summed_up, .finished = on_finished},
        .no_events = getenv("BARO_NO_EVENTS") != NULL,
        .observer = {on_header, on_sample, on_exit_record, on_event, on_limits, r},
    };
}

/* Removing old runs keeps a short command waiting (0.2 to 0.3 ms with 480 kept runs), so after a short command it is
 * done only once in 64 times. A random number decides: a pid may be the same in each container, and the start time
 * of a run that is started regularly is not random. */
void recording_tidy(struct recording *r)
{
    uint8_t chance = 0;
    if (r->link && !r->pruned && getrandom(&chance, sizeof(chance), GRND_NONBLOCK) == sizeof(chance) && chance % 64)
        return;
    prune(r);
}

bool recording_settle(struct recording *r)
{
    struct baro_tape *tape = NULL;
    int fd = r->path.len && recording_named(r)
                 ? openat(r->file.dir_fd, r->file.name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
                 : -1;
    bool readable = fd >= 0 && tape_open_fd(&tape, fd, (const char *)r->path.at, 0, NULL) >= 0;
    baro_tape_close(tape);
    if (!readable)
        recording_discard(r);
    return readable;
}

int recording_read_fd(const struct recording *r)
{
    return r->segments.dir_fd >= 0 ? r->segments.dir_fd : r->tape_fd;
}

void recording_discard(struct recording *r)
{
    remove_tape(r);
}

void recording_done(struct recording *r)
{
    baro_fold_free(r->fold);
    task_fold_free(r->tasks);
    task_file_done(&r->rules);
    r->tasks = NULL;
    buf_done(&r->output);
    buf_done(&r->path);
    tape_file_done(&r->file);
    segments_writer_done(&r->segments);
    buf_done(&r->dir);
    free(r->announced);
    r->announced = NULL;
    r->fold = NULL;
}
