/* SPDX-License-Identifier: Apache-2.0 */
/* What nvidia-smi prints with --format=csv. Pure. */
#ifndef PROGRAMS_BARO_GPU_SMI_TEXT_H
#define PROGRAMS_BARO_GPU_SMI_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

#define SMI_COLUMNS_MOST 40u

struct smi_line {
    unsigned n;
    struct span cell[SMI_COLUMNS_MOST];
};

/* Cells between commas, without the blanks around them. Returns false of an empty line, and one with too many. */
bool smi_line(struct span line, struct smi_line *ret);
/* The column of this name, "power.draw" of "power.draw [W]"; -1: it is not there. */
int smi_column(const struct smi_line *header, const char *name);
/* Parses a number in millionths of its unit: "34.39 W" is 34390000, "P8" 8000000. Returns enum baro_absent: if there
 * is a text instead of a number, the reason that follows from it. */
int smi_number(struct span cell, uint64_t *ret);
/* Finds x in 'Field "x" is not a valid field to query.'. */
bool smi_bad_field(struct span text, struct span *ret);

#endif
