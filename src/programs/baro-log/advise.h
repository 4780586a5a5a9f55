/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRAMS_BARO_LOG_ADVISE_H
#define PROGRAMS_BARO_LOG_ADVISE_H

#include "baro/advice.h"
#include "base/buf.h"

/* Lines to paste into what starts jobs. system: one of them; NULL: all, each after its name. A number that is not known
 * is left out. */
void advise_lines(const struct baro_advice *a, const char *system, struct buf *ret);

#endif
