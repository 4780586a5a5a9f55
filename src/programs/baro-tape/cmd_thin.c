/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baro thin: of a tape in segments, those that are old are replaced by copies with about a tenth of the samples, and
 * with all exits, events and limits. Counters count from the beginning of the recording, so what was used between two
 * samples that are left is exact. Gauges in between are lost, so the samples that stay are those that show most: of
 * ten the one with most memory, of sixty the two with most CPU time between them, if that is a peak. Example: a job has
 * 1 GB, at second 7 of a minute 3 GB, and it uses 4 cores from second 31 to 32 and 0.1 otherwise: the samples of 7 s,
 * 31 s, 32 s and of one second of each of the other tens are left.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fmt.h"
#include "base/span.h"
#include "programs/baro-tape/copying.h"
#include "programs/common/settings.h"
#include "programs/common/tape_args.h"

#define DAY_NS (24 * 3600 * NS_PER_SEC)
#define EVERY 10u       /* samples of which one is left */
#define PEAK_EVERY 60u  /* samples of which the pair with most CPU time is left */
#define PEAK_LEAST 1.25 /* if these are so many times the cores of all sixty */

/* ---- which samples ---- */

struct point {
    uint64_t t_ns, memory, cpu_ns;
    bool stays;
};

struct thinning {
    struct point *at;
    size_t n, cap;
    size_t next; /* position of the sample that is copied next */
};

/* The memory and the CPU time of the job; of a recording without processes those of the machine. */
static struct point point_of(const struct baro_sample *s)
{
    struct point p = {.t_ns = baro_sample_t_ns(s)};
    const struct baro_row *job = baro_sample_row(s, BARO_KIND_JOB, 0), *host = baro_sample_row(s, BARO_KIND_HOST, 0);
    if (baro_sample_rows(s, BARO_KIND_PROCESS)) {
        baro_sample_sum(s, baro_metric_find(BARO_KIND_PROCESS, "rss"), &p.memory, NULL);
        if (job)
            baro_row_value(job, baro_metric_find(BARO_KIND_JOB, "cpu"), &p.cpu_ns);
    } else if (host) {
        baro_row_value(host, baro_metric_find(BARO_KIND_HOST, "memory_used"), &p.memory);
        baro_row_busy_ns(host, &p.cpu_ns);
    }
    return p;
}

static double cores_between(const struct point *a, const struct point *b)
{
    return b->t_ns > a->t_ns && b->cpu_ns > a->cpu_ns ? (double)(b->cpu_ns - a->cpu_ns) / (double)(b->t_ns - a->t_ns)
                                                      : 0;
}

static void choose_samples(struct thinning *t)
{
    for (size_t from = 0; from < t->n; from += EVERY) {
        size_t most = from;
        for (size_t i = from; i < t->n && i < from + EVERY; i++)
            most = t->at[i].memory >= t->at[most].memory ? i : most; /* of several the last */
        t->at[most].stays = true;
    }
    for (size_t from = 0; from < t->n; from += PEAK_EVERY) {
        struct point *first = &t->at[from ? from - 1 : 0], *last = first, *peak = NULL;
        double most = 0;
        for (; last + 1 < t->at + t->n && last < first + PEAK_EVERY; last++) {
            double cores = cores_between(last, last + 1);
            peak = cores > most ? last : peak;
            most = cores > most ? cores : most;
        }
        if (peak && most > cores_between(first, last) * PEAK_LEAST)
            peak[0].stays = peak[1].stays = true;
    }
    if (t->n)
        t->at[0].stays = t->at[t->n - 1].stays = true;
}

static int read_samples(struct baro_tape *tape, struct thinning *t, struct baro_error *err)
{
    struct baro_record r;
    int code = baro_tape_rewind(tape, err);
    while (code >= 0 && (code = baro_tape_next(tape, &r, err)) > 0) {
        if (r.kind != BARO_RECORD_SAMPLE)
            continue;
        if (array_reserve(&t->at, t->n + 1, &t->cap, sizeof(*t->at)) < 0)
            return error_set(err, -ENOMEM, "out of memory");
        t->at[t->n++] = point_of(r.u.sample);
    }
    return code;
}

static bool choose(void *context, const struct baro_record *r)
{
    struct thinning *t = context;
    if (r->kind != BARO_RECORD_SAMPLE)
        return true;
    return t->next >= t->n || t->at[t->next++].stays; /* what a recorder has written meanwhile stays */
}

