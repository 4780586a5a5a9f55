/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moments: the processes as they were at some instants of a tape, so that a page can show the tree at any time.
 *
 * A tape is cut into stretches of the same length; each keeps the sample with the most resident memory, so the peak is
 * among them. With too many rows, two neighbouring stretches become one.
 */
#ifndef OUTPUT_PAGE_MOMENTS_H
#define OUTPUT_PAGE_MOMENTS_H

#include "output/page/lives.h"

#define MOMENTS_MOST 512u        /* stretches */
#define MOMENT_ROWS_MOST 300u    /* processes of one moment; of the others there is a sum */
#define MOMENTS_ROWS_MOST 40000u /* rows of all moments */

struct moment_row {
    uint32_t life;       /* position in steps; after moments_take_lives() in lives */
    uint32_t millicores; /* CPU time since the sample before */
    uint64_t rss_bytes;
    bool has_rss;
};

struct sample_rows {
    uint64_t t_ns, rss_bytes; /* rss: of all processes */
    bool rss_is_bound;        /* the rss of some process is not known */
    uint32_t n, room;
    uint32_t more; /* number of processes without a row */
    uint64_t more_rss_bytes, more_millicores;
    struct moment_row *row; /* in the order of the tape: parents before children */
};

struct moments {
    const struct baro_header *header; /* borrowed, as the steps */
    const struct baro_steps *steps;
    int metric_cpu, metric_rss;
    struct sample_rows at[MOMENTS_MOST];
    uint32_t n; /* stretches: MOMENTS_MOST divided by powers of two */
    uint64_t stretch_ns, rows;
    struct moment_now *now; /* the last values of each process, by its position in steps */
    size_t now_n;
    uint64_t sample;         /* their number so far */
    uint64_t before_ns;      /* when the last of them was taken */
    struct moment_row *room; /* for one sample */
    size_t room_n;
    bool failed;
};

void moments_init(struct moments *m, const struct baro_header *header, const struct baro_steps *steps, uint64_t end_ns);
void moments_done(struct moments *m);
/* Takes the lives of finished steps, all that a moment has among them. Returns false if out of memory. */
bool moments_take_lives(struct moments *m, struct baro_steps *steps, struct lives *ret);
/* Call it after baro_steps_add() of the same record. */
void moments_add(struct moments *m, const struct baro_record *record);

#endif
