/* SPDX-License-Identifier: Apache-2.0 */
/* What a job is called, as attributes of a resource (OpenTelemetry) and labels (Prometheus). */
#ifndef PROGRAMS_BARO_PUSH_IDENTITY_H
#define PROGRAMS_BARO_PUSH_IDENTITY_H

#include "baro/baro.h"

#define IDENTITY_MOST 96

struct identity {
    struct called {
        char *label;     /* of Prometheus */
        char *attribute; /* of OpenTelemetry */
        char *value;     /* escaped */
        bool is_key; /* a label of all series: it tells them from those of other jobs. The others are of baro_job_info
                      */
    } at[IDENTITY_MOST];
    size_t n;
    bool failed; /* out of memory */
};

void identity_init(struct identity *ret, struct baro_tape *tape);
void identity_done(struct identity *id);

#endif
