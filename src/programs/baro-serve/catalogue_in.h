/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the catalogue. Only its own thread changes it: folder.c (which jobs there are) and keeper.c (what is on
 * their tapes). Other threads read it through catalogue.c. */
#ifndef PROGRAMS_BARO_SERVE_CATALOGUE_IN_H
#define PROGRAMS_BARO_SERVE_CATALOGUE_IN_H

#include "programs/baro-serve/catalogue.h"
#include "programs/baro-serve/touched.h"

#define REMOVED_KEPT 256u /* ids of removed jobs that are kept for clients that follow the list */

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
    size_t n_removed; /* jobs removed since the start */
    bool was_listed;  /* the folder was listed at least once, or that failed */
    char error[256];
    const char *waits; /* what its thread is reading: the folder, or a tape; NULL: nothing */
    uint64_t waits_ns; /* CLOCK_MONOTONIC: since when */
    pthread_t thread;
    bool runs; /* the thread is running */

    /* used by its thread only */
    int stop_fd;
    struct baro_runs_watch *watch[2]; /* of the folder, and of announced runs; NULL: it cannot be watched (yet) */
    struct touched touched;           /* which tapes of running jobs were written */
    uint64_t listing;                 /* how often the folder was listed */
    uint64_t list_ns;                 /* when it is listed next */
    unsigned soon; /* how many times it is listed soon, after a change: a new tape is empty at first */
    uint64_t tick_ns;
};

void job_free(struct job *job);

/* Lists the folder. Returns 0 or a negative code. */
int folder_list(const struct catalogue *c, struct baro_runs **ret, struct baro_error *err);
/* Adds the jobs of new tapes, and removes those whose tapes are gone. */
void folder_read(struct catalogue *c);

#endif
