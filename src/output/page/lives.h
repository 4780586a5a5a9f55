/* SPDX-License-Identifier: Apache-2.0 */
/* The lives of the processes of a tape: when each began, its parent, what it used, how it ended; from baro/steps.h. */
#ifndef OUTPUT_PAGE_LIVES_H
#define OUTPUT_PAGE_LIVES_H

#include "baro/baro.h"
#include "base/names.h"

/* If there are more processes, only those are kept that the page may show: the heaviest, and those that have not ended.
 * The others are only counted. */
#define LIVES_THIN 100000u
#define LIVES_BY_CPU 20000u
#define LIVES_BY_OTHER 5000u /* by memory, and by how long they lived */
#define LIVES_FAILED 100u
#define LIVES_CMDLINE 401u /* bytes; a page shows fewer */
#define LIFE_NONE UINT32_MAX

enum life_has {
    LIFE_ENDED = 1,
    LIFE_STATUS = 2,
    LIFE_CPU = 4,
    LIFE_RSS = 8,
    LIFE_READ = 16,
    LIFE_WRITE = 32,
    LIFE_CMDLINE = 64,
    LIFE_RSS_IS_BOUND = 128, /* its peak of rss was read while it was alive, and it may have held more */
    LIFE_IO_IS_BOUND = 256   /* its I/O was read while it was alive, and it may have read or written more */
};

struct life {
    uint32_t name, cmdline; /* positions in lives.names */
    uint32_t label;         /* a label that tells it from others of its name; NAMES_NONE: none */
    int32_t pid, status;
    uint32_t parent; /* position of its parent; LIFE_NONE */
    uint32_t depth;
    unsigned has;              /* enum life_has */
    uint64_t begin_ns, end_ns; /* since the tape began. If it has not ended, end_ns is the last sample */
    uint64_t cpu_ns, rss_peak_bytes;
    uint64_t read_bytes, write_bytes; /* its own, without that of children that it waited for */
};

struct lives {
    struct life *at;
    uint32_t n;
    uint64_t left_out, left_out_failed, left_out_cpu_ns; /* processes that were left out; how many of them ended with a
                                                          * status other than 0 */
    uint64_t end_ns;                                     /* time of the last record; the caller sets it */
    struct names names;
    uint32_t *order; /* all positions, each process after its parent, siblings by begin */
};

void lives_done(struct lives *l);
/* Takes the processes of finished steps. keep: those that have to be kept, by their position there; it is changed.
 * Returns an array, to be freed, with the new position of each of them (LIFE_NONE: left out); NULL if out of memory. */
uint32_t *lives_take(struct lives *l, struct baro_steps *steps, bool *keep);
bool life_has_failed(const struct life *life);
/* labels.c: gives each process its label. Returns 0 or -ENOMEM. */
int lives_label(struct lives *l);

#endif
