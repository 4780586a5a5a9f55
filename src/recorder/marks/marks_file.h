/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file $BARO_EVENTS of a command: processes of the job append lines to it, and the recorder reads them. It is a
 * regular file, so that writing to it neither blocks nor fails, even if the recorder has ended. It is in a folder with
 * mode 0700, so that no other user can read it or put another file in its place.
 *
 * Wrapper and recorder hold a shared flock(2) on it. The one that is left at the end removes it. When both were killed
 * it stays, and a later recording removes it, because it is not locked. (A pid in its name would mean nothing: the
 * folder may be shared between PID namespaces.)
 *
 * Another lock, of a byte far behind its end (F_OFD_SETLK), tells `baro mark` that a recorder reads the file, so that
 * it writes to no other one. It is a lock for writing, which only a process that may write to the file can place: no
 * user can lock a file of another one, and have root write into it. A shared flock(2) takes no more than reading it.
 */
#ifndef RECORDER_MARKS_MARKS_FILE_H
#define RECORDER_MARKS_MARKS_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct marks_file {
    char path[256 + 64]; /* absolute; "": there is none */
    char made[256];      /* a folder that was made for it alone; "": none */
    bool is_ours;        /* it was made for this recording */
    int fd;              /* for the recorder; it has the lock */
};

static inline int marks_fd(const struct marks_file *f)
{
    return f && *f->path ? f->fd : -1;
}

/* Returns 0, or -errno: then there is none. */
int marks_file_make(struct marks_file *f);
/* For a recorder: locks a file that is open for writing, until all duplicates of fd are closed. Several recorders may
 * lock one file. Returns 0 or -errno. */
int marks_file_lock(int fd);
/* Removes it if it is ours; the descriptor stays open. NULL is allowed. */
void marks_file_remove(const struct marks_file *f);
/* Removes the files beside it that no recording has locked. NULL is allowed. */
void marks_file_sweep(const struct marks_file *f);

#endif
