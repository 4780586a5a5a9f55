/* SPDX-License-Identifier: Apache-2.0 */
/* Families of metrics, as OpenMetrics and Prometheus call them: kind, stem and base unit make the name. All that speaks
 * to Prometheus has its names from here. */
#ifndef OUTPUT_ROWS_FAMILY_H
#define OUTPUT_ROWS_FAMILY_H

#include <stdbool.h>

#include "baro/baro.h"

/* The label of a job: Prometheus gives each series a `job` of its own. */
#define FAMILY_JOB "baro_job"

struct family {
    char name[160];   /* without _total */
    const char *unit; /* base unit; "": none */
    const char *help;
    bool is_counter;
    double divisor; /* makes a value of baro_metric_real() one in the base unit */
};

/* The family of a metric of a kind that is called `kind_name`. Returns false if its values are no numbers. */
bool family_of_metric(struct family *ret, const char *kind_name, int kind, int id);
/* The same for a number that is a fact, such as one of a phase. */
bool family_of_fact(struct family *ret, const char *kind_name, const struct baro_fact *fact);

/* Is the first control group of a tape the job itself? */
bool family_group_is_job(const struct baro_header *h);

#endif
