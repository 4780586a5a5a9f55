/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends messages, one at a time, and says what became of the points. After a failure it sends nothing until the
 * back-off is over, or the time that the server asked for. Nothing here waits but for the answer to a message.
 */
#ifndef PROGRAMS_BARO_PUSH_SENDER_H
#define PROGRAMS_BARO_PUSH_SENDER_H

#include "base/buf.h"
#include "programs/baro-push/destination.h"

enum answer {
    ANSWER_STORED,   /* all of them, but for `refused` */
    ANSWER_REFUSED,  /* none, because of what they are: not to be sent again as they are */
    ANSWER_LATER,    /* it is not known: to be sent again, later */
    ANSWER_WRONG,    /* none: the address, the token or the certificate is wrong */
    ANSWER_OLD,      /* none: the receiver does not know this version of the protocol */
    ANSWER_TOO_LARGE /* none: the message is too large */
};

struct sent {
    enum answer answer;
    long status;        /* of HTTP; 0: there was no answer */
    bool is_there;      /* the server says that it has newer points of these series, or these */
    uint64_t written;   /* points that a receiver of version 2.0 says it has written */
    bool knows_written; /* it said so */
    char why[300];      /* one line, escaped; "": nothing was said */
    struct buf body;    /* what the server answered, a part of it if it is long */
};

struct sender;

/* Returns NULL and err if libcurl can't be used. `stop` becomes 1 when all is to end: what is being sent is given up
 * after a short while. */
struct sender *sender_new(const struct destination *to, const volatile int *stop, struct baro_error *err);
void sender_free(struct sender *s);

void sender_send(struct sender *s, const struct buf *message, bool is_version_2, struct sent *ret);
void sent_done(struct sent *sent);

/* Is this what Prometheus and those that are like it say of points that are not newer than those that they have? */
bool sender_is_there(const char *why);

/* When the next message may be sent (clock_monotonic_ns()); 0: now. */
uint64_t sender_paused_until(const struct sender *s);
/* Since when nothing was answered well; 0: the last message was. */
uint64_t sender_failing_since(const struct sender *s);

#endif
