/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the lines that are appended to the file $BARO_EVENTS (recorder/marks/marks_file.h), or to the file of `baro
 * record --events`. They are marks and phases of the job, and become events on the tape.
 *
 * The recorder is woken by the first line after each tick (inotify(7)), and reads everything that was appended by then.
 * Later lines are read at the next tick. So lines cause at most one wake-up for each tick, and a tick without new lines
 * costs nothing. Each turn reads MARKS_READ bytes at most. A writer that is faster than that, for long, loses lines;
 * they are counted, and the tape says so.
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
    int fd, watch_fd;        /* fd -1: there is no file; watch_fd -1: writes are not reported */
    bool watched;            /* watching the file was tried */
    bool armed;              /* the next write wakes the recorder */
    bool edge;               /* an edge of a phase was read since the last sample */
    uint64_t offset;         /* up to which the file was read */
    uint64_t freed;          /* up to which the file was freed */
    struct timespec written; /* the file's time of modification when it was read */
    bool modified;           /* the file was written to since */
    uint64_t read_ns;        /* when the file was read last: lines that are read after that came later */
    /* A bucket of lines that may be taken: see take_token() */
    uint64_t tokens, tokens_ns;
    struct marks_buffer *buffer; /* allocated when the first line comes */
    bool skipping;               /* the rest of a line that is too long */
    uint64_t lost_lines, lost_bytes, bad_lines;
    uint64_t rewritten; /* how often the file was truncated or overwritten */
    uint64_t left_out;  /* values of valid lines that were left out */
    char first_bad[48], first_left_out[208];
    bool removed, failed;
};

/* When lines without a time of their own came; and realtime minus monotonic, one value for all that is read at once,
 * so that lines keep their order. */
struct mark_came {
    uint64_t t_ns, error_ns;
    int64_t realtime_offset_ns;
};

/* Opens the file. Call it in the recorder, before the first tick. */
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
