/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a tape. It only appends, with one write() for each sample, and the tape is readable up to the last byte that a
 * write() took.
 *
 * A failing write never stops the caller. The writer truncates the file to its last whole frame, keeps exits and events
 * (up to a limit), and tries again at the next commit with a new block; an event on the tape reports the gap. If
 * another process truncates the file, the writer goes on at the new end, and writes the header again if that is gone.
 * Once its tables have grown to the number of processes, a writer allocates nothing.
 */
#ifndef LIBBARO_WRITER_WRITER_H
#define LIBBARO_WRITER_WRITER_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "libbaro/sample/sample.h"

struct tape_writer;

/* The writer's system calls, so that tests can make each one fail. They return as the system calls do (-1 and errno).
 */
struct tape_io {
    ssize_t (*write)(void *context, int fd, const void *at, size_t len);
    int (*truncate)(void *context, int fd, off_t len);
    int (*sync)(void *context, int fd);
    void *context;
    int (*look)(void *context, int fd, struct stat *ret); /* fstat(); NULL: no other process changes the file */
};
extern const struct tape_io tape_io_real;

/* Takes over fd (tape_writer_free() closes it). The header is copied, and written at the first commit or by
 * tape_writer_start(). io may be NULL for the real calls. */
int tape_writer_new(struct tape_writer **ret, int fd, const struct baro_header *header, const struct tape_io *io,
                    struct baro_error *err);
int tape_writer_start(struct tape_writer *w, struct baro_error *err);

/* Takes less memory, for one of many tapes that a process writes at the same time. Only before the first commit. */
void tape_writer_small(struct tape_writer *w);

/* Takes more time and fewer bytes, for a tape that is not written while it is recorded. Only before the first commit.
 */
void tape_writer_dense(struct tape_writer *w);
/* The wall clock is ahead by this much because of what came before the tape. Only before the first commit. */
void tape_writer_clock(struct tape_writer *w, int64_t ahead_ns);

/* The job is idle. Frees the compressor: until the next block, frames of a few bytes go into the same zstd stream as
 * they are. Call tape_writer_wake() before the first sample of the job that is idle no longer: it begins a block. */
void tape_writer_rest(struct tape_writer *w);
void tape_writer_wake(struct tape_writer *w);

/* Copies an exit or an event for the next commit. At most 256 KB wait; at half of that they are committed at once.
 * While writes fail, what does not fit is counted, and the event of the gap has the counts. */
void tape_writer_exit(struct tape_writer *w, const struct baro_exit *e);
void tape_writer_event(struct tape_writer *w, const struct baro_event *e);

/* Sets the job's limits from t_ns on, for the next commit; copied. Each block has the current limits, for readers that
 * begin there. */
void tape_writer_limits(struct tape_writer *w, const struct baro_limits *l, uint64_t t_ns);

/* Writes one frame: limits, the pending exits and events, then this sample as differences to the one before, bit for
 * bit. A process whose info_version changed gets an info. Processes may come in any order; ascending ids, new ones
 * last, take the fewest bytes. s may be NULL to write only what is pending. Returns 0, or -errno if it was not written
 * and will be retried (see above). On a network file system, fdatasync follows. */
int tape_writer_commit(struct tape_writer *w, const struct baro_sample *s, struct baro_error *err);

/* Commits what is pending, then writes the footer: index and end mark. */
int tape_writer_finish(struct tape_writer *w, struct baro_error *err);

/* Continues in another file, for a tape in segments: writes the header there, then writes the footer of the old file
 * and closes it. Takes over fd. Call it when everything is committed: a reader that finds the new file then has all
 * of the old one. Returns 0; or -errno if nothing could be written to the new file: then fd is closed, and the
 * writer stays with the old file. */
int tape_writer_next(struct tape_writer *w, int fd, const struct baro_header *header, struct baro_error *err);

uint64_t tape_writer_bytes(const struct tape_writer *w); /* bytes written so far */
uint64_t
tape_writer_cut(const struct tape_writer *w); /* bytes that were in the file and that another process truncated */
bool tape_writer_network(const struct tape_writer *w); /* the tape is on a file server or on FUSE */
bool tape_writer_failing(const struct tape_writer *w); /* the last commit did not reach the file */
bool tape_writer_full(const struct tape_writer *w);    /* because the file system, or a quota, has no room */
void tape_writer_free(struct tape_writer *w);          /* NULL is allowed; does not call tape_writer_finish() */

#endif
