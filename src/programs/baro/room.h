/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the number of processes that the job's control group allows (pids.max). If it is low, a recorder and its
 * helpers must not take the places that the command needs. A recording needs three besides this process: the recorder,
 * the command, and a child of the command. Two helpers make five. --gpu starts one more, which is ignored here.
 */
#ifndef PROGRAMS_BARO_ROOM_H
#define PROGRAMS_BARO_ROOM_H

#include "base/error.h"

enum room { ROOM_ENOUGH, ROOM_NO_HELPERS, ROOM_NONE };

/* What there is room for; ret_why: why not for all. */
enum room room_check(struct baro_error *ret_why);

#endif
