/* SPDX-License-Identifier: Apache-2.0 */
/* The collector of a program that the user named (--collect NAME=COMMAND): its readings become the kind NAME. */
#ifndef RECORDER_COLLECTORS_PROGRAMS_PROGRAM_ROW_H
#define RECORDER_COLLECTORS_PROGRAMS_PROGRAM_ROW_H

#include "recorder/collectors/programs/program.h"
#include "recorder/sampling/sampling.h"

/* One program: its declared kind, and the rows of it. */
struct program_row;

extern const struct collector program_collector;

/* name and command are borrowed. Adds the kind to the sampling. Returns 0 or a negative code. */
int program_row_new(struct program_row **ret, struct sampling *sampling, const struct program_request *request,
                    struct baro_error *err);

#endif
