/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of the job's control groups. */
#ifndef RECORDER_LOOP_FIND_LIMITS_H
#define RECORDER_LOOP_FIND_LIMITS_H

#include <stdbool.h>

#include "base/error.h"

struct recorder;

int limits_prepare(struct recorder *r, struct baro_error *err);
void limits_without_groups(struct recorder *r); /* reads only the limits of the groups, not their values */
bool limits_placed(const struct recorder *r);   /* are the job's groups known already? */
void limits_settle(struct recorder *r);
bool limits_wanted(const struct recorder *r); /* the limits were not read yet, and could be now */
void limits_find(struct recorder *r);         /* reads them for the first time, unless that was done */
void limits_turn(struct recorder *r);         /* after a tick: reads them again if it is time */
void limits_close(struct recorder *r);

#endif
