/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job used during a window of time, such as a phase: the growth of counters between its edges, and the peaks of
 * gauges. A phase is reported at the next tick or later, so it often begins before samples that were read already: the
 * last WINDOW_ROWS samples are kept for it.
 *
 * CPU time between two samples belongs to the moments at which processes that ended used it, as far as their exits say
 * so; the rest is spread evenly. Example: between samples at 0 and 1 s the job used 100 ms. Three processes that began
 * and ended from 0.4 to 0.5 s used 20 ms each: a window from 0.4 to 0.5 s has these 60 ms and a tenth of the other 40.
 * When in its life a process used its time is not known: where it lived across the edge of a window, that is an error.
 */
#ifndef LIBBARO_FOLD_WINDOW_H
#define LIBBARO_FOLD_WINDOW_H

#include "libbaro/fold/fold.h"

#define WINDOW_ROWS 256u        /* a power of two */
#define WINDOW_EXITS 4096u      /* exits that are kept; a power of two */
#define WINDOWS_OPEN_MOST 1024u /* windows that are measured from one row to the next */
#define WINDOW_OPEN UINT64_MAX  /* end of a window that is still open */

#define WINDOW_OWN 5 /* what exits have of a process alone: own_terms[] in window.c */

struct window_peak {
    uint64_t value;
    int absent;
    bool is_stale;
};

struct fold_window {
    uint64_t begin_ns, end_ns; /* WINDOW_OPEN */
    bool is_active;
    bool is_left; /* rows after the last one that it got are missing */
    uint64_t samples;
    uint64_t covered_ns[2]; /* intervals between samples: of the job, of the machine */
    double grown[FOLD_COUNTERS], error[FOLD_COUNTERS];
    uint8_t missing[FOLD_COUNTERS]; /* the reason why some growth is not known; 0: all growth is known */
    bool counted[FOLD_COUNTERS];
    struct window_peak peak[FOLD_GAUGES]; /* from samples in the window */
    struct window_peak edge[FOLD_GAUGES]; /* interpolated at the window's begin and end */
    /* Processes that were alive only within the window: */
    double within[WINDOW_OWN]; /* what they used */
    uint64_t process_rss;      /* their largest high-water mark */
    struct derive_peak cores;
};

/* A process that ended. */
struct window_exit {
    uint64_t begin_ns, end_ns;
    uint64_t cpu_ns[3];       /* all, in user mode, in the kernel; 0: not known */
    uint64_t own[WINDOW_OWN]; /* at least; 0: not known */
    uint64_t rss_peak;        /* 0: not known */
    bool is_sampled;          /* some sample has it */
    bool has_split;           /* it is known which part of its time was in user mode */
};

/* The last rows, and windows that take more. */
struct fold_windows {
    struct fold_row *row;     /* a ring; NULL: none yet */
    size_t n;                 /* number of rows so far: row n - 1 is the newest */
    struct window_exit *exit; /* a ring */
    size_t n_exits;
    struct fold_window **active; /* open windows, which get the next rows, too */
    size_t n_active, cap_active;
};

/* Returns 0 or -ENOMEM. attached: what counters have at the beginning was used before the recording. */
int windows_init(struct fold_windows *all, bool attached);
void windows_done(struct fold_windows *all);
/* Adds the row of a sample. It is given to active windows only with the next but one, because an end of a phase before
 * it, and ends of processes that used CPU time before it, may still be reported. */
void windows_add(struct fold_windows *all, const struct fold_row *row);
void windows_add_exit(struct fold_windows *all, const struct baro_exit *e);

void window_init(struct fold_window *w, uint64_t begin_ns, uint64_t end_ns);
/* Makes a window active: it gets all rows from now on, and those kept from before. Returns false if out of memory. */
bool windows_activate(struct fold_windows *all, struct fold_window *w);
/* Ends an open window, at a time that may lie before records that it has. */
void windows_end(const struct fold_windows *all, struct fold_window *w, uint64_t end_ns);
/* Returns w brought up to the newest row. */
void windows_read(const struct fold_windows *all, const struct fold_window *w, struct fold_window *ret);

#endif
