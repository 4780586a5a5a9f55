/* SPDX-License-Identifier: Apache-2.0 */
/* The collector "host": the machine around the job. */
#ifndef RECORDER_COLLECTORS_HOST_HOST_ROW_H
#define RECORDER_COLLECTORS_HOST_HOST_ROW_H

#include "recorder/collectors/host/host.h"
#include "recorder/sampling/sampling.h"

struct host_row {
    struct sampling *sampling;
    struct host *host; /* NULL: none yet */
    bool failed;       /* out of memory */
};

extern const struct collector host_collector;
void host_row_init(struct host_row *r, struct sampling *sampling);

/* Is the machine sampled, now or once the job has run long enough? */
bool host_row_is_wanted(const struct host_row *r);

#endif
