/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of kept runs: ${BARO_DIR:-${XDG_STATE_HOME:-~/.local/state}/barograph}, mode 0700. A tape's name begins
 * with its UTC start time to the microsecond, so that names sort by age and parallel runs never race for @last.
 */
#ifndef LIBBARO_TAPE_RUNS_H
#define LIBBARO_TAPE_RUNS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

/* Finds or makes the folder. If that fails, falls back to a folder of this user (mode 0700, owner checked) in
 * ${TMPDIR:-/tmp}, and *ret_note says why in one line; otherwise *ret_note is empty. path is NUL-terminated. */
int runs_dir(struct buf *ret_path, struct baro_error *ret_note, struct baro_error *err);
/* The same, held open (O_PATH): what is made in it and removed from it goes through the descriptor, which is returned.
 * As root, a folder of another user, or one from which everybody may remove files (mode o+w without the sticky bit), is
 * not used. */
int runs_open(struct buf *ret_path, struct baro_error *ret_note, struct baro_error *err);

/* A path for a new run in dir: "<dir>/20261121T043450.123456Z-<command>-<pid>.baro"; command is cut to harmless bytes.
 */
int runs_new_path(const char *dir, const char *command, struct buf *ret_path, struct baro_error *err);

/* Does a name begin as that of a run and end with ".baro"? */
bool runs_is_name(const char *name);

struct runs_entry {
    char *name; /* within the folder */
    uint64_t bytes;
    bool untimely; /* the time in its name is not the time when it was made */
};
struct runs_list {
    struct runs_entry *at; /* newest first, untimely ones last */
    size_t n;
};
/* Without flags the runs that have numbers: @1, @2 ... */
enum runs_flags {
    RUNS_EMPTY = 1,   /* also empty files, in which nothing was recorded (yet) */
    RUNS_ANY_NAME = 2 /* all that end with ".baro" */
};
int runs_list(const char *dir, unsigned flags, struct runs_list *ret, struct baro_error *err);
void runs_list_done(struct runs_list *l);

/* A tape named by the user: a path, or @last, @1 (the same), @2 ... of the kept runs, or NULL for @last. */
int runs_resolve(const char *name, struct buf *ret_path, struct baro_error *err);

/* Unlinks the oldest finished runs until at most so many remain (a sixteenth less, once they are too many) and they
 * take at most so many bytes; the newest and those still being written stay. Sizes are checked after each 16th run
 * and after large ones. Limits come from BARO_KEEP ("200 runs,1GB" style: "N", "SIZE" or both separated by a comma),
 * default 500 and 2 GB. Returns how many were removed. */
int runs_prune(const char *dir, struct baro_error *err);
int runs_prune_at(int dir_fd, struct baro_error *err);

/* Checks BARO_KEEP. Returns 0, or a negative code with what is wrong in err. */
int runs_check_limits(struct baro_error *err);

#endif
