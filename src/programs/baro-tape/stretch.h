/* SPDX-License-Identifier: Apache-2.0 */
/* The stretch of a tape that baro trim copies. */
#ifndef PROGRAMS_BARO_TAPE_STRETCH_H
#define PROGRAMS_BARO_TAPE_STRETCH_H

#include "baro/baro.h"
#include "programs/common/settings.h"

struct stretch {
    uint64_t from_ns, to_ns; /* both included */
    bool begins_later;       /* samples before the stretch are left out */
    size_t phases;           /* if the stretch is a phase: how many phases have that name */
};

/* Reads the options. timeline: of the tape. Returns 0 or a negative code. The cursor is moved. */
int stretch_find(struct stretch *ret, struct baro_tape *tape, const struct baro_timeline *timeline,
                 const struct settings *s, struct baro_error *err);

#endif
