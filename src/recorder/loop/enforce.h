/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of `baro run --limit`. A sample's totals are compared with them, wall by a timer; memory is the kernel's limit
 * of the command's own control group, of which it is only read whether it was hit. The first limit that is reached acts
 * once: an event on the tape, a signal to all members, after the grace SIGKILL until none is left, 5 s at most. Later
 * ones are only noted. Without limits nothing of this is done.
 */
#ifndef RECORDER_LOOP_ENFORCE_H
#define RECORDER_LOOP_ENFORCE_H

#include <signal.h>

#include "libbaro/sample/limit.h"

struct recorder;

/* What --limit and --on-limit say. */
struct record_limits {
    bool is_set;
    uint64_t most[LIMIT_KINDS]; /* in the units of the event; 0: none */
    int signal;                 /* the first one; 0: a limit is only noted */
    uint64_t grace_ns;          /* from then on until SIGKILL */
};

enum enforce_step { ENFORCE_WATCHES, ENFORCE_GRACE, ENFORCE_KILLS, ENFORCE_OVER };

/* For struct recorder. */
struct enforce {
    enum enforce_step step;
    enum limit_kind kind; /* that acted, and what was in use; from ENFORCE_GRACE on */
    uint64_t value;
    unsigned noted;            /* a bit for each kind */
    uint64_t due_ns, until_ns; /* CLOCK_MONOTONIC: the next turn; when the step is over */
    bool is_close;             /* over half of the limit of rss is in use: samples do not wait for the budget */
    uint64_t near_ns;          /* when one of them will be reached at the present growth, since the tape began */
    struct {
        uint64_t value, t_ns;
    } last[LIMIT_KINDS]; /* the sample before */
    /* memory: those that had most in the last sample, and what the kernel has killed since. Its names are gone with
     * them when the limit is noticed. */
    struct enforce_holder {
        char name[32];
        struct baro_key key;
        uint64_t value;
    } holder[LIMIT_HOLDERS];
    size_t n_holders;
    struct enforce_holder ended; /* rss: the largest that has ended, if that is more than the limit; else value 0 */
};

void enforce_begin(struct recorder *r);
void enforce_sample(struct recorder *r, const struct baro_sample *s);
void enforce_exit(struct recorder *r, const struct baro_exit *e);
uint64_t enforce_due_ns(const struct recorder *r); /* CLOCK_MONOTONIC; UINT64_MAX: nothing is to be done */
void enforce_turn(struct recorder *r, uint64_t now_ns);
void enforce_command_ended(struct recorder *r); /* the wrapper waits until a limit that it hit has acted */
void enforce_hurry(struct recorder *r);         /* somebody does not want to wait for the grace */
void enforce_finish(struct recorder *r);        /* before the last events */
/* The limit that ended the job; NULL: none did. */
const char *enforce_ended_by(const struct recorder *r);

/* end_job.c */
struct end_job {
    unsigned alive, refused; /* refused: those of other users */
    bool hurries;            /* other recorders are killed, too */
    bool no_lists;           /* the kernel has no lists of children */
};
/* Sends the signal to all processes of the job, also to those that have left the session or lost their parent. */
struct end_job end_job_signal(struct recorder *r, int signal);
/* Sends SIGKILL for some milliseconds at most. */
struct end_job end_job_kill(struct recorder *r, bool hurries);
bool end_job_lives(struct recorder *r);
/* Names the processes that are alive; returns how many. */
unsigned end_job_name_left(struct recorder *r, struct buf *ret);
const char *end_job_reason(int32_t pid, char state); /* why it could not be ended */

#endif
