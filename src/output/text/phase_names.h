/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of a timeline, those of one path (baro_timeline_path()) as one. Example: "epoch" from 1 to 3 s
 * and from 4 to 5 s with 2 and 1 s of CPU time is one that begins at 1 s, took 3 s and used 3 s. If they overlap, the
 * CPU time of the job in that time would be counted twice: it is not known.
 */
#ifndef OUTPUT_TEXT_PHASE_NAMES_H
#define OUTPUT_TEXT_PHASE_NAMES_H

#include "baro/timeline.h"

#define PHASE_NAMES_MOST 64u /* phases of further names are counted */

struct named_phases {
    const struct baro_timeline_item *first;
    char *path; /* "test/flaky" */
    size_t n;
    uint64_t took_ns, end_ns, cpu_ns, rss_bytes;
    unsigned cpu_flags, rss_flags;
    bool is_open, has_cpu, has_rss;
    bool is_least; /* they took longer than it is known: they have not ended, or began before what the tape has */
    int status;    /* of wait4(2): of the last one whose command failed; 0: none did */
};

struct phase_names {
    struct named_phases at[PHASE_NAMES_MOST];
    size_t n, left_out; /* left_out: phases in no row */
};

/* Fills an empty list, to be freed with phase_names_done(). */
void phase_names_collect(struct phase_names *names, const struct baro_timeline *t);
/* Keeps the longest ones, and before these those that failed, in their order. */
void phase_names_keep(struct phase_names *names, size_t most);
void phase_names_done(struct phase_names *names);
/* The status of its command, as of wait4(2); 0: it did not fail, or had none. */
int phase_status(const struct baro_timeline *t, size_t i);
/* Is an item of the timeline one of these phases? */
bool phase_is_named(const struct baro_timeline *t, size_t i, const struct named_phases *d);

#endif
