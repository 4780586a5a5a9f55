/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options that commands that record share; for OPT_PARSED. programs/common/options.h has others. */
#ifndef PROGRAMS_BARO_OPTIONS_VALUES_H
#define PROGRAMS_BARO_OPTIONS_VALUES_H

#include "base/error.h"

int take_gpu(void *at, const char *text, struct baro_error *err);      /* at: const char * */
int take_overhead(void *at, const char *text, struct baro_error *err); /* at: ppm; 0: no limit */
int take_limit(void *at, const char *text, struct baro_error *err);    /* at: struct record_settings */
int take_on_limit(void *at, const char *text, struct baro_error *err); /* the same */
int take_metrics(void *at, const char *text, struct baro_error *err);  /* at: a mask */

#endif
