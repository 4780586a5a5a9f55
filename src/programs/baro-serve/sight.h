/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client may see of a recording that has the processes of all users of a machine. Root, the user of the server,
 * members of the group baro, and clients of other machines, which need the token, see all of it. Another user of this
 * machine sees its totals and the processes of that user. In doubt a client sees nothing.
 */
#ifndef PROGRAMS_BARO_SERVE_SIGHT_H
#define PROGRAMS_BARO_SERVE_SIGHT_H

#include "programs/baro-serve/request.h"

/* May the client see all recordings? */
bool sight_all(const struct request *q);
/* May the request be answered? If not, it has failed. */
bool sight_allows(struct request *q);
/* May the client see rows of this kind of q->job? */
bool sight_kind(const struct request *q, int kind);
/* May the client see this process, or the exit of one? row NULL: it is none. */
bool sight_process(const struct request *q, const struct baro_row *row);

#endif
