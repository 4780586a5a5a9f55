/* SPDX-License-Identifier: Apache-2.0 */
/* How a tape ended, from its head and its last blocks alone: for lists of many tapes, some of which may be large,
 * damaged or made to be slow. */
#ifndef TAPE_TAIL_H
#define TAPE_TAIL_H

#include "baro/tape.h"

/* As baro_tape_open(), of a descriptor, which is taken over. path is for messages. After cpu_ns of CPU time (0: no
 * limit) every call that reads fails with -ETIME. */
int tape_open_fd(struct baro_tape **ret, int fd, const char *path, uint64_t cpu_ns, struct baro_error *err);

/* Moves to the last block but n (0: the last) by the index or by searching backwards from the end; baro_tape_next()
 * goes on from there. Returns 1, 0 where there are not so many (then it stands before the first record), or a negative
 * code. */
int tape_seek_tail(struct baro_tape *tape, unsigned n, struct baro_error *err);

#endif
