/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders that other users may write to. A folder is opened once, and files in it are created, renamed and removed
 * through that descriptor, so that it is the same folder even if its path leads to another one later.
 */
#ifndef LIBBARO_TAPE_FOLDER_H
#define LIBBARO_TAPE_FOLDER_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

/* Opens a folder (O_PATH). make: makes missing folders with mode 0700. As root, a symbolic link of another user is
 * followed only into folders of that user, who could otherwise make root write anywhere. Returns the descriptor or
 * -errno. */
int folder_open(const char *path, bool make, struct baro_error *err);

/* Opens the folder of a file and gets the file's name in it (borrowed from path). */
int folder_of(const char *path, const char **ret_name, struct baro_error *err);

/* Does the name in the folder refer to this file? */
bool folder_holds(int dir_fd, const char *name, const struct stat *file);

/* Removes a name if it still refers to this file. Returns 0, -ENOENT if there is no such name, -ESTALE if it refers to
 * another file, or -errno. */
int folder_remove(int dir_fd, const char *name, const struct stat *file);

#endif
