/* SPDX-License-Identifier: Apache-2.0 */
/* baro summary --by phase: what the job used in each of its phases. */
#ifndef READER_SUMMARY_PHASES_H
#define READER_SUMMARY_PHASES_H

#include "reader/reader.h"

/* Returns the exit status. */
int summary_phases(struct cli *cli, const struct settings *s, struct baro_tape *tape, const char *path);

#endif
