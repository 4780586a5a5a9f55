/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRAMS_BARO_SERVE_THERMOS_USED_H
#define PROGRAMS_BARO_SERVE_THERMOS_USED_H

#include "base/json.h"
#include "programs/baro-serve/thermos_view.h"

/* Writes the object `resource_consumption` of a task; NULL: of the whole job. */
void observer_write_used(struct json *j, const struct view *v, const struct baro_row *task);
/* Writes the same values as members of the current object. */
void observer_put_used(struct json *j, const struct view *v, const struct baro_row *task);

#endif
