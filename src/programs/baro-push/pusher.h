/* SPDX-License-Identifier: Apache-2.0 */
/* One tape on its way to a destination: reads what is new, makes messages of it, and notes what became of them. */
#ifndef PROGRAMS_BARO_PUSH_PUSHER_H
#define PROGRAMS_BARO_PUSH_PUSHER_H

#include "programs/baro-push/encode.h"
#include "programs/baro-push/position.h"
#include "programs/baro-push/sender.h"

/* What all pushers share. */
struct pushing {
    const struct destination *to;
    struct sender *sender;
    struct positions positions;
    uint64_t version;  /* of remote write: 0 is not known */
    uint64_t every_ns; /* of a growing tape: how long points are collected */
    size_t most;       /* points of a message: fewer once one was too large; 0: not known */
    size_t too_large;  /* points that were set aside because even a small message is too large, since one was stored */
    bool says_partial; /* it was said that the receiver refused some */
    void (*note)(void *context, const char *text);
    void *context;
};

struct pusher;

enum pusher_state {
    PUSHER_WAITS,   /* for more of the tape, or for the time to send it */
    PUSHER_GOES_ON, /* there is more to send at once */
    PUSHER_PAUSED,  /* the last message has to be sent again, later */
    PUSHER_WRONG,   /* the same, and it is the user's fault */
    PUSHER_OVER,    /* the tape has ended, and all of it was sent */
    PUSHER_FAILED   /* it can't be read, or its position not be written: err */
};

/* Returns 0 and a pusher, or a negative code: -EBUSY if another process pushes the tape to the same destination. */
int pusher_new(struct pusher **ret, struct pushing *with, const char *path, struct baro_error *err);
void pusher_free(struct pusher *p);

/* Sends one message at most. at_once: does not wait for more points. */
enum pusher_state pusher_step(struct pusher *p, bool at_once, struct baro_error *err);
const struct position *pusher_position(const struct pusher *p);
/* Does nothing write the tape any more? */
bool pusher_is_ended(const struct pusher *p);

#endif
