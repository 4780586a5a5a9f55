/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Announced runs: a symbolic link to the tape of each run of this user on this machine, wherever the tape is, so that
 * `baro serve` finds it. The folder is $BARO_ANNOUNCED, else $XDG_RUNTIME_DIR/barograph/runs, else
 * /run/user/UID/barograph/runs; for root /run/barograph/runs. It is in memory (tmpfs), so links disappear when the
 * machine is rebooted or the user logs out. Links of recorders that are alive, and the newest 512, are kept.
 */
#ifndef LIBBARO_TAPE_ANNOUNCE_H
#define LIBBARO_TAPE_ANNOUNCE_H

#include "libbaro/tape/runs.h"

/* Announces the tape at an absolute path. name: in the form of a kept run (runs_new_path()). Failure is ignored. */
void announce(const char *name, const char *path);

struct announced {
    struct runs_list list; /* by name */
    char **paths;          /* the path of the tape for each of the list; NULL: none */
};
/* Lists the announced runs of this user; for root, of all users. Returns 0 or -ENOMEM. */
int announced_list(struct announced *ret);
/* Gets the folder of this user. Returns false if there is none. */
bool announced_folder(struct buf *ret);

#endif
