/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTPUT_ROWS_STEP_JSON_H
#define OUTPUT_ROWS_STEP_JSON_H

#include "baro/steps.h"
#include "base/json.h"

/* Adds window, steps and chain as members to an open object. "driver" and the "step" of a link are positions in the
 * array "steps". */
void json_steps(const struct baro_steps *steps, struct json *json);

#endif
