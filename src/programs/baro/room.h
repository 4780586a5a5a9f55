/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job whose control group allows few processes (pids.max): a recorder and its helpers must not take the room that the
 * command needs. A recording needs three beside this process: the recorder, the command, and a child of the command.
 * Two helpers make five. --gpu and each --collect start one more, which these limits ignore.
 */
#ifndef PROGRAMS_BARO_ROOM_H
#define PROGRAMS_BARO_ROOM_H

#include "base/error.h"

enum room { ROOM_ENOUGH, ROOM_NO_HELPERS, ROOM_NONE };

/* What there is room for; ret_why: why not for all. */
enum room room_check(struct baro_error *ret_why);

#endif
