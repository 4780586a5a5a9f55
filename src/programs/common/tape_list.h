/* SPDX-License-Identifier: Apache-2.0 */
/* The tapes of a list or a report, as the user named them. None of them is open. */
#ifndef PROGRAMS_COMMON_TAPE_LIST_H
#define PROGRAMS_COMMON_TAPE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "baro/error.h"
#include "base/buf.h"
#include "base/map.h"

struct listed_tape {
    char *path;
    const char *name; /* the end of the path: without the folder that all tapes share */
    bool is_there;    /* then the next two are known */
    dev_t device;
    ino_t inode;
    struct buf section, row; /* what the report has of it (several.h) */
    struct buf title;        /* what was recorded */
    uint64_t rules;          /* those of its problems and advice: a bit for the number of each */
    int end_rule;            /* the one that says how it failed; -1: none */
    bool has_failed;
    int64_t changed_ns;       /* when it changed last; 0: not known */
    uint64_t bytes;           /* its size, if it is there; of a folder what its files have */
    bool is_unread;           /* it could not be read */
    bool is_empty_folder;     /* that is because it is a folder without tapes */
    struct baro_error reason; /* why not */
};

struct tape_list {
    struct listed_tape *at;
    size_t n, cap;
    struct map seen; /* hashes of device and inode, to positions */
    bool is_several; /* the user asked for a report of several tapes, even if there is only one */
};

/* Operands are tapes, folders of tapes and, where no file has that name, patterns as of glob(7); NULL-terminated.
 * Without operands, it is the newest kept run. The tapes of a folder come in the natural order of their names (task-2
 * before task-10), which for kept runs is that of time. A tape that is named twice counts once. Returns 0, or a
 * negative code with its text in err; to be freed in both cases. */
int tape_list_read(struct tape_list *ret, char **operands, struct baro_error *err);
/* Are there tapes in the folders of this folder, as of run/%j/%r.baro? */
bool tape_list_is_below(const char *folder);
/* Is it the name of a segment of a tape: 000001.baro, ...? */
bool tape_list_is_segment(const char *name);
void tape_list_done(struct tape_list *l);
void tape_list_drop(struct listed_tape *t); /* frees one */

#endif
