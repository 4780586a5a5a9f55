/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options that commands that record share; for OPT_PARSED. */
#ifndef CLI_OPTIONS_VALUES_H
#define CLI_OPTIONS_VALUES_H

#include "base/error.h"

int take_interval(void *at, const char *text, struct baro_error *err); /* at: nanoseconds; 0: auto */
int take_keep(void *at, const char *text, struct baro_error *err);     /* at: struct record_settings */
int take_overhead(void *at, const char *text, struct baro_error *err); /* at: ppm; 0: no limit */
int take_metrics(void *at, const char *text, struct baro_error *err);  /* at: a mask */

#endif
