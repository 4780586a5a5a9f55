/* SPDX-License-Identifier: Apache-2.0 */
/* Reads how a recording ended from the front and the last blocks of its tape only: for lists of many tapes, of which
 * some may be large, damaged, or made to be slow to read. */
#ifndef LIBBARO_TAPE_TAIL_H
#define LIBBARO_TAPE_TAIL_H

#include "baro/tape.h"

/* As baro_tape_open(), of a descriptor, which is taken over. path is for messages. After cpu_ns of CPU time (0: no
 * limit) every call that reads fails with -ETIME. */
int tape_open_fd(struct baro_tape **ret, int fd, const char *path, uint64_t cpu_ns, struct baro_error *err);

/* Moves to the n-th block from the end (0: the last one), by the index or by searching backwards; baro_tape_next() goes
 * on from there. Returns 1; 0 if there are not so many blocks (the cursor is before the first record then); or a
 * negative code. */
int tape_seek_tail(struct baro_tape *tape, unsigned n, struct baro_error *err);

/* Was its recorder told to stop while the job lived, so that another one may go on with it? Such a tape has a footer
 * and no end. To be called when all of it was read. ended: it has an end. */
bool tape_is_stopped(const struct baro_tape *tape, bool ended);

#endif
