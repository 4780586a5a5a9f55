/* SPDX-License-Identifier: Apache-2.0 */
/* Reading how a recording ended, from the header and the last blocks of its tape only: for lists of many tapes, some of
 * which may be large, damaged or malicious. */
#ifndef LIBBARO_TAPE_TAIL_H
#define LIBBARO_TAPE_TAIL_H

#include "baro/tape.h"

/* Opens a tape by a descriptor, which it takes, as baro_tape_open() does. path is for messages. cpu_ns: as for
 * baro_tape_limit_cpu(). */
int tape_open_fd(struct baro_tape **ret, int fd, const char *path, uint64_t cpu_ns, struct baro_error *err);

/* Moves to the n-th block from the end (0: the last one), by the index or by searching backwards; baro_tape_next()
 * continues from there. Returns 1; 0 if there are fewer blocks (the cursor is before the first record then); or a
 * negative code. */
int tape_seek_tail(struct baro_tape *tape, unsigned n, struct baro_error *err);

/* Was the recorder stopped while the job was alive, so that another recorder may continue the tape? Such a tape has
 * a footer and no event `end`. Call it when all of the tape was read. ended: the tape has that event. */
bool tape_is_stopped(const struct baro_tape *tape, bool ended);

#endif
