/* SPDX-License-Identifier: Apache-2.0 */
/* The tape of a job: a folder of segments, named by the time when it began, the job's name and its id. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/escape.h"
#include "libbaro/tape/create.h"
#include "recorder/observe/state.h"

#define NAME_MOST 100u /* how many bytes of the job's name, from its end, are in the name of the folder */

/* Makes a file name of the job's name: "/system.slice/cron.service" becomes "system.slice-cron.service". */
static void make_file_name(const char *name, char ret[static NAME_MOST + 1])
{
    size_t len = strlen(name), n = 0;
    name += len > NAME_MOST ? len - NAME_MOST : 0;
    for (; *name; name++) {
        bool plain = isalnum((unsigned char)*name) || (*name && strchr("._+@", *name));
        if (plain || n)
            ret[n++] = plain ? *name : '-';
    }
    ret[n] = 0;
}

/* Makes the ending that the names of all tapes of this job have. */
static void ending_of(const char *name, uint64_t id, char ret[static NAME_MOST + 32])
{
    char plain[NAME_MOST + 1];
    make_file_name(name, plain);
    snprintf(ret, NAME_MOST + 32, "Z-%s-%llu.baro", plain, (unsigned long long)id);
}

static char *folder_name(const char *ending)
{
    char when[32], *name = NULL;
    int64_t now = clock_realtime_ns();
    time_t s = (time_t)(now / (int64_t)NS_PER_SEC);
    struct tm tm;
    gmtime_r(&s, &tm);
    strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &tm);
    if (asprintf(&name, "%s.%06u%s", when, (unsigned)(now % (int64_t)NS_PER_SEC / 1000), ending) < 0)
        return NULL;
    return name;
}

static void report_for_job(struct job_entry *e, const char *line)
{
    const struct jobs_options *o = e->jobs->options;
    struct buf b = {0};
    /* The name of a task file or a group may have control characters for a terminal. */
    buf_escaped(&b, e->name, strlen(e->name));
    buf_printf(&b, ": %s", line);
    buf_byte(&b, 0);
    if (!b.failed)
        o->say(o->context, (const char *)b.at);
    buf_done(&b);
}

static void on_error(void *context, const char *line)
{
    report_for_job(context, line);
}

static void on_begun(void *context)
{
    struct job_entry *e = context;
    e->begun = true;
}

static int on_next_segment(void *context, uint64_t t_ns, uint64_t bytes)
{
    struct job_entry *e = context;
    struct baro_error line = BARO_ERROR_INIT;
    int fd = segments_roll(&e->segments, t_ns, bytes);
    if (fd >= 0 || fd == -EAGAIN)
        return fd;
    error_set(&line, fd, "no new segment can be made in %.200s: %s; the last one grows beyond --keep", e->folder,
              strerror(-fd));
    if (!e->segment_reported)
        report_for_job(e, line.text);
    e->segment_reported = true;
    return -1;
}

static void on_no_segment(void *context)
{
    struct job_entry *e = context;
    segments_take_back(&e->segments);
}

static void on_full(void *context)
{
    struct job_entry *e = context;
    segments_make_room(&e->segments);
}

static unsigned on_given_up(void *context)
{
    struct job_entry *e = context;
    unsigned n = segments_given_up(&e->segments);
    if (n && !e->jobs->room_reported)
        e->jobs->options->say(e->jobs->options->context,
                              "the disk is nearly full: the oldest segments are removed (--reserve)");
    e->jobs->room_reported |= n > 0;
    return n;
}

int job_tape_open(struct job_entry *e, struct baro_error *err)
{
    const struct jobs_options *o = e->jobs->options;
    char ending[NAME_MOST + 32];
    ending_of(e->name, e->id, ending);
    int fd = e->options.attach.host_alone ? -ENOENT : left_continue(&e->jobs->left, e, ending);
    e->begun = fd >= 0;
    if (fd < 0) {
        e->folder = folder_name(ending);
        fd = e->folder ? segments_create(&e->segments, o->dir_fd, e->folder, e->folder, false, o->keep, err)
                       : error_set(err, -ENOMEM, "out of memory");
    }
    if (fd < 0)
        return fd == -ENOENT ? -ESTALE : fd; /* the folder of the tapes was removed. -ENOENT would mean that the control
                                                group was removed */
    e->options.tape_fd = fd;
    e->options.segments.next = on_next_segment;
    e->options.segments.none = on_no_segment;
    e->options.segments.full = on_full;
    e->options.segments.given_up = on_given_up;
    e->options.on.error = on_error;
    e->options.on.begun = on_begun;
    return 0;
}

bool job_tape_is_left(const struct jobs *j, const struct job_request *q)
{
    char ending[NAME_MOST + 32];
    ending_of(q->name, q->id, ending);
    return left_has(&j->left, j->options->dir_fd, ending);
}

void job_tape_discard(struct job_entry *e)
{
    if (e->segments.dir_fd >= 0)
        segments_remove(e->jobs->options->dir_fd, e->folder, true);
}

void job_tape_close(struct job_entry *e)
{
    segments_writer_done(&e->segments);
    free(e->folder);
    e->folder = NULL;
}
