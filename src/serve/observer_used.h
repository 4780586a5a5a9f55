/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_OBSERVER_USED_H
#define SERVE_OBSERVER_USED_H

#include "base/json.h"
#include "serve/catalogue.h"

/* Writes `resource_consumption`. task NULL: of the whole job. Called with the lock of the job; a job that is not
 * followed has no sample, and all is null. */
void observer_write_used(struct json *j, const struct job *job, const struct baro_entity *task);

#endif
