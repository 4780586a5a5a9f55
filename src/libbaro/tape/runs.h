/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of kept runs: ${BARO_DIR:-${XDG_STATE_HOME:-~/.local/state}/barograph}, mode 0700. A tape's name begins
 * with its start time in UTC with microseconds, so that names sort by age, also those of runs that start together.
 */
#ifndef LIBBARO_TAPE_RUNS_H
#define LIBBARO_TAPE_RUNS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

/* Finds or makes the folder. If that fails, falls back to a folder of this user (mode 0700, owner checked) in
 * ${TMPDIR:-/tmp}, and *ret_note says why in one line; otherwise *ret_note is empty. path is NUL-terminated. */
int runs_dir(struct buf *ret_path, struct baro_error *ret_note, struct baro_error *err);
/* The same, and returns a descriptor of the folder (O_PATH), through which files in it are made and removed. As root, a
 * folder is not used if it belongs to another user, or if everybody may remove files from it (mode o+w without the
 * sticky bit). */
int runs_open(struct buf *ret_path, struct baro_error *ret_note, struct baro_error *err);

/* Makes a path for a new run in dir: "<dir>/20261121T043450.123456Z-<command>-<pid>.baro". Bytes of command that are
 * not safe in a file name are left out. */
int runs_new_path(const char *dir, const char *command, struct buf *ret_path, struct baro_error *err);

/* Does a name have the form of a kept run: a time at its beginning, and ".baro" at its end? */
bool runs_is_name(const char *name);

struct runs_entry {
    char *name; /* within the folder */
    uint64_t bytes, inode;
    int64_t changed_ns; /* when the file changed last; of a folder, when a segment was made or removed */
    bool is_numbered;   /* its name is that of a kept run */
    size_t number;      /* in a list for readers: N of @N, 0: none */
    bool untimely;      /* the time in its name is not the one at which the file was made */
};
struct runs_list {
    struct runs_entry *at; /* newest first, untimely ones last */
    size_t n;
};
/* What runs_list() lists besides the runs that have numbers: @1, @2 ... */
enum runs_flags {
    RUNS_EMPTY = 1,   /* empty files, to which nothing was recorded (yet) */
    RUNS_ANY_NAME = 2 /* all files whose names end with ".baro" */
};
int runs_list(const char *dir, unsigned flags, struct runs_list *ret, struct baro_error *err);
void runs_list_done(struct runs_list *l);

/* Finds the path of a tape that the user named: a path, or a kept run: @last, @1 (the same), @2 ...; NULL: @last. */
int runs_resolve(const char *name, struct buf *ret_path, struct baro_error *err);

/* Removes the oldest finished runs until the limits of $BARO_KEEP hold: a number of runs, a size, or both ("200
 * runs,1GB"; default 500 runs and 2 GB). If there are too many runs, a sixteenth more is removed, so that the next
 * calls find nothing to do. Sizes are checked after each 16th run and after large ones. The newest run, and those that
 * are being written, are not removed. Returns how many were removed. */
int runs_prune(int dir_fd, struct baro_error *err);

/* Checks BARO_KEEP. Returns 0, or a negative code with what is wrong in err. */
int runs_check_limits(struct baro_error *err);

#endif
