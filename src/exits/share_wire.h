/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between an observer that shares its event source and a recorder that uses it. Each is one datagram of a
 * SOCK_SEQPACKET socket on one machine, in its byte order: a head, and count records. Pure.
 *
 * The recorder asks (SHARE_FOLLOW): report these processes and their descendants, and all that happened until now. The
 * observer sends SHARE_EVENTS, and then SHARE_DONE with the number of the request. The first message that it sends is
 * the SHARE_DONE of the first request.
 */
#ifndef EXITS_SHARE_WIRE_H
#define EXITS_SHARE_WIRE_H

#include "base/span.h"
#include "exits/events.h"

#define SHARE_VERSION 2u
#define SHARE_MESSAGE 32768u /* bytes of the longest message */
#define SHARE_HEAD 24u
#define SHARE_PIDS_MOST 512u /* of one request */
#define SHARE_EVENT_MOST 256u

enum share_kind { SHARE_FOLLOW = 1, SHARE_EVENTS, SHARE_DONE };

#define SHARE_HAS_USAGE 1u /* SHARE_DONE: the observer knows what ended processes used */

struct share_head {
    enum share_kind kind;
    uint32_t count;  /* records; SHARE_DONE: processes that the recorder may not follow */
    uint64_t number; /* of the request */
    uint32_t flags;
};

/* Writes SHARE_HEAD bytes. */
void share_head_encode(const struct share_head *h, unsigned char *to);
/* Takes the head off a message. Returns false if it is truncated, or of another version. */
bool share_head_decode(struct span *message, struct share_head *ret);

/* pid 0: the process that connected. Returns the number of bytes (SHARE_PID). */
#define SHARE_PID 16u
void share_pid_encode(const struct exits_pid *p, unsigned char *to);
bool share_pid_decode(struct span *rest, struct exits_pid *ret);

/* Returns the number of bytes, SHARE_EVENT_MOST at most. */
size_t share_event_encode(const struct exits_event *e, unsigned char *to);
/* Takes the next event off; returns false at the end or if it is invalid. */
bool share_event_decode(struct span *rest, struct exits_event *ret);
/* The length of the first event of a sequence that share_event_encode() wrote. */
size_t share_event_length(const unsigned char *at);

#endif
