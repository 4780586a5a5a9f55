/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the catalogue: catalogue.c gives what is in it to other threads; folder.c (which jobs there are) and
 * keeper.c (what is on their tapes) are its own thread, which alone changes it. */
#ifndef PROGRAMS_BARO_SERVE_CATALOGUE_IN_H
#define PROGRAMS_BARO_SERVE_CATALOGUE_IN_H

#include "programs/baro-serve/catalogue.h"
#include "programs/baro-serve/touched.h"

#define REMOVED_KEPT 256u /* ids of removed jobs, for those who follow the list */

struct removed {
    char *id;
    uint64_t version;
};

struct catalogue {
    char *folder; /* as it was given; NULL: the kept runs */
    char *listed; /* the path of the folder */
    enum catalogue_announced announced;
    pthread_mutex_t lock;
    struct job **jobs; /* sorted: the newest first */
    size_t n;
    uint64_t version;
    struct removed removed[REMOVED_KEPT];
    size_t n_removed; /* since the start */
    bool was_listed;  /* once at least, or it was tried */
    char error[256];
    const char *waits; /* what its thread reads: the folder, or the tape of this job; NULL: nothing */
    uint64_t waits_ns; /* CLOCK_MONOTONIC: since when */
    struct job *waits_job;
    unsigned keepers; /* how many threads were started so far: the last one is in charge */
    unsigned stuck;   /* threads that were replaced */
    pthread_t thread, watcher;
    bool runs; /* both do */

    /* of its thread */
    int stop_fd;
    struct baro_runs_watch *watch[2]; /* of the folder, and of what is announced; NULL: it can't be watched (yet) */
    struct touched touched;           /* which tapes of jobs that run were written */
    uint64_t listing;                 /* how often the folder was listed */
    uint64_t list_ns;                 /* when it is listed next, */
    unsigned soon; /* and how often soon, because something has changed: a new tape is empty at first */
    uint64_t tick_ns;
};

void job_free(struct job *job);

/* Lists the folder. Returns 0 or a negative code. */
int folder_list(const struct catalogue *c, struct baro_runs **ret, struct baro_error *err);
/* Adds the jobs of new tapes, and removes those whose tapes are gone. */
void folder_read(struct catalogue *c);

#endif
