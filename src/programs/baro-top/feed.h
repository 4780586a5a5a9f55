/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the live view gets its data: from a tape that it follows and moves about in. All records are read once, in
 * order, into the summary, the timeline and the curves. A second cursor goes to the moments that the user asks for.
 */
#ifndef PROGRAMS_BARO_TOP_FEED_H
#define PROGRAMS_BARO_TOP_FEED_H

#include <limits.h>
#include <stdbool.h>

#include "baro/baro.h"
#include "programs/baro-top/curves.h"
#include "programs/baro-top/instant.h"
#include "programs/baro-top/memory.h"
#include "programs/baro-top/metrics.h"
#include "programs/common/settings.h"

/* Minimum distance between two samples that are shown, and (but feed.rates_over_ns) between a sample and the one that
 * its rates are computed from. */
#define FEED_STEP_NS 500000000ULL

/* Time of the sample behind the last point of the curves. */
struct feed_base {
    bool is_set;
    uint64_t t_ns, host_ns;
    uint64_t cpu_ns, read_bytes, write_bytes;
    uint64_t pressure_ns[3]; /* at host_ns: the machine is read less often than the job */
    float pressure[3];       /* the last growth of these counters */
    float rss, processes;    /* the peak since then, that sample included */
};

struct feed {
    char path[PATH_MAX];
    const struct settings *settings; /* for reader_open_path(); NULL: none */
    uint64_t rates_over_ns;          /* in feed_at(); feed_open() sets FEED_STEP_NS */
    struct metrics metric;
    struct baro_tape *tape, *other;
    bool is_judged;         /* the fold makes verdicts; set before feed_open() */
    struct baro_fold *fold; /* has these: */
    const struct baro_summary *summary;
    const struct baro_timeline *timeline;
    const struct baro_verdicts *verdicts; /* NULL: none are made, or not yet */
    struct curves curves;
    struct feed_base base;
    struct instant newest, next; /* next: only the exits since newest.now */
    enum baro_tape_state state;
    uint64_t first_ns, last_ns; /* first and last sample */
    uint64_t work_ns;           /* the last sample in which the job had processes */
    bool has_sample;
    bool is_read; /* everything on the tape has been read */
};

/* Opens the tape at f->path. Returns 0 or a negative code. */
int feed_open(struct feed *f, struct baro_error *err);
void feed_close(struct feed *f);
/* Reads new records, for at most this long (0: without a limit). Returns 1 if there may be more, 0 if all were read, or
 * a negative code. */
int feed_read(struct feed *f, uint64_t most_ns, struct baro_error *err);
/* Does the tape have a job? If not, only the machine was recorded. */
bool feed_has_job(const struct feed *f, const struct baro_sample *s);
/* Makes the instant of a time: of the last sample at or before it. Returns 1, 0 if there is no sample, or a negative
 * code. */
int feed_at(struct feed *f, uint64_t t_ns, struct instant *ret, struct baro_error *err);
/* Returns the time of the sample before or after another one; the same time if there is none. */
uint64_t feed_neighbour(struct feed *f, uint64_t t_ns, bool is_later);

#endif
