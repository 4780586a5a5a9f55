/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders that others may write to. A folder is opened once, and what is created, renamed or removed in it goes through
 * that descriptor: whatever its path leads to later, it is still the same folder.
 */
#ifndef LIBBARO_TAPE_FOLDER_H
#define LIBBARO_TAPE_FOLDER_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

/* Opens a folder (O_PATH). make: those that are missing are made, mode 0700. As root, a symbolic link of another user
 * is followed into his own folders alone: else he could make root write wherever he likes. Returns the descriptor or
 * -errno. */
int folder_open(const char *path, bool make, struct baro_error *err);

/* Opens the folder of a file and gives the file's name in it (borrowed from path). */
int folder_of(const char *path, const char **ret_name, struct baro_error *err);

/* Is the name that of this very file? */
bool folder_holds(int dir_fd, const char *name, const struct stat *file);

/* Removes a name if it is still that of this file. Returns 0, -ENOENT if there is no such name, -ESTALE if it is
 * another file's, or -errno. */
int folder_remove(int dir_fd, const char *name, const struct stat *file);

#endif
