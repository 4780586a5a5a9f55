/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a tape: append-only, each sample one write(), readable up to the last byte that a write() took.
 *
 * A failing write never stops the caller. The writer cuts the file back to its last whole frame, keeps exits and events
 * (bounded) and tries again at the next commit, with a new block; the gap stands on the tape as an event.
 * Where somebody else cuts the file off, it goes on at the new end, with the header if that is gone.
 * A writer allocates nothing once its tables have grown to the number of processes.
 */
#ifndef TAPE_WRITER_H
#define TAPE_WRITER_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "sample/sample.h"

struct tape_writer;

/* What the writer does to the world, so that tests can fail each call. Return as the system calls do (-1 and errno). */
struct tape_io {
    ssize_t (*write)(void *context, int fd, const void *at, size_t len);
    int (*truncate)(void *context, int fd, off_t len);
    int (*sync)(void *context, int fd);
    void *context;
    int (*look)(void *context, int fd, struct stat *ret); /* NULL: nobody else touches the file */
};
extern const struct tape_io tape_io_real;

/* Creates a tape file by its path (tape/create.h does more): mode 0600, O_EXCL, O_NOFOLLOW, O_CLOEXEC, never following
 * or replacing what is there. Returns the descriptor or -errno. */
int tape_create(const char *path, struct baro_error *err);

/* Is a recorder at work on this tape? */
bool tape_in_work(int fd);

/* Takes fd (closes it in tape_writer_free). The header is copied and written at the first commit, or by
 * tape_writer_start() at once. io may be NULL for the real one. */
int tape_writer_new(struct tape_writer **ret, int fd, const struct baro_header *header, const struct tape_io *io,
                    struct baro_error *err);
int tape_writer_start(struct tape_writer *w, struct baro_error *err);

/* Keep an exit or an event for the next commit; copied. At most 256 KB wait; when half of that is full they are
 * committed at once, and while the file fails what does not fit is counted and said in the gap's event. */
void tape_writer_exit(struct tape_writer *w, const struct baro_exit *e);
void tape_writer_event(struct tape_writer *w, const struct baro_event *e);

/* What the job may have from t_ns on, for the next commit; copied. Each block gets the last ones, so that a reader who
 * comes from elsewhere has them. */
void tape_writer_limits(struct tape_writer *w, const struct baro_limits *l, uint64_t t_ns);

/* One frame: limits, the pending exits and events, then this sample: whatever differs from the sample before, bit for
 * bit; an info where info_version differs. Any order of processes will do; ascending ids, new ones last, is the dense
 * one. s may be NULL to write the pending ones alone. Returns 0 or -errno: not written, and will be retried as the top
 * of this file says. On a network file system fdatasync follows. */
int tape_writer_commit(struct tape_writer *w, const struct baro_sample *s, struct baro_error *err);

/* Commits what is pending, then the footer: index and end mark. */
int tape_writer_finish(struct tape_writer *w, struct baro_error *err);

uint64_t tape_writer_bytes(const struct tape_writer *w);  /* acknowledged so far */
uint64_t
tape_writer_cut(const struct tape_writer *w); /* bytes that were in the file and that somebody else has cut off */
bool tape_writer_network(const struct tape_writer *w);    /* it lies on a file server or on FUSE */
bool tape_writer_failing(const struct tape_writer *w);    /* the last commit did not reach the file */
void tape_writer_free(struct tape_writer *w);             /* NULL allowed; does not finish */

#endif
