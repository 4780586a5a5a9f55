/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a tape has been sent to a destination: a file in $XDG_STATE_HOME/barograph/push, which is replaced before
 * each message, and when there is nothing left to send. It says which points are being sent. If the pusher is killed,
 * the same points are sent again: a store that has them says so, or takes them as the same.
 *
 * Example: samples up to 10 s are acknowledged, and the samples up to 15 s have 900 points, of which 500 were sent and
 * answered and 400 are being sent: acked_ns 10 s, until_ns 15 s, done 500, sending 400.
 */
#ifndef PROGRAMS_BARO_PUSH_POSITION_H
#define PROGRAMS_BARO_PUSH_POSITION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "baro/error.h"

struct position {
    char id[40], hash[20]; /* of the tape; of the destination: the name of the file */
    char tape[PATH_MAX], destination[512], name[128];
    char failure[300];          /* what went wrong last; "": nothing */
    uint64_t acked_ns;          /* all points of samples up to this time were answered, from the start of the tape */
    uint64_t until_ns;          /* the points of samples up to here are being sent */
    uint64_t done, sending;     /* of them: how many were answered; how many are being sent */
    uint64_t samples;           /* the recorder's count of samples at acked_ns */
    uint64_t begun;             /* 1: a sample was acknowledged, and acked_ns counts */
    uint64_t is_end;            /* 1: the ends of series are being sent */
    uint64_t is_over;           /* 1: they were, and the tape had ended */
    uint64_t version;           /* of remote write, that the receiver takes; 0: not known */
    uint64_t sent, refused;     /* points: the store has them; it said that it refused them */
    uint64_t there;             /* points that it had already: another user has pushed the same tape */
    uint64_t set_aside;         /* points of messages that were refused as a whole */
    uint64_t left_out;          /* points that could not be sent (points.h) */
    uint64_t missed;            /* samples that were removed from the tape before they were sent */
    uint64_t acked_realtime_ns; /* the same time since 1970 */
    uint64_t seen_realtime_ns;  /* of the last sample that was read */
    uint64_t written_ns;        /* when this was written, since 1970 */
};

struct positions {
    int dir_fd, lock_fd;
    char folder[PATH_MAX];
};

/* Opens the folder; makes it if makes. Returns 0 or a negative code. */
int positions_open(struct positions *ret, bool makes, struct baro_error *err);
void positions_close(struct positions *p);

/* Reads a position, whose id and hash are set. Returns 1, or 0 if there is none, or a negative code. */
int position_read(const struct positions *p, struct position *pos, struct baro_error *err);
int position_write(const struct positions *p, struct position *pos, struct baro_error *err);
/* Keeps others from sending the same tape to the same destination until this process ends. Returns false if another one
 * does so already. */
bool position_lock(const struct positions *p, const struct position *pos);
void position_unlock(const struct positions *p, const struct position *pos);
/* Notes that points were refused, and what the server said, in the file beside it, which does not grow without limit.
 */
void position_set_aside(const struct positions *p, const struct position *pos, uint64_t points, long status,
                        const char *why);

/* Calls fn for each position in the folder. */
void positions_each(const struct positions *p, void (*fn)(void *context, const struct position *pos), void *context);

#endif
