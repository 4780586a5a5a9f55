/* SPDX-License-Identifier: Apache-2.0 */
/* A tape's file from its creation to its end: the folder is held open, and the file is told from others by its inode.
 */
#ifndef TAPE_CREATE_H
#define TAPE_CREATE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

struct tape_file {
    int dir_fd;                   /* O_PATH; -1: the tape has no name */
    char name[NAME_MAX + 1];
    char temporary[NAME_MAX +
                   1]; /* the name that it has for a moment when it replaces another; "": it has its name already */
    struct stat file;             /* which file it is; only device and inode are used */
};

/* Creates a tape, mode 0600, never following a link or writing over what is there, and locks it. replace: where a file
 * of that name is, it stays until tape_file_publish() puts this one in its place; refused is what is no regular file
 * and what a recorder is still writing. Takes dir_fd; path is for messages. Returns the tape's descriptor or -errno. */
int tape_file_create(struct tape_file *ret, int dir_fd, const char *name, const char *path, bool replace,
                     struct baro_error *err);

/* Now it is a tape: it gets its name, by one rename(2), if it does not have it yet. Returns 0 or -errno. */
int tape_file_publish(struct tape_file *f, int fd);

/* Has the tape its name? False also where somebody has removed, moved or replaced it. */
bool tape_file_named(const struct tape_file *f);

/* Somebody has removed it while it was written. Makes another, with all that was written, in the same folder: under the
 * same name, or where that is another file's by now under one beside it. fd then leads to it. Returns 0 or -errno; f
 * has the new name. */
int tape_file_again(struct tape_file *f, int fd);

/* Removes the tape, if it is still there. */
void tape_file_remove(const struct tape_file *f);
void tape_file_done(struct tape_file *f);

/* True where a file lies on a server or behind a user's program, whose memory may go while this machine's stays. */
bool tape_on_network(int fd);

#endif
