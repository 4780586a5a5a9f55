/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRAMS_BARO_READ_SUMMARY_STEPS_H
#define PROGRAMS_BARO_READ_SUMMARY_STEPS_H

#include "programs/common/tape_args.h"

/* baro summary --by step: prints steps and the chain, as tables or JSON. Returns the exit status. */
int summary_steps(struct cli *cli, const struct settings *s, struct baro_tape *tape, const char *path);

#endif
