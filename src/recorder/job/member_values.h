/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a member's row. A metric that was not asked for is left alone. */
#ifndef RECORDER_JOB_MEMBER_VALUES_H
#define RECORDER_JOB_MEMBER_VALUES_H

#include "recorder/job/tree.h"

static inline void member_set_value(struct member *m, enum process_metric id, uint64_t v)
{
    if (m->row.absent[id] == BARO_ABSENT_NOT_ASKED)
        return;
    m->row.value[id] = v;
    m->row.absent[id] = BARO_PRESENT;
}

static inline void member_set_absent(struct member *m, enum process_metric id, int reason)
{
    if (m->row.absent[id] == BARO_ABSENT_NOT_ASKED)
        return;
    m->row.value[id] = 0;
    m->row.absent[id] = (uint8_t)reason;
}

/* Sets a counter, which never falls: a smaller value, due to a race, to scaling or to a helper that began from 0, is
 * ignored. */
static inline void member_raise_counter(struct member *m, enum process_metric id, uint64_t v)
{
    if (m->row.absent[id] == BARO_PRESENT && v < m->row.value[id])
        return;
    member_set_value(m, id, v);
}

#endif
