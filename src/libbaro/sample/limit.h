/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A limit of `baro run --limit` that was reached: the event on the tape (BARO_EVENT_LIMIT), read and in words. The
 * recorder writes such events; summary, timeline and verdicts read them.
 */
#ifndef LIBBARO_SAMPLE_LIMIT_H
#define LIBBARO_SAMPLE_LIMIT_H

#include "base/buf.h"
#include "libbaro/sample/sample.h"

/* memory is enforced by the kernel; the recorder compares the others with what it has read. */
enum limit_kind { LIMIT_MEMORY, LIMIT_RSS, LIMIT_CPU, LIMIT_WALL, LIMIT_PROCESSES, LIMIT_KINDS };

#define LIMIT_HOLDERS 3u

struct limit_reached {
    enum limit_kind kind;
    uint64_t t_ns, value, most;
    const char *action; /* "mark", or the signal: "SIGTERM". Borrowed from the event, as all texts */
    const char *by;     /* "kernel", "sample", "timer", "event", "exit" */
    bool is_kill;       /* the grace was over: the rest gets SIGKILL */
    uint64_t left;      /* the processes that it got */
    struct limit_holder {
        const char *name;
        uint64_t value;
    } holder[LIMIT_HOLDERS];
    size_t n_holders;
};

const char *limit_name(enum limit_kind kind);
int limit_find(const char *name, size_t len); /* a kind, or -1 */

/* Returns false if the event is none, or of a limit that this library does not know. */
bool limit_read(const struct baro_event *e, struct limit_reached *ret);

/* "4.02 GB", "30 min 00 s", "501" */
void limit_put_value(enum limit_kind kind, uint64_t value, struct buf *ret);
/* "rss=4 GB": as it was given */
void limit_put_limit(enum limit_kind kind, uint64_t most, struct buf *ret);
/* ": 4.02 GB; largest: cc1 3.1 GB, ld 410 MB", or "; most CPU: cc1 12 s" of wall; holders: how many at most. Names are
 * as on the tape: escape the text before it is printed. */
void limit_put_use(const struct limit_reached *l, size_t holders, struct buf *ret);
/* "limit rss=4 GB reached after 12.3 s: 4.02 GB; largest: ..." */
void limit_put_sentence(const struct limit_reached *l, struct buf *ret);

#endif