/* ---- one segment ---- */

struct done {
    size_t segments;
    uint64_t before, after; /* their bytes */
};

static uint64_t bytes_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* Was the segment written before that time, and not thinned since? The time of its file is that of its last sample, and
 * its copy gets the same. */
static bool is_old(const char *path, int64_t before_realtime_ns)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_mtim.tv_sec < before_realtime_ns / (int64_t)NS_PER_SEC;
}

static bool is_due(const struct baro_tape *tape)
{
    return baro_header_segment(baro_tape_header(tape)) && !baro_header_thinned(baro_tape_header(tape));
}

/* The rules of tasks stay in the header, so the copy has no tasks of its own. */
static int thin_segment(const struct cli *cli, const char *path, int64_t before_ns, struct done *done)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_writer_options options = BARO_WRITER_OPTIONS_INIT;
    struct baro_tape *tape;
    struct thinning t = {0};
    if (!is_old(path, before_ns))
        return 0;
    if (baro_tape_open(&tape, path, &err) < 0) {
        if (err.code != -ENOENT) /* else the recorder has removed it */
            cli_note(cli, "%s; it is left as it is", err.text);
        return 0;
    }
    int status = 0;
    if (is_due(tape)) {
        options.force = true;
        options.thinned = EVERY;
        uint64_t before = bytes_of(path);
        status =
            baro_tape_set_tasks(tape, NULL, &err) < 0 || read_samples(tape, &t, &err) < 0 ? cli_fail(cli, &err) : 0;
        if (!status) {
            choose_samples(&t);
            status = copy_tape(cli, tape, path, &options, choose, &t);
        }
        if (!status) {
            done->segments++;
            done->before += before;
            done->after += bytes_of(path);
        }
    }
    free(t.at);
    baro_tape_close(tape);
    return status;
}

/* ---- all of them ---- */

struct names {
    uint32_t *number;
    size_t n, cap;
    bool failed;
};

static bool add_name(void *context, const char *name, size_t len)
{
    struct names *names = context;
    struct span s = span_of(name, len);
    uint64_t number;
    if (!scan_u64(&s, &number) || !span_equal(s, ".baro") || number > UINT32_MAX)
        return true;
    names->failed = array_reserve(&names->number, names->n + 1, &names->cap, sizeof(*names->number)) < 0;
    if (!names->failed)
        names->number[names->n++] = (uint32_t)number;
    return !names->failed;
}

static int compare(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* The newest segment stays as it is: its recorder writes it, or the recording ended in it. */
static int thin_all(const struct cli *cli, const char *folder, int fd, int64_t before_ns, struct done *done)
{
    struct names names = {0};
    int code = dir_each(fd, add_name, &names), status = 0;
    if (code < 0 || names.failed)
        status = cli_failf(cli, "can't read %s: %s", folder, strerror(names.failed ? ENOMEM : -code));
    if (names.n)
        qsort(names.number, names.n, sizeof(*names.number), compare);
    for (size_t i = 0; !status && i + 1 < names.n; i++) {
        char path[PATH_MAX + 16];
        snprintf(path, sizeof(path), "%s/%06u.baro", folder, names.number[i]);
        status = thin_segment(cli, path, before_ns, done);
    }
    free(names.number);
    return status;
}

int cmd_thin(struct cli *cli, const struct settings *s, char **argv)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct reader_path path;
    struct done done = {0};
    if (reader_find(argv[0], &path, &err) < 0)
        return cli_fail(cli, &err);
    int fd = open(path.at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return cli_failf(cli, "%s is no tape in segments (--keep), of which old ones could be thinned", path.at);
    /* Two of these would copy each segment twice. */
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        fd_close(fd);
        cli_note(cli, "%s is being thinned already", path.at);
        return 0;
    }
    int status = thin_all(cli, path.at, fd,
                          clock_realtime_ns() - (int64_t)(s->thin_after_ns ? s->thin_after_ns : DAY_NS), &done);
    fd_close(fd);
    struct buf line = {0};
    if (done.segments) {
        buf_printf(&line, "%zu segments thinned: ", done.segments);
        fmt_bytes(&line, done.before);
        buf_str(&line, " became ");
        fmt_bytes(&line, done.after);
    } else {
        buf_str(&line, "no segment is old enough that was not thinned before");
    }
    buf_byte(&line, 0);
    if (!status && !line.failed)
        cli_note(cli, "%s", (const char *)line.at);
    buf_done(&line);
    return status;
}
