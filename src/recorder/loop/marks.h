/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is appended to the file $BARO_EVENTS (recorder/marks/marks_file.h), or to the file of `baro record --events`:
 * marks and phases of the job, as events on the tape.
 *
 * The recorder is woken by the first line after each tick (inotify(7)), and reads all that was appended by then; what
 * comes after that is read at the next tick. So a line costs a wake-up at most once a tick, and nothing is done at a
 * tick before which nothing was written. Each turn reads MARKS_READ bytes at most. A writer that is faster than that,
 * for long, loses lines; they are counted, and the tape says so.
 */
#ifndef RECORDER_LOOP_MARKS_H
#define RECORDER_LOOP_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct recorder;
struct mark;

struct marks {
    int fd, watch_fd;        /* -1: there is no file; nothing reports that it was written to */
    bool watched;            /* it was tried to watch it */
    bool armed;              /* the next write wakes the recorder */
    bool edge;               /* an edge of a phase was read since the last sample */
    uint64_t offset;         /* of the file, up to which it was read */
    uint64_t freed;          /* up to which it was given back to the file system */
    struct timespec written; /* the file's time of modification when it was read */
    bool modified;           /* it was written to since */
    uint64_t read_ns;        /* when it was read last: all that was read since came later */
    /* A bucket of lines that may be taken: see take_token() */
    uint64_t tokens, tokens_ns;
    struct marks_buffer *buffer; /* allocated when the first line comes */
    bool skipping;               /* the rest of a line that is too long */
    uint64_t lost_lines, lost_bytes, bad_lines;
    uint64_t rewritten; /* times that it was truncated or overwritten */
    uint64_t left_out;  /* values of good lines */
    char first_bad[48], first_left_out[208];
    bool removed, failed;
};

/* When lines without a time of their own came; and realtime minus monotonic, one value for all that is read at once,
 * so that lines keep their order. */
struct mark_came {
    uint64_t t_ns, error_ns;
    int64_t realtime_offset_ns;
};

/* mark_event.c */
void mark_put(struct recorder *r, const struct mark *m, const struct mark_came *came);
int64_t mark_realtime_offset_ns(void);

/* In the recorder, before the first tick. path: for inotify(7). */
void marks_open(struct recorder *r);
/* The watch descriptor is readable. */
void marks_ready(struct recorder *r);
/* Call it before exits are reported: by then the task of a process must be known. */
void marks_look(struct recorder *r);
/* Call it before a sample is taken. */
void marks_turn(struct recorder *r);
/* Call it after the last line can have come; reports what was lost. */
void marks_finish(struct recorder *r);
void marks_close(struct recorder *r);

#endif
