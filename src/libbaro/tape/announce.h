/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Announced runs: a symbolic link to the tape of each run of this user on this machine, wherever the tape is, so that
 * `baro serve` finds it. The folder is $BARO_ANNOUNCED, else $XDG_RUNTIME_DIR/barograph/runs, else that below
 * /run/user/UID, for root /run/barograph/runs. It is in memory and ends with the machine or the session. The newest 512
 * links stay, and those whose process lives.
 */
#ifndef LIBBARO_TAPE_ANNOUNCE_H
#define LIBBARO_TAPE_ANNOUNCE_H

#include "libbaro/tape/runs.h"

/* Announces the tape at an absolute path. name: as of a kept run (runs_new_path()). Where that is not possible nothing
 * happens. */
void announce(const char *name, const char *path);

struct announced {
    struct runs_list list; /* by name */
    char **paths;          /* of the tapes, one for each of the list; NULL: none */
};
/* Those of this user; of root, those of all users. Returns 0 or -ENOMEM. */
int announced_list(struct announced *ret);
void announced_done(struct announced *a);
/* The folder of this user; false: there is none. */
bool announced_folder(struct buf *ret);

#endif
