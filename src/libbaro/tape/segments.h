/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tape in segments: a folder with the files 000001.baro, 000002.baro, ... Each of them is a tape by itself. The
 * recorder writes into the last one, and removes the first ones when they are too old or take too many bytes.
 */
#ifndef LIBBARO_TAPE_SEGMENTS_H
#define LIBBARO_TAPE_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

enum { SEGMENT_NAME_SIZE = 16, SEGMENTS_SHARE = 16 /* a segment takes this part of what is kept */ };

struct segment {
    uint32_t number;   /* the number in its name; from 1 on */
    struct stat file;  /* identity of the file, and its size when it was listed */
    uint64_t first_ns; /* used by readers: time of its first sample; UINT64_MAX: it has none so far; 0: not read yet */
};

struct segments {
    struct segment *at; /* in the order of their numbers */
    size_t n, cap;
};

void segment_name(uint32_t number, char ret[static SEGMENT_NAME_SIZE]);

/* Adds the segments of a folder whose numbers are above the last one of the list. Files with other names, and files
 * that are not regular, are skipped. Returns how many were added, or -errno. */
int segments_list(int dir_fd, struct segments *s);
int segments_add(struct segments *s, uint32_t number, const struct stat *file); /* 0 or -ENOMEM */
void segments_done(struct segments *s);

/* Returns the size of all segments of a folder in bytes. */
uint64_t segments_bytes(int dir_fd);
/* Is a recorder writing the last one? */
bool segments_in_work(int dir_fd);
/* Removes all segments of a folder, and the folder if nothing else is in it. running: also while a recorder is writing
 * it, which then makes no further segment. Returns 0 or -errno. */
int segments_remove(int parent_fd, const char *name, bool running);

/* ---- writing ---- */

/* How much is kept, as a time or as a size; 0: no such limit. */
struct segments_keep {
    uint64_t ns, bytes;
};

struct segments_writer {
    int dir_fd; /* -1: the tape is one file */
    struct segments_keep keep;
    struct segments list;
    size_t n_left;     /* how many of the first ones are of a recorder before this one: their times are of its clock */
    uint64_t bytes;    /* size of the finished segments */
    uint64_t began_ns; /* when the last segment began, since the tape began */
    uint64_t retry_ns; /* when to try again after the next segment could not be made */
};

/* Makes the folder and its first segment, which it locks (tape_file_create()). replace: removes the segments of a
 * finished recording from an existing folder. Returns the descriptor of the segment or -errno. */
int segments_create(struct segments_writer *ret, int parent_fd, const char *name, const char *path, bool replace,
                    struct segments_keep keep, struct baro_error *err);

/* Begins the next part of a tape of a recorder that has ended: opens the folder, and makes its next segment. Returns
 * the descriptor of the segment, -EBUSY if a recorder is writing there, or -errno. */
int segments_continue(struct segments_writer *ret, int parent_fd, const char *name, struct segments_keep keep,
                      struct baro_error *err);

/* Is it time for another segment? bytes: size of the last one so far. */
bool segments_due(const struct segments_writer *w, uint64_t t_ns, uint64_t bytes);
/* Creates the next segment. The caller writes to it, or calls segments_take_back(). Returns its descriptor or -errno.
 */
int segments_next(struct segments_writer *w, uint64_t t_ns, uint64_t bytes);
void segments_take_back(struct segments_writer *w);
/* Removes the first segment. Returns its size; 0: it is the only one. */
uint64_t segments_drop_first(struct segments_writer *w);
/* Removes the oldest segments, which exceed the limits. */
void segments_thin(struct segments_writer *w, uint64_t t_ns, uint64_t bytes);

/* Creates the next segment and removes the oldest ones if that is due after a sample at t_ns. Returns the descriptor
 * of the new segment; -EAGAIN if none is due; or -errno if it can't be made (it tries again a second later). */
int segments_roll(struct segments_writer *w, uint64_t t_ns, uint64_t bytes);

void segments_writer_done(struct segments_writer *w);

#endif
