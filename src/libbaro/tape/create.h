/* SPDX-License-Identifier: Apache-2.0 */
/* A tape's file from its creation to its end. The folder is kept open, and the file is identified by its inode. */
#ifndef LIBBARO_TAPE_CREATE_H
#define LIBBARO_TAPE_CREATE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

struct tape_file {
    int dir_fd; /* O_PATH; -1: the tape has no name */
    char name[NAME_MAX + 1];
    char temporary[NAME_MAX +
                   1]; /* its temporary name until it replaces another tape; "": it has its own name already */
    struct stat file;  /* identity of the file: only device and inode are used */
};

/* Creates a tape with mode 0600 and locks it. It never follows a link and never writes to an existing file. replace: an
 * existing file of that name stays until tape_file_publish() replaces it by this one; if it is not a regular file, or
 * if a recorder is writing it, the function fails. Takes dir_fd; path is for messages. Returns the tape's descriptor or
 * -errno. */
int tape_file_create(struct tape_file *ret, int dir_fd, const char *name, const char *path, bool replace,
                     struct baro_error *err);

/* Creates a tape file by its path: mode 0600, O_EXCL, O_NOFOLLOW, O_CLOEXEC. Returns the descriptor or -errno. */
int tape_create(const char *path, struct baro_error *err);

/* Is a recorder writing this tape? */
bool tape_in_work(int fd);

/* Gives the file its name by rename(2), unless it has it already. Call it when the file has a header. Returns 0 or
 * -errno. */
int tape_file_publish(struct tape_file *f, int fd);

/* Is the file still in the folder under its name? It is not if it was removed, moved or replaced. */
bool tape_file_named(const struct tape_file *f);

/* Restores a tape that was removed while it was written: copies everything to a new file in the same folder, with the
 * same name or, if another file has that name, a similar one. fd then refers to the copy, and f has its name. Returns 0
 * or -errno. */
int tape_file_again(struct tape_file *f, int fd);

/* Removes the tape if it still has its name. */
void tape_file_remove(const struct tape_file *f);
void tape_file_done(struct tape_file *f);

/* Is the file on a network or FUSE file system? These may lose data that was written while this machine keeps running.
 */
bool tape_on_network(int fd);

#endif
