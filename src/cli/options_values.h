/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options that commands that record share; for OPT_PARSED. command/options.h has others. */
#ifndef CLI_OPTIONS_VALUES_H
#define CLI_OPTIONS_VALUES_H

#include "base/error.h"

int take_overhead(void *at, const char *text, struct baro_error *err); /* at: ppm; 0: no limit */
int take_metrics(void *at, const char *text, struct baro_error *err);  /* at: a mask */

#endif
